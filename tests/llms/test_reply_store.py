"""The reply store: nothing answered is lost, no state of the file refuses a run, and nothing in it is believed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from r_eval.llms.base import LLM, Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.replay import EpisodeReplies, Kept, ReplyStores
from r_eval.llms.reply_key import ReplyKey
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import Tokens
from r_eval.text import clean

T = TypeVar("T")
KEY = ReplyKey(b"key")
GOOD = Kept(Reply("好"), 1.0, b"owner")


class Counting(LLM):
    """Answers with a number that goes up, or with what it is told, and learns something of its server then."""

    def __init__(self, temperature: float = 0.0, name: str = "openai/a", reply: Reply | None = None) -> None:
        super().__init__(name, name, {"temperature": temperature})
        self.made, self.reply, self.lesson = 0, reply, dict[str, str]()

    async def generate(self, request: Request) -> Reply:
        self.made += 1
        self.adaptations |= self.lesson
        return self.reply or Reply(f"reply {self.made}", tokens=Tokens(prompt=3, completion=2))


def request(*texts: str, **more: object) -> Request:
    return Request(tuple(Message("user", text) for text in texts or ("hi",)), **more)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reply_store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[ReplyStore]:
    with contextlib.closing(ReplyStore(path)) as opened:
        yield opened


def run(work: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await asyncio.wait_for(work(), 30)

    return asyncio.run(main())


def find(store: ReplyStore, key: ReplyKey = KEY) -> Kept | None:
    return run(lambda: store.find(key))


def sql(path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def keep(store: ReplyStore, key: ReplyKey, kept: Kept) -> Kept | None:
    async def work() -> Kept | None:
        await store.put(key, kept)
        return await store.find(key)

    return run(work)


def ask(episode: EpisodeReplies, *requests: Request) -> list[tuple[str, bool]]:
    async def work() -> list[tuple[str, bool]]:
        return [(reply.text, replayed) for reply, _, replayed in [await episode.answer(one) for one in requests]]

    return run(work)


TEXTS = ["", "北京 👩‍👩‍👧‍👦 🇨🇭", "a\u2028b\u2029c\x85d\r\n\te", "שלום مرحبا \u202e", "a\0b\x01\x7f\x1b[0m"]
LARGE = ["北京👍\u2028 plain " * 290_000, "x" * 5_000_000 + "\udc00"]
"""Of 5 MB; one with half a surrogate pair."""


@pytest.mark.parametrize("text", [*TEXTS, "half \ud83d of a pair", *LARGE], ids=range(8))
def test_a_reply_of_any_text_survives(path: Path, text: str) -> None:
    numbers = [1.5, 10**30, 1e-300, float("inf"), -float("inf")]
    call = ToolCall("1", "find", {"名": text[:50], "x": [numbers, None, True, {"y": {}}]}, None, {"signature": "é"})
    reply = Reply(text, (call,), "tool_calls", Tokens(prompt=1), True, text[:9], {"items": [{"a": 1}]}, 2, 0.5, 0.25)
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, KEY, Kept(reply, 1.5, b"o")) == Kept(reply, 1.5, b"o")
    with contextlib.closing(ReplyStore(path)) as store:
        found = find(store)
    assert found == Kept(reply, 1.5, b"o")
    assert (found.reply.queue, found.reply.retry) == (0.5, 0.25)


def test_a_reply_that_cannot_be_written_is_not_kept(store: ReplyStore) -> None:
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert keep(store, KEY, Kept(Reply("x", (ToolCall("1", "find", deep),)), 1.0)) is None
    assert keep(store, KEY, GOOD) == GOOD


CHILD = "import sys; from tests.llms.test_reply_store import Logging; Logging.work(*sys.argv[1:])"


class Logging(Counting):
    """The LLM of the process that is killed; notes what it is asked for, and its user what is kept."""

    log: int

    async def generate(self, request: Request) -> Reply:
        os.write(self.log, f"called {request.messages[0].content}\n".encode())
        return Reply(text_of(int(request.messages[0].content)))

    @classmethod
    def work(cls, path: str, log: str) -> None:
        cls.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        llms, stores, numbers = [cls(0.0), cls(0.7)], ReplyStores(ReplyStore(Path(path)), "run"), iter(range(100_000))

        async def work() -> None:
            for n in numbers:
                await stores.of_episode(llms[n % 2], str(n), "", 0).answer(request(str(n)))
                os.write(cls.log, f"kept {n}\n".encode())

        async def all_at_once() -> None:
            await asyncio.gather(*(work() for _ in range(20)))

        asyncio.run(all_at_once())


def text_of(number: int) -> str:
    """The reply to a request of the process that is killed."""
    if number % 100 == 50:
        return f"{number} 北京👍\u2028 plain " * 240_000
    texts = ("北京是首都。", "👩‍👩‍👧‍👦 🇨🇭", "a\u2028b\u2029c\x85d", clean("half \ud83d of a pair"), "שלום")
    return f"{number} {texts[number % 5]}"


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_of_a_process_that_is_killed_no_reply_is_lost_or_asked_for_twice(path: Path, kills: int) -> None:
    log, chance, ended = path.with_name("log"), random.Random(7), 0
    for _ in range(kills):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(log)], cwd=Path.cwd())
        calls = chance.randint(20, 80)
        while not log.exists() or log.read_bytes()[ended:].count(b"called") < calls:
            assert child.poll() is None
            time.sleep(chance.uniform(0, 0.02))
        child.send_signal(signal.SIGKILL)
        child.wait()
        ended = log.stat().st_size
    events = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    kept: set[str] = set()
    for event, number in events:
        assert event == "kept" or number not in kept, "an answered call was made again"
        kept |= {number} if event == "kept" else set()
    assert len(kept) > 10 * kills
    assert "50" in kept
    with contextlib.closing(ReplyStore(path)) as store:
        llms, stores = [Counting(0.0), Counting(0.7)], ReplyStores(store, "run")
        for number in map(int, kept):
            episode = stores.of_episode(llms[number % 2], str(number), "", 0)
            assert ask(episode, request(str(number))) == [(text_of(number), True)]
    assert len(sql(path, "SELECT key FROM replies")) <= len({number for _, number in events})


LOCKER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(2)
connection.execute("COMMIT")
"""


async def longest_pause(work: Awaitable[object], clock: Callable[[], float] = time.perf_counter) -> float:
    """For how many seconds the event loop came to nothing else while something was awaited."""
    task, longest = asyncio.ensure_future(work), 0.0
    while not task.done():
        before = clock()
        await asyncio.sleep(0.001)
        longest = max(longest, clock() - before)
    return longest


@pytest.mark.parametrize("is_open", [True, False])
def test_a_lock_of_another_process_stalls_no_loop(path: Path, is_open: bool) -> None:
    fill(path, 1)
    store = ReplyStore(path) if is_open else None
    if store is not None:
        find(store)
    other = subprocess.Popen([sys.executable, "-c", LOCKER, str(path)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()

    async def work(store: ReplyStore) -> None:
        started = time.perf_counter()
        put = asyncio.create_task(store.put(KEY, GOOD))
        assert await longest_pause(store.find(ReplyKey(b"0"))) < 1
        assert time.perf_counter() - started < 1 or not is_open
        assert await longest_pause(put) < 1 < time.perf_counter() - started  # of two seconds

    with contextlib.closing(store or ReplyStore(path)) as opened:
        run(partial(work, opened))
        assert find(opened) == GOOD
    other.wait()


@pytest.mark.parametrize("text", LARGE, ids=["characters", "half a pair"])
def test_a_large_reply_holds_no_loop(store: ReplyStore, text: str) -> None:
    kept = Kept(Reply(text), 1.0)

    async def work() -> list[float]:
        await store.find(KEY)
        longest: list[float] = []
        for key in [ReplyKey(b"%d" % number) for number in range(5)]:
            longest.append(await longest_pause(store.put(key, kept), time.process_time))  # the machine may be busy
            longest[-1] = max(longest[-1], await longest_pause(store.find(key), time.process_time))
            assert await store.find(key) == kept
        return longest

    assert min(run(work)) < 0.05


def fill(path: Path, count: int = 300) -> None:
    with contextlib.closing(ReplyStore(path)) as store:

        async def work() -> None:
            for i in range(count):
                await store.put(ReplyKey(b"%d" % i), Kept(Reply(os.urandom(400).hex()), 1.0))

        run(work)


def overwritten(start: int, end: int, random: bool = True) -> Callable[[Path], None]:
    """A damage: bytes of a store are others, or zeros; an end below 0 counts from the end of the file."""

    def damage(path: Path) -> None:
        fill(path)
        data = bytearray(path.read_bytes())
        size = end - start if end > 0 else len(data) + end - start
        data[start : start + size] = os.urandom(size) if random else bytes(size)
        path.write_bytes(data)

    return damage


def truncated(path: Path) -> None:
    fill(path)
    os.truncate(path, path.stat().st_size // 2 + 100)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(os.urandom(20_000)),
    "text": lambda path: path.write_text("这不是数据库\n" * 500, encoding="utf-8"),
    "few bytes": lambda path: path.write_bytes(b"\0\xff"),
    "a trashed head": overwritten(100, 3000),
    "zeros": overwritten(4096, 150_000, random=False),
    "truncated": truncated,
    "another schema": lambda path: (fill(path, 1), sql(path, "ALTER TABLE replies DROP COLUMN crc")),
    "nothing": lambda path: path.touch(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_moved_aside(
    path: Path, damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    damage(path)
    before = path.read_bytes()
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, KEY, GOOD) == GOOD
        assert store.path == path
    moved = [file.read_bytes() for file in path.parent.glob("reply_store.sqlite.damaged-*Z")]
    assert moved == ([before] if before else [])
    assert len(caplog.records) == len(moved)


def test_flipped_pages_cost_replies_and_no_run(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    overwritten(8192, -4096)(path)
    with contextlib.closing(ReplyStore(path)) as store:

        async def work() -> None:
            for i in range(300):
                found = await store.find(ReplyKey(b"%d" % i))
                assert found is None or len(found.reply.text) == 800

        run(work)
        assert keep(store, KEY, GOOD) == GOOD
    assert len(caplog.records) == 1


NO_REPLIES: list[object] = [
    b"", b"{", b"[]", b"null", b"[1,2]", b'[{"text": 3}, 1]', b'[{"text": "\xff\xfe"}, 1]', 123, b"[" * 100_000,
    b'[{"text": "a", "tool_calls": "x"}, 1.0]', '[{"text": 5}, 1.0]', "字" * 100_000,
]  # fmt: skip
OTHERS = [(b"owner", 1), (b"p", zlib.crc32(b"owner" + GOOD.to_json())), (1, None), ("o", "x")]
ROWS = [(b"o", None, data) for data in NO_REPLIES] + [(*other, GOOD.to_json()) for other in OTHERS]
"""Owner, checksum (by default the right one) and reply of rows that hold no reply, or not the one that was kept."""


@pytest.mark.parametrize(("owner", "crc", "data"), ROWS, ids=range(len(ROWS)))
def test_a_row_that_is_no_reply_is_asked_for_anew(
    path: Path, owner: object, crc: object, data: object, caplog: pytest.LogCaptureFixture
) -> None:
    ReplyStore(path).close()
    if crc is None:
        crc = zlib.crc32(b"o" + data) if isinstance(data, bytes) else 0
    sql(path, "INSERT INTO replies VALUES (?, ?, 0, 4e9, ?, ?)", KEY.own, owner, crc, data)
    with contextlib.closing(ReplyStore(path)) as store:
        assert find(store) is None
        assert keep(store, KEY, GOOD) == GOOD
    assert not caplog.records


def another_program(path: Path) -> None:
    sql(path, "PRAGMA journal_mode = WAL")
    sql(path, "CREATE TABLE bookmarks AS SELECT 'https://例え.jp' AS url")


def another_programs_log(path: Path) -> None:
    """With what the other program has not yet written into its database itself."""
    live = path.with_name("live")
    with contextlib.closing(sqlite3.connect(live)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE bookmarks (url TEXT);")
        for part in ("", "-wal"):
            shutil.copy(f"{live}{part}", f"{path}{part}")


def later_version(path: Path) -> None:
    fill(path, 1)
    sql(path, "PRAGMA user_version = 99")


@pytest.mark.parametrize("make", [another_program, another_programs_log, later_version])
def test_a_sound_file_of_another_program_is_left_alone(
    path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    make(path)
    before = contents(path.parent)
    no_store_works(path, caplog)
    assert contents(path.parent) == before


def contents(folder: Path) -> dict[str, bytes]:
    """What the files in a folder hold, but for the one that is locked while a store is opened."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(".lock")}


def no_store_works(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, KEY, GOOD) is None
        store.forget(b"o")
        llm = Counting()
        assert ask(ReplyStores(store, "r").of_episode(llm, "e", "s", 0), request()) == [("reply 1", False)]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


PLACES = ["/proc/none/reply_store.sqlite", "/dev/null/reply_store.sqlite", "/dev/null", "a\0b", "x" * 300]


@pytest.mark.parametrize("place", [*PLACES, "folder", "pipe"])
def test_where_nothing_can_be_made_no_reply_is_kept(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    no_store_works(tmp_path / place, caplog)
    assert (tmp_path / "folder").is_dir()


@pytest.mark.parametrize("full", [False, True], ids=["empty", "with a store"])
def test_in_a_read_only_folder_no_reply_is_kept(full: bool, caplog: pytest.LogCaptureFixture) -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        if full:
            fill(Path(name, "reply_store.sqlite"), 1)
        before = contents(Path(name))
        Path(name).chmod(0o555)
        try:
            if user == 0:  # may write anywhere
                os.seteuid(65534)
            no_store_works(Path(name, "reply_store.sqlite"), caplog)
        finally:
            os.seteuid(user)
        assert contents(Path(name)) == before


def test_the_store_lies_beside_what_an_older_version_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "replies.sqlite").write_bytes(b"older")
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path))
    for chosen, place in [("", "reply_store.sqlite"), (str(tmp_path / "另一个" / "kept"), "另一个/kept")]:
        monkeypatch.setenv("R_EVAL_REPLIES", chosen)
        with contextlib.closing(ReplyStore()) as store:
            assert keep(store, KEY, GOOD) == GOOD
        assert (tmp_path / place).exists()
    assert (tmp_path / "replies.sqlite").read_bytes() == b"older"


def test_a_full_disk_ends_the_keeping_and_no_run(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with contextlib.closing(ReplyStore(path)) as store:
        keep(store, KEY, GOOD)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            for i in range(3):
                assert keep(store, ReplyKey(b"%d" % i), Kept(Reply(os.urandom(500_000).hex()), 1.0)) is None
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert not list(path.parent.glob("*damaged*"))
    with contextlib.closing(ReplyStore(path)) as store:
        assert find(store) == GOOD


def test_private_replies_of_long_ago_are_deleted_when_a_store_is_opened(path: Path) -> None:
    with contextlib.closing(ReplyStore(path)) as store:
        for key in (ReplyKey(b"old"), ReplyKey(b"new"), ReplyKey(b"x", b"shared")):
            keep(store, key, GOOD)
    sql(path, "UPDATE replies SET made = 1 WHERE key != ?", b"new")
    ReplyStore(path).close()
    assert set(sql(path, "SELECT key FROM replies")) == {(b"new",), (b"shared",)}


@pytest.mark.parametrize("change", ["deleted", "moved", "replaced"])
def test_a_file_that_goes_meanwhile_is_made_again(store: ReplyStore, path: Path, change: str) -> None:
    keep(store, KEY, GOOD)
    for part in list(path.parent.glob("reply_store.sqlite*")):
        part.unlink() if change == "deleted" else part.rename(part.with_name(f"moved-{part.name}"))
    if change == "replaced":
        fill(path, 1)
    assert keep(store, ReplyKey(b"b"), GOOD) == GOOD
    assert path.exists()
    assert (find(store, ReplyKey(b"0")) is not None) == (change == "replaced")


@pytest.mark.parametrize(
    ("temperature", "more", "use_cache", "cache_all", "shared"),
    [
        (0.0, {}, True, False, True),
        (0.0, {}, False, False, False),
        (0.7, {}, True, False, False),
        (0.7, {}, True, True, True),
        (0.0, {"cacheable": False}, True, False, False),
        (0.0, {"lesson": {"temperature": "only 1 is taken"}}, True, False, False),
    ],
)
def test_greedy_replies_are_shared_between_runs_and_others_are_private(
    store: ReplyStore, temperature: float, more: dict[str, object], use_cache: bool, cache_all: bool, shared: bool
) -> None:
    for name in ("first", "second"):
        llm, stores = Counting(temperature), ReplyStores(store, name, use_cache, cache_all)
        vars(llm).update(more)
        replayed = name == "second" and shared
        assert ask(stores.of_episode(llm, "e", "s", 0), request()) == [("reply 1", replayed)]
        assert (llm.made, stores.usage[llm.name].cached) == (not replayed, replayed)


@pytest.mark.parametrize("finish", ["length", "content_filter", "refusal", "stop"])
def test_a_flawed_reply_serves_its_own_episode_alone(store: ReplyStore, finish: str) -> None:
    llm = Counting(reply=Reply("" if finish == "stop" else "半", finish=finish))  # type: ignore[arg-type]
    stores = ReplyStores(store, "r")
    told = [ask(stores.of_episode(llm, episode, "s", 0), request())[0][1] for episode in ("a", "b", "a", "b", "c")]
    assert told == [False, False, True, True, False]


def said(role: str = "assistant", **more: object) -> Request:
    return Request((Message(role, "hi", **more),))  # type: ignore[arg-type]


TOOL = ToolSpec("find", "Find a dish.", {"type": "object", "properties": {"名": {"type": "string"}}})
TOOLS = [TOOL, dataclasses.replace(TOOL, description="!"), dataclasses.replace(TOOL, parameters={"type": "object"})]
CALL = ToolCall("1", "find", {"名": "pizza"})
ARGUMENTS = [{"名": "pizza"}, {"名": 1}, {"名": True}, {"名": 1.0}, {"名": "1"}, {}]
CALLS = [dataclasses.replace(CALL, arguments=arguments) for arguments in ARGUMENTS]
CALLS += [dataclasses.replace(CALL, id="2"), dataclasses.replace(CALL, arguments={}, error="unreadable")]
DIFFERENT = [
    *[request(text) for text in ("hi", "hithere", "\ud83d", "?")],
    *[request("hi", "there"), request(max_tokens=3), request(seed=3)],
    *[request(stop=stop) for stop in (("\n",), ("\n", "a"), ("\na",))],
    *[request(tools=(tool,)) for tool in TOOLS],
    request(tools=(TOOL,), tool_choice="required"),
    *[said(role) for role in ("system", "assistant")],
    *[said(tool_calls=(call,)) for call in (*CALLS, dataclasses.replace(CALL, extra={"signature": "a"}))],
    *[said(reasoning="hm"), said(extra={"items": [1]}), said(extra={"items": [2]})],
    *[said("tool", call_id="1"), said("tool", call_id="2"), said("tool", call_id="1", name="find")],
]


def test_all_that_decides_a_reply_is_in_its_key(store: ReplyStore) -> None:
    llm = Counting()
    told = ask(ReplyStores(store, "r").of_episode(llm, "e", "s", 0), *DIFFERENT)
    assert [replayed for _, replayed in told] == [False] * len(DIFFERENT)
    again = ask(ReplyStores(store, "other").of_episode(llm, "f", "t", 0), *reversed(DIFFERENT))
    assert again == [(text, True) for text, _ in reversed(told)]


@pytest.mark.parametrize(
    ("other", "greedy", "drawn"),
    [
        ({}, True, True),
        ({"run": "q"}, True, False),
        ({"episode": "f"}, True, False),
        ({"scope": "t"}, True, False),
        ({"epoch": 1}, False, False),
        ({"name": "openai/b"}, False, False),
    ],
)
def test_who_finds_a_reply_of_another(path: Path, other: dict[str, str | int], greedy: bool, drawn: bool) -> None:
    def told(
        temperature: float, run: str = "r", episode: str = "e", scope: str = "s", epoch: int = 0, **more: str
    ) -> bool:
        with contextlib.closing(ReplyStore(path)) as store:
            stores = ReplyStores(store, run)
            return ask(stores.of_episode(Counting(temperature, **more), episode, scope, epoch), request())[0][1]

    assert (told(0.0), told(0.7)) == (False, False)
    assert (told(0.0, **other), told(0.7, **other)) == (greedy, drawn)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_same_request_made_again_has_its_own_reply(store: ReplyStore, temperature: float) -> None:
    llm, stores = Counting(temperature), ReplyStores(store, "r")
    first = ask(stores.of_episode(llm, "e", "s", 0), request(), request("other"), request(), request())
    assert first == [(f"reply {n}", False) for n in (1, 2, 3, 4)]
    again = ask(stores.of_episode(llm, "e", "s", 0), request(), request("other"), request(), request(), request())
    assert again == [*((text, True) for text, _ in first), ("reply 5", False)]
    usage = stores.usage[llm.name]
    assert (usage.calls, usage.tokens) == (5, 25)  # what was really asked


def test_two_episodes_that_ask_alike_at_once_each_resume_with_their_own_reply(store: ReplyStore) -> None:
    llm, stores = Counting(), ReplyStores(store, "r")

    async def both() -> list[str]:
        episodes = [stores.of_episode(llm, name, "s", 0) for name in "ab"]
        return [reply.text for reply, _, _ in await asyncio.gather(*(one.answer(request()) for one in episodes))]

    first = run(both)
    assert sorted(first) == ["reply 1", "reply 2"]
    assert run(both) == first


def test_what_is_forgotten_is_the_episodes_private_replies(store: ReplyStore) -> None:
    drawn, greedy = Counting(0.7), Counting()

    def replayed(run_id: str, episode: str, llm: LLM) -> bool:
        return ask(ReplyStores(store, run_id).of_episode(llm, episode, "s", 0), request())[0][1]

    for run_id, episode, llm in [("r", "e", drawn), ("r", "f", drawn), ("q", "e", drawn), ("r", "e", greedy)]:
        assert not replayed(run_id, episode, llm)
    ReplyStores(store, "r").forget("e", "s")
    keep(store, KEY, GOOD)  # what is handed over later is committed no earlier
    assert [replayed("r", "f", drawn), replayed("q", "e", drawn), replayed("r", "e", greedy)] == [True] * 3
    assert not replayed("r", "e", drawn)
