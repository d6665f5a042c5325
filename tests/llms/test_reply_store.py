"""The reply store and what is found in it: nothing answered is lost, and no state of the file refuses a run."""

from __future__ import annotations

import asyncio
import contextlib
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
from collections.abc import Awaitable, Callable, Iterator
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


class Counting(LLM):
    """Answers with a number that goes up, or with what it is told."""

    def __init__(self, temperature: float = 0.0, name: str = "openai/a", reply: Reply | None = None) -> None:
        super().__init__(name, name, {"temperature": temperature})
        self.made, self.reply = 0, reply

    async def generate(self, request: Request) -> Reply:
        self.made += 1
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


def keep(store: ReplyStore, key: ReplyKey, kept: Kept) -> Kept | None:
    async def work() -> Kept | None:
        await store.put(key, kept)
        return await store.find(key)

    return run(work)


def ask(episode: EpisodeReplies, *requests: Request) -> list[tuple[str, bool]]:
    async def work() -> list[tuple[str, bool]]:
        answers = [await episode.answer(one) for one in requests]
        return [(reply.text, replayed) for reply, _, replayed in answers]

    return run(work)


TEXTS = {
    "chinese": "北京是中国的首都。",
    "emoji": "👩‍👩‍👧‍👦 🇨🇭",
    "line separators": "a\u2028b\u2029c\x85d\r\n\te",
    "nul": "a\0b\x01\x7f\x1b[0m",
    "surrogate": "half \ud83d of a pair",
    "5 MB": "北京👍\u2028 plain " * 290_000,
    "5 MB and a surrogate": "x" * 5_000_000 + "\udc00",
    "empty": "",
    "rtl": "שלום مرحبا \u202e",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_reply_of_any_text_survives(path: Path, text: str) -> None:
    call = ToolCall("1", "find", {"名": text[:50], "x": [1.5, None, True, {"y": {}}]}, None, {"signature": "é"})
    reply = Reply(text, (call,), "tool_calls", Tokens(prompt=1), True, text[:9], {"items": [{"a": 1}]}, 2, 0.5, 0.25)
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, ReplyKey(b"k"), Kept(reply, 1.5, b"o")) == Kept(reply, 1.5, b"o")
    with contextlib.closing(ReplyStore(path)) as store:
        found = run(lambda: store.find(ReplyKey(b"k")))
    assert found == Kept(reply, 1.5, b"o")
    assert (found.reply.queue, found.reply.retry) == (0.5, 0.25)


def test_numbers_that_json_lacks_survive(store: ReplyStore) -> None:
    call = ToolCall("1", "find", {"x": [float("inf"), -float("inf"), 10**30, 1e-300]}, None, {"y": float("inf")})
    kept = Kept(Reply("x", (call,), extra={"z": float("inf")}), 1.0)
    assert keep(store, ReplyKey(b"k"), kept) == kept


def test_a_reply_that_cannot_be_written_is_not_kept(store: ReplyStore) -> None:
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert keep(store, ReplyKey(b"k"), Kept(Reply("x", (ToolCall("1", "find", deep),)), 1.0)) is None
    assert keep(store, ReplyKey(b"l"), Kept(Reply("x"), 1.0)) is not None


CHILD = """
import asyncio, os, sys
from pathlib import Path
from r_eval.llms.base import LLM, Message, Reply, Request
from r_eval.llms.replay import ReplyStores
from r_eval.llms.reply_store import ReplyStore
from tests.llms.test_reply_store import text_of

log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

class Logging(LLM):
    async def generate(self, request):
        number = request.messages[0].content
        os.write(log, f"called {number}\\n".encode())
        return Reply(text_of(int(number)))

async def main():
    stores = ReplyStores(ReplyStore(Path(sys.argv[1])), "run")
    llms = [Logging("openai/a", "a", {"temperature": temperature}) for temperature in (0.0, 0.7)]
    numbers = iter(range(100_000))
    async def work():
        for n in numbers:
            episode = stores.of_episode(llms[n % 2], str(n), "", 0)
            await episode.answer(Request((Message("user", str(n)),)))
            os.write(log, f"kept {n}\\n".encode())
    await asyncio.gather(*(work() for _ in range(20)))
asyncio.run(main())
"""


def text_of(number: int) -> str:
    """The reply to a request of the process that is killed."""
    if number % 100 == 50:
        return f"{number} 北京👍\u2028 plain " * 240_000
    return (
        f"{number} "
        + ("北京是首都。", "👩‍👩‍👧‍👦 🇨🇭", "a\u2028b\u2029c\x85d", clean("half \ud83d of a pair"), "שלום")[number % 5]
    )


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
        llms = [Counting(temperature, "openai/a") for temperature in (0.0, 0.7)]
        stores = ReplyStores(store, "run")
        for number in map(int, kept):
            episode = stores.of_episode(llms[number % 2], str(number), "", 0)
            assert ask(episode, request(str(number))) == [(text_of(number), True)]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM replies").fetchone()
    assert rows <= len({number for _, number in events})


LOCKER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(2)
connection.execute("COMMIT")
"""


def test_a_lock_of_another_process_stalls_no_loop(store: ReplyStore, path: Path) -> None:
    keep(store, ReplyKey(b"before"), Kept(Reply("x"), 1.0))
    other = subprocess.Popen([sys.executable, "-c", LOCKER, str(path)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()

    async def work() -> tuple[float, float]:
        started = time.perf_counter()
        put = asyncio.create_task(store.put(ReplyKey(b"k"), Kept(Reply("y"), 1.0)))
        lag = 0.0
        while not put.done():
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            assert await store.find(ReplyKey(b"before")) is not None
            lag = max(lag, time.perf_counter() - before - 0.005)
        return lag, time.perf_counter() - started

    lag, waited = run(work)
    other.wait()
    assert lag < 1 < waited  # of two seconds
    assert run(lambda: store.find(ReplyKey(b"k"))) is not None


async def longest_pause(work: Awaitable[object], clock: Callable[[], float] = time.perf_counter) -> float:
    """For how many seconds the event loop came to nothing else while something was awaited."""
    task, longest = asyncio.ensure_future(work), 0.0
    while not task.done():
        before = clock()
        await asyncio.sleep(0.001)
        longest = max(longest, clock() - before)
    return longest


@pytest.mark.parametrize("name", ["5 MB", "5 MB and a surrogate"])
def test_a_large_reply_holds_no_loop(store: ReplyStore, name: str) -> None:
    kept = Kept(Reply(TEXTS[name]), 1.0)

    async def pauses(number: int) -> float:
        key = ReplyKey(b"%d" % number)
        work = (store.put(key, kept), store.find(key))
        longest = max([await longest_pause(one, time.process_time) for one in work])  # the machine may be busy
        assert await store.find(key) == kept
        return longest

    async def work() -> list[float]:
        await store.find(ReplyKey(b"none"))
        return [await pauses(number) for number in range(5)]

    assert min(run(work)) < 0.05


def test_a_store_that_another_process_holds_is_opened_without_stalling_the_loop(path: Path) -> None:
    fill(path, 1)
    other = subprocess.Popen([sys.executable, "-c", LOCKER, str(path)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    started = time.perf_counter()
    store = ReplyStore(path)
    assert time.perf_counter() - started < 1

    async def work() -> float:
        return await longest_pause(store.find(ReplyKey(b"0")))

    assert run(work) < 1
    other.wait()
    assert run(lambda: store.find(ReplyKey(b"0"))) is not None
    store.close()


def fill(path: Path, count: int = 300) -> None:
    with contextlib.closing(ReplyStore(path)) as store:

        async def work() -> None:
            for i in range(count):
                await store.put(ReplyKey(b"%d" % i), Kept(Reply(os.urandom(400).hex()), 1.0))

        run(work)


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def text(path: Path) -> None:
    path.write_text("这不是数据库\n" * 500, encoding="utf-8")


def truncated(path: Path) -> None:
    fill(path)
    os.truncate(path, path.stat().st_size // 2 + 100)


def head_flipped(path: Path) -> None:
    fill(path)
    data = bytearray(path.read_bytes())
    data[100:3000] = os.urandom(2900)
    path.write_bytes(data)


def zeros(path: Path) -> None:
    fill(path)
    data = bytearray(path.read_bytes())
    data[4096 : len(data) // 2] = bytes(len(data) // 2 - 4096)
    path.write_bytes(data)


def few_bytes(path: Path) -> None:
    path.write_bytes(b"\0\xff")


def wrong_schema(path: Path) -> None:
    fill(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE replies DROP COLUMN crc")


@pytest.mark.parametrize("damage", [garbage, text, truncated, zeros, head_flipped, few_bytes, wrong_schema])
def test_a_damaged_file_is_moved_aside(
    path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    damage(path)
    before = path.read_bytes()
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, ReplyKey(b"k"), Kept(Reply("好"), 1.0)) is not None
        assert store.path == path
    (aside,) = path.parent.glob("reply_store.sqlite.damaged-*Z")
    assert aside.read_bytes() == before
    assert len(caplog.records) == 1


def test_an_empty_file_becomes_a_store(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.touch()
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, ReplyKey(b"k"), Kept(Reply("好"), 1.0)) is not None
    assert not caplog.records


def test_flipped_pages_cost_replies_and_no_run(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(path)
    data = bytearray(path.read_bytes())
    for start in range(8192, len(data) - 4096, 4096):
        data[start : start + 4096] = os.urandom(4096)
    path.write_bytes(data)
    with contextlib.closing(ReplyStore(path)) as store:

        async def work() -> None:
            for i in range(300):
                found = await store.find(ReplyKey(b"%d" % i))
                assert found is None or len(found.reply.text) == 800
            await store.put(ReplyKey(b"new"), Kept(Reply("新"), 1.0))
            assert await store.find(ReplyKey(b"new")) is not None

        run(work)
    assert len(caplog.records) == 1


def another_program(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.execute("INSERT INTO bookmarks VALUES ('https://例え.jp')")


def another_programs_log(path: Path) -> None:
    """With what the other program has not yet written into its database itself."""
    connection = sqlite3.connect(path.with_name("live"))
    connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE bookmarks (url TEXT);")
    for part in ("", "-wal"):
        shutil.copy(f"{path.with_name('live')}{part}", f"{path}{part}")
    connection.close()


def later_version(path: Path) -> None:
    fill(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("make", [another_program, another_programs_log, later_version])
def test_a_sound_file_of_another_program_is_left_alone(
    path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    make(path)
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name)}
    no_store_works(path, caplog)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name)} == before


def no_store_works(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, ReplyKey(b"k"), Kept(Reply("x"), 1.0)) is None
        assert not store.usable
        store.forget(b"o")
        llm = Counting()
        assert ask(ReplyStores(store, "r").of_episode(llm, "e", "s", 0), request()) == [("reply 1", False)]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_folder_in_its_place_means_no_store(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.mkdir()
    no_store_works(path, caplog)
    assert path.is_dir()


def test_a_pipe_in_its_place_means_no_store(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.mkfifo(path)
    no_store_works(path, caplog)


@pytest.mark.parametrize(
    "place", ["/proc/none/reply_store.sqlite", "/dev/null/reply_store.sqlite", "/dev/null", "a\0b", "x" * 300]
)
def test_a_place_where_nothing_can_be_made_means_no_store(place: str, caplog: pytest.LogCaptureFixture) -> None:
    no_store_works(Path(place), caplog)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder can be read by anyone and written by nobody: the superuser becomes somebody else meanwhile."""
    user = os.geteuid()
    folder.chmod(0o555)
    try:
        if user == 0:
            os.seteuid(65534)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


@pytest.mark.parametrize("full", [False, True], ids=["empty", "with a store"])
def test_a_read_only_folder_means_no_store(full: bool, caplog: pytest.LogCaptureFixture) -> None:
    with tempfile.TemporaryDirectory() as name:
        if full:
            fill(Path(name, "reply_store.sqlite"), 1)
        before = {file.name: file.read_bytes() for file in Path(name).iterdir()}
        with read_only(Path(name)):
            no_store_works(Path(name, "reply_store.sqlite"), caplog)
        assert {file.name: file.read_bytes() for file in Path(name).iterdir()} == before


def test_the_store_lies_beside_what_an_older_version_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("R_EVAL_REPLIES")
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path))
    (tmp_path / "replies.sqlite").write_bytes(b"older")
    with contextlib.closing(ReplyStore()) as store:
        assert keep(store, ReplyKey(b"k"), Kept(Reply("好"), 1.0)) is not None
    assert (tmp_path / "reply_store.sqlite").exists()
    assert (tmp_path / "replies.sqlite").read_bytes() == b"older"
    monkeypatch.setenv("R_EVAL_REPLIES", str(tmp_path / "另一个" / "kept"))
    with contextlib.closing(ReplyStore()) as store:
        assert keep(store, ReplyKey(b"k"), Kept(Reply("好"), 1.0)) is not None
    assert (tmp_path / "另一个" / "kept").exists()


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """This process can write no longer files, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_ends_the_keeping_and_no_run(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = Kept(Reply("以前"), 1.0)
    with contextlib.closing(ReplyStore(path)) as store:
        keep(store, ReplyKey(b"k"), before)
        with files_of_at_most(200_000):
            for i in range(3):
                assert keep(store, ReplyKey(b"%d" % i), Kept(Reply(os.urandom(500_000).hex()), 1.0)) is None
        assert not store.usable
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert not list(path.parent.glob("*damaged*"))
    with contextlib.closing(ReplyStore(path)) as store:
        assert run(lambda: store.find(ReplyKey(b"k"))) == before


def test_private_replies_of_long_ago_are_deleted_when_a_store_is_opened(path: Path) -> None:
    with contextlib.closing(ReplyStore(path)) as store:
        for key in (ReplyKey(b"old"), ReplyKey(b"new"), ReplyKey(b"x", b"shared")):
            keep(store, key, Kept(Reply("x"), 1.0))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET made = 1 WHERE key != ?", (b"new",))
    ReplyStore(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert {key for (key,) in connection.execute("SELECT key FROM replies")} == {b"new", b"shared"}


def test_a_file_deleted_meanwhile_is_made_again(store: ReplyStore, path: Path) -> None:
    keep(store, ReplyKey(b"a"), Kept(Reply("x"), 1.0))
    for part in path.parent.glob("reply_store.sqlite*"):
        part.unlink()
    assert keep(store, ReplyKey(b"b"), Kept(Reply("y"), 1.0)) is not None
    assert path.exists()


def test_greedy_replies_are_shared_between_runs_and_others_are_private(store: ReplyStore) -> None:
    cases = [(0.0, True, False, True), (0.0, False, False, False), (0.7, True, False, False), (0.7, True, True, True)]
    for number, (temperature, use_cache, cache_all, shared) in enumerate(cases):
        llm = Counting(temperature, f"openai/{number}")
        seen = []
        for name in ("first", "second"):
            stores = ReplyStores(store, name, use_cache, cache_all)
            seen += ask(stores.of_episode(llm, "e", "s", 0), request())
        assert seen == [("reply 1", False), ("reply 1", True) if shared else ("reply 2", False)], number
        assert stores.usage[llm.name].cached == shared


def test_replies_of_an_llm_that_is_not_cacheable_are_private(store: ReplyStore) -> None:
    llm = Counting()
    llm.cacheable = False
    for name in ("first", "second"):
        ask(ReplyStores(store, name).of_episode(llm, "e", "s", 0), request())
    assert llm.made == 2


def test_a_temperature_that_turns_out_refused_makes_the_reply_private(store: ReplyStore) -> None:
    class Refused(Counting):
        async def generate(self, request: Request) -> Reply:
            self.adaptations = {"temperature": "only 1 is taken"}
            return await super().generate(request)

    for name in ("first", "second"):
        llm = Refused()
        assert ask(ReplyStores(store, name).of_episode(llm, "e", "s", 0), request()) == [("reply 1", False)]


@pytest.mark.parametrize("finish", ["length", "content_filter", "refusal", "stop"])
def test_a_flawed_reply_serves_its_own_episode_alone(store: ReplyStore, finish: str) -> None:
    llm = Counting(reply=Reply("" if finish == "stop" else "半", finish=finish))  # type: ignore[arg-type]
    stores = ReplyStores(store, "r")
    told = [ask(stores.of_episode(llm, episode, "s", 0), request())[0][1] for episode in ("a", "b", "a", "b", "c")]
    assert told == [False, False, True, True, False]


TOOL = ToolSpec("find", "Find a dish.", {"type": "object", "properties": {"名": {"type": "string"}}})
CALL = ToolCall("1", "find", {"名": "pizza"})
DIFFERENT = [
    request("hi"),
    request("hi", "there"),
    request("hithere"),
    request("hi", stop=("\n",)),
    request("hi", stop=("\n", "a")),
    request("hi", stop=("\na",)),
    request("hi", max_tokens=3),
    request("hi", seed=3),
    request("hi", tools=(TOOL,)),
    request("hi", tools=(TOOL,), tool_choice="required"),
    request("hi", tools=(ToolSpec("find", "Find a dish!", TOOL.parameters),)),
    request("hi", tools=(ToolSpec("find", "Find a dish.", {"type": "object"}),)),
    Request((Message("system", "hi"),)),
    Request((Message("assistant", "hi"),)),
    Request((Message("assistant", "hi", (CALL,)),)),
    Request((Message("assistant", "hi", (ToolCall("2", "find", {"名": "pizza"}),)),)),
    Request((Message("assistant", "hi", (ToolCall("1", "find", {"名": 1}),)),)),
    Request((Message("assistant", "hi", (ToolCall("1", "find", {"名": True}),)),)),
    Request((Message("assistant", "hi", (ToolCall("1", "find", {"名": 1.0}),)),)),
    Request((Message("assistant", "hi", (ToolCall("1", "find", {}, "unreadable"),)),)),
    Request((Message("assistant", "hi", (ToolCall("1", "find", {}, None, {"signature": "a"}),)),)),
    Request((Message("assistant", "hi", reasoning="hm"),)),
    Request((Message("assistant", "hi", extra={"items": [1]}),)),
    Request((Message("assistant", "hi", extra={"items": [2]}),)),
    Request((Message("tool", "hi", call_id="1"),)),
    Request((Message("tool", "hi", call_id="2"),)),
    Request((Message("tool", "hi", call_id="1", name="find"),)),
    request("\ud83d"),
    request("?"),
]


def test_all_that_decides_a_reply_is_in_its_key(store: ReplyStore) -> None:
    llm = Counting()
    told = ask(ReplyStores(store, "r").of_episode(llm, "e", "s", 0), *DIFFERENT)
    assert [replayed for _, replayed in told] == [False] * len(DIFFERENT)
    again = ask(ReplyStores(store, "other").of_episode(llm, "f", "t", 0), *reversed(DIFFERENT))
    assert again == [(text, True) for text, _ in reversed(told)]


def test_identity_and_epoch_are_in_the_key(store: ReplyStore) -> None:
    stores = ReplyStores(store, "r")
    ask(stores.of_episode(Counting(), "e", "s", 0), request())
    assert ask(stores.of_episode(Counting(), "e", "s", 1), request()) == [("reply 1", False)]
    assert ask(stores.of_episode(Counting(name="openai/b"), "e", "s", 0), request()) == [("reply 1", False)]
    assert ask(stores.of_episode(Counting(), "f", "t", 0), request()) == [("reply 1", True)]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_same_request_made_again_has_its_own_reply(store: ReplyStore, temperature: float) -> None:
    llm, stores = Counting(temperature), ReplyStores(store, "r")
    first = ask(stores.of_episode(llm, "e", "s", 0), request(), request("other"), request(), request())
    assert first == [(f"reply {n}", False) for n in (1, 2, 3, 4)]
    again = ask(stores.of_episode(llm, "e", "s", 0), request(), request("other"), request(), request(), request())
    assert again == [*((text, True) for text, _ in first), ("reply 5", False)]


def test_a_resume_finds_private_replies_of_its_own_run_and_episode_alone(path: Path) -> None:
    llm = Counting(0.7)

    def told(run_id: str, episode: str = "e", scope: str = "s") -> bool:
        with contextlib.closing(ReplyStore(path)) as store:
            return ask(ReplyStores(store, run_id).of_episode(llm, episode, scope, 0), request())[0][1]

    assert [told("r"), told("r"), told("q"), told("r", "f"), told("r", scope="t")] == [False, True, False, False, False]


def test_two_episodes_that_ask_alike_at_once_each_resume_with_their_own_reply(store: ReplyStore) -> None:
    llm, stores = Counting(), ReplyStores(store, "r")

    async def both() -> list[str]:
        episodes = [stores.of_episode(llm, name, "s", 0) for name in "ab"]
        return [reply.text for reply, _, _ in await asyncio.gather(*(one.answer(request()) for one in episodes))]

    first = run(both)
    assert sorted(first) == ["reply 1", "reply 2"]
    assert run(both) == first


def test_what_is_forgotten_is_the_episodes_or_the_runs_private_replies(store: ReplyStore) -> None:
    drawn, greedy = Counting(0.7), Counting()

    def replayed(run_id: str, episode: str, llm: LLM) -> bool:
        return ask(ReplyStores(store, run_id).of_episode(llm, episode, "s", 0), request())[0][1]

    for run_id in "rq":
        for episode in "ef":
            replayed(run_id, episode, drawn)
    replayed("r", "e", greedy)
    ReplyStores(store, "r").forget("e", "s")
    store.flush()
    assert [replayed("r", "f", drawn), replayed("q", "e", drawn), replayed("r", "e", greedy)] == [True] * 3
    assert not replayed("r", "e", drawn)
    store.forget_run("r")
    store.flush()
    assert [replayed("q", "e", drawn), replayed("q", "f", drawn), replayed("r", "e", greedy)] == [True] * 3
    assert [replayed("r", "e", drawn), replayed("r", "f", drawn)] == [False] * 2


def test_seconds_are_kept_as_they_were_made(store: ReplyStore) -> None:
    class Slow(Counting):
        async def generate(self, request: Request) -> Reply:
            await asyncio.sleep(0.05)
            return Reply("x", retries=2, queue=0.02, retry=0.01)

    async def work() -> list[tuple[Reply, float, bool]]:
        stores = ReplyStores(store, "r")
        first = await stores.of_episode(Slow(), "e", "s", 0).answer(request())
        episode = stores.of_episode(Slow(), "e", "s", 0)
        again = await episode.answer(request())
        assert episode.replayed_seconds == first[1]
        return [first, again]

    first, again = run(work)
    assert again[1] == first[1] >= 0.05
    assert (again[0].retries, again[0].queue, again[0].retry) == (2, 0.02, 0.01)
    assert (first[2], again[2]) == (False, True)


def test_usage_counts_what_was_really_asked(store: ReplyStore) -> None:
    llm = Counting()
    stores = ReplyStores(store, "r")
    for episode in ("a", "a", "b"):
        ask(stores.of_episode(llm, episode, "s", 0), request())
    usage = stores.usage[llm.name]
    assert (usage.calls, usage.cached, usage.tokens, usage.cost) == (1, 1, 5, None)


def test_without_a_store_every_reply_is_made(path: Path) -> None:
    llm = Counting()
    assert ask(ReplyStores().of_episode(llm, "e", "s", 0), request(), request()) == [
        ("reply 1", False),
        ("reply 2", False),
    ]
