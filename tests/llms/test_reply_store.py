"""The reply store and what is found in it: nothing answered is lost, and no state of the file refuses a run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sqlite3
import subprocess
import sys
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
    return tmp_path / "replies.sqlite"


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
import asyncio, sys
from pathlib import Path
from typing import TypeVar
from r_eval.llms.base import Reply
from r_eval.llms.replay import Kept
from r_eval.llms.reply_key import ReplyKey
from r_eval.llms.reply_store import ReplyStore

async def main():
    store, n = ReplyStore(Path(sys.argv[1])), 0
    async def keep(i):
        await store.put(ReplyKey(b"%d" % i), Kept(Reply(f"答案 {i} \\u2028🎉"), 1.0, b"o"))
        sys.stdout.write(f"{i}\\n"); sys.stdout.flush()
    while True:
        await asyncio.gather(*(keep(n + i) for i in range(20)))
        n += 20
asyncio.run(main())
"""


def test_a_kill_loses_no_reply_whose_put_returned(path: Path) -> None:
    for _ in range(5):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, cwd=Path.cwd())
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(200)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().splitlines(keepends=True)
        child.wait()
        done = [int(line) for line in lines if line.endswith(b"\n")]
        assert len(done) >= 200
        with contextlib.closing(ReplyStore(path)) as store:

            async def check(store: ReplyStore = store, done: list[int] = done) -> list[int]:
                found = {i: await store.find(ReplyKey(b"%d" % i)) for i in done}
                return [i for i, kept in found.items() if kept is None or kept.reply.text != f"答案 {i} \u2028🎉"]

            assert run(check) == []


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
    assert lag < 0.1
    assert waited > 1
    assert run(lambda: store.find(ReplyKey(b"k"))) is not None


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


def wrong_schema(path: Path) -> None:
    fill(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE replies DROP COLUMN crc")


@pytest.mark.parametrize("damage", [garbage, text, truncated, head_flipped, wrong_schema])
def test_a_damaged_file_is_moved_aside(
    path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    damage(path)
    before = path.read_bytes()
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, ReplyKey(b"k"), Kept(Reply("好"), 1.0)) is not None
        assert store.path == path
    (aside,) = path.parent.glob("replies.sqlite.damaged-*Z")
    assert aside.read_bytes() == before
    assert len(caplog.records) == 1


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


def test_an_unreadable_row_is_as_if_absent(store: ReplyStore, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [b"not JSON", b"[]", b"[" * 100_000, b"x\x9c broken", '[{"text": 3}, 1]', None, b""]
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for i, data in enumerate(rows):
            values = (b"%d" % i, b"o", 0, time.time(), 1, "" if data is None else data)
            connection.execute("INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?)", values)
        connection.execute("INSERT INTO replies VALUES (?, 1, 0, 1, 'x', CAST(X'FFFE' AS TEXT))", (b"%d" % len(rows),))
    for i in range(len(rows) + 1):
        key = ReplyKey(b"%d" % i)
        assert run(lambda key=key: store.find(key)) is None
        assert keep(store, key, Kept(Reply("again"), 1.0)) is not None
    assert not caplog.records


def another_program(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.execute("INSERT INTO bookmarks VALUES ('https://例え.jp')")


def later_version(path: Path) -> None:
    fill(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize("make", [another_program, later_version])
def test_a_sound_file_of_another_program_is_left_alone(
    path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    make(path)
    before = path.read_bytes()
    for _ in range(2):
        with contextlib.closing(ReplyStore(path)) as store:
            assert keep(store, ReplyKey(b"k"), Kept(Reply("x"), 1.0)) is not None
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*damaged*"))
    assert len(caplog.records) == 2  # one for each opening


def no_store_works(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.closing(ReplyStore(path)) as store:
        assert not store.usable
        assert keep(store, ReplyKey(b"k"), Kept(Reply("x"), 1.0)) is None
        store.forget(b"o")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_folder_in_its_place_means_no_store(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.mkdir()
    no_store_works(path, caplog)
    assert path.is_dir()


@pytest.mark.parametrize("place", ["/proc/none/replies.sqlite", "/dev/null/replies.sqlite"])
def test_a_place_where_nothing_can_be_made_means_no_store(place: str, caplog: pytest.LogCaptureFixture) -> None:
    no_store_works(Path(place), caplog)


def test_a_read_only_folder_means_no_store(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.chmod(0o555)
    if os.access(path.parent, os.W_OK):
        pytest.skip("this user may write everywhere")
    try:
        no_store_works(path, caplog)
    finally:
        path.parent.chmod(0o755)


def test_a_full_disk_ends_the_keeping_and_no_run(store: ReplyStore, caplog: pytest.LogCaptureFixture) -> None:
    keep(store, ReplyKey(b"k"), Kept(Reply("x"), 1.0))
    assert store._writer is not None
    store._writer.execute("PRAGMA max_page_count = 8")
    for i in range(3):
        keep(store, ReplyKey(b"big%d" % i), Kept(Reply(os.urandom(100_000).hex()), 1.0))
    assert not store.usable
    assert len(caplog.records) == 1


def test_private_replies_of_long_ago_are_deleted_when_a_store_is_opened(path: Path) -> None:
    with contextlib.closing(ReplyStore(path)) as store:
        for key in (ReplyKey(b"old"), ReplyKey(b"new"), ReplyKey(b"x", b"shared")):
            keep(store, key, Kept(Reply("x"), 1.0))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET made = 1 WHERE key != ?", (b"new",))
    ReplyStore(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert {key for (key,) in connection.execute("SELECT key FROM replies")} == {b"new", b"shared"}


def test_a_failure_that_is_no_damage_moves_nothing_aside(store: ReplyStore, path: Path) -> None:
    assert store._writer is not None
    store._writer.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
    keep(store, ReplyKey(b"k"), Kept(Reply(os.urandom(50_000).hex()), 1.0))
    assert path.exists()
    assert not list(path.parent.glob("*damaged*"))


def test_a_file_deleted_meanwhile_is_made_again(store: ReplyStore, path: Path) -> None:
    keep(store, ReplyKey(b"a"), Kept(Reply("x"), 1.0))
    for part in path.parent.glob("replies.sqlite*"):
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
