"""Replies that are kept: for the resume of a run, for other runs, and whatever happens to the file."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.llms import reply_store
from r_eval.llms.base import LLM, LLMSettings, Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.replay import Kept, LLMUsage, ReplyKey, ReplyStores
from r_eval.llms.reply_store import ReplyStore, store_path
from r_eval.records import Tokens

ASK = Request((Message("user", "肯尼亚在哪里？"),))
KEY = ReplyKey(b"own", None)
TEXTS = ("", "内罗毕", "🦁\u200d🔥", "a\u2028b\u2029c\x85d", "\0", "“Nairobi”", "\ud83d", "Ñ" * 5000, "{", "x\x9c")
SPAWN = multiprocessing.get_context("spawn")


class Counting(LLM):
    """Answers with the number of the call, or with the replies that it is given."""

    def __init__(self, *replies: Reply, temperature: float = 0.0, name: str = "one") -> None:
        super().__init__(name, name, LLMSettings(temperature=temperature))
        self.replies, self.calls = list(replies), 0

    async def generate(self, request: Request) -> Reply:
        self.calls += 1
        await asyncio.sleep(0)
        return self.replies.pop(0) if self.replies else Reply(f"第{self.calls}", tokens=Tokens(prompt=3))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.sqlite"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[ReplyStore]:
    with contextlib.closing(ReplyStore(path)) as store:
        yield store


def kept(path: Path, reply: Reply, key: ReplyKey = KEY) -> Kept | None:
    """A reply as another process finds it after it was put."""

    async def main() -> Kept | None:
        with opened(path) as store:
            await store.put(key, Kept(reply, 1.5, b"owner"))
        with opened(path) as store:
            return await store.find(key)

    return asyncio.run(main())


def found(path: Path, key: ReplyKey = KEY) -> str | None:
    with opened(path) as store:
        kept = asyncio.run(store.find(key))
    return kept.reply.text if kept else None


def replies_of(path: Path, llm: LLM, *requests: Request, run: str = "run", episode: str = "e", **how: Any) -> list[Any]:
    """The texts that an episode is given, and whether each was replayed."""

    async def main() -> list[Any]:
        with opened(path) as store:
            replies = ReplyStores(store, run, **how).of_episode(llm, episode, "scope", 0)
            made = [await replies.answer(request) for request in requests]
            return [(reply.text, replayed) for reply, _, replayed in made]

    return asyncio.run(main())


# A reply comes back as it was


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_any_text_comes_back_as_it_was(path: Path, text: str) -> None:
    calls = (ToolCall("1", text, {"名": [text, None, 1.5, True, 10**40]}, extra={"signature": text}),)
    reply = Reply(text, calls, "tool_calls", Tokens(prompt=3), True, text, {"思": {text: text}}, 2, 0.25, 0.5)
    assert kept(path, reply) == Kept(reply, 1.5, b"owner")


def test_the_waits_of_a_reply_are_kept(path: Path) -> None:
    found = kept(path, Reply("x", queue=0.25, retry=0.5))
    assert found is not None
    assert (found.seconds, found.reply.queue, found.reply.retry) == (1.5, 0.25, 0.5)


def test_a_reply_of_five_megabytes_comes_back(path: Path) -> None:
    reply = Reply("肯尼亚" * 555_556, tokens=Tokens(completion=1))
    assert kept(path, reply) == Kept(reply, 1.5, b"owner")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), st.dictionaries(st.text(), json_values, max_size=3), st.floats(0, 1e6))
def test_what_is_written_of_a_reply_can_be_read(text: str, data: dict[str, Any], seconds: float) -> None:
    made = Kept(Reply(text, (ToolCall("", text, data, extra=data),), extra=data or None), seconds)
    assert Kept.from_json(made.to_json(), b"") == made


# Who finds a reply


@pytest.mark.parametrize(
    ("temperature", "how", "shared"),
    [
        (0.0, {}, True),
        (0.7, {}, False),
        (0.7, {"cache_all": True}, True),
        (0.0, {"use_cache": False}, False),
        (0.0, {"use_cache": False, "cache_all": True}, False),
    ],
)
def test_which_replies_other_runs_are_given(path: Path, temperature: float, how: dict[str, Any], shared: bool) -> None:
    llm = Counting(temperature=temperature)
    replies_of(path, llm, ASK, run="first", **how)
    assert replies_of(path, llm, ASK, run="second", episode="other", **how) == [(f"第{2 - shared}", shared)]


@pytest.mark.parametrize("how", [{}, {"use_cache": False}, {"cache_all": True}])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_an_interrupted_episode_is_given_its_own_replies(path: Path, temperature: float, how: dict[str, Any]) -> None:
    llm = Counting(temperature=temperature)
    assert replies_of(path, llm, ASK, ASK, **how) == [("第1", False), ("第2", False)]
    assert replies_of(path, llm, ASK, ASK, ASK, **how) == [("第1", True), ("第2", True), ("第3", False)]


@pytest.mark.parametrize(
    "reply",
    [Reply("cut", finish="length"), Reply(" "), Reply("no", finish="refusal"), Reply("x", finish="content_filter")],
)
def test_a_reply_that_is_not_whole_serves_its_own_episode_alone(path: Path, reply: Reply) -> None:
    assert replies_of(path, Counting(reply), ASK) == [(reply.text, False)]
    assert replies_of(path, Counting(), ASK) == [(reply.text, True)]
    assert replies_of(path, Counting(), ASK, run="another") == [("第1", False)]


def test_a_server_that_refuses_the_temperature_is_not_greedy_from_then_on(path: Path) -> None:
    class Learning(Counting):
        async def generate(self, request: Request) -> Reply:
            self.adaptations["temperature"] = "refused"
            return await super().generate(request)

    replies_of(path, Learning(), ASK)
    assert replies_of(path, Counting(), ASK, run="another") == [("第1", False)]


def test_two_episodes_that_ask_at_once_are_both_answered_and_resumed_with_their_own(path: Path) -> None:
    llm = Counting()

    async def both(times: int) -> list[list[str]]:
        with opened(path) as store:
            stores = ReplyStores(store, "run")
            episodes = [stores.of_episode(llm, name, "scope", 0) for name in ("a", "b")]
            made = await asyncio.gather(*(episode.answer(ASK) for episode in episodes))
            return [[reply.text for reply, _, _ in made]]

    first = asyncio.run(both(1))
    assert llm.calls == 2
    assert asyncio.run(both(2)) == first
    assert llm.calls == 2


def test_what_serves_an_episode_alone_is_forgotten_and_the_rest_kept(path: Path) -> None:
    async def main() -> int:
        with opened(path) as store:
            for run, temperature in (("run", 0.7), ("run", 0.0), ("other", 0.7)):
                stores = ReplyStores(store, run)
                await stores.of_episode(Counting(temperature=temperature), "e", "scope", 0).answer(ASK)
            ReplyStores(store, "run").forget("e", "scope")
            store.flush()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])

    assert asyncio.run(main()) == 2


def test_what_was_asked_and_what_was_taken_from_others_is_counted(path: Path) -> None:
    async def main(run: str, episode: str) -> LLMUsage:
        with opened(path) as store:
            stores = ReplyStores(store, run)
            await stores.of_episode(Counting(), episode, "scope", 0).answer(ASK)
            return stores.usage["one"]

    counts = [asyncio.run(main(run, episode)) for run, episode in (("a", "e"), ("a", "e"), ("a", "f"), ("b", "e"))]
    assert [(usage.calls, usage.cached) for usage in counts] == [(1, 0), (0, 0), (0, 1), (0, 1)]


def test_usage_adds_up_and_an_unknown_price_stays_unknown() -> None:
    usage = LLMUsage()
    usage.add(Tokens(prompt=3, completion=2), 0.5)
    before = dataclasses.replace(usage)
    usage.add(Tokens(prompt=1), 0.25)
    assert usage.since(before) == LLMUsage(1, 0, 0.25, 1)
    usage.include(LLMUsage(1, 2, None, 5, 1.0))
    assert usage == LLMUsage(3, 2, None, 11, 1.0)


CALL = ToolCall("1", "Search", {"entity": "肯尼亚"})
BASE = Request(
    (Message("user", "Where?"), Message("assistant", "", (CALL,)), Message("tool", "东非", (), "1", "Search"))
)
TOOL = ToolSpec("Search", "Find.", {"type": "object"})


def changed(place: int, **how: Any) -> Request:
    messages = list(BASE.messages)
    messages[place] = dataclasses.replace(messages[place], **how)
    return dataclasses.replace(BASE, messages=tuple(messages))


OTHERS = [
    changed(0, content="Where is it?"),
    changed(0, content="Where?\0"),
    changed(0, role="system"),
    changed(1, reasoning="hm"),
    changed(1, extra={"signature": "x"}),
    changed(1, tool_calls=(dataclasses.replace(CALL, id="2"),)),
    changed(1, tool_calls=(dataclasses.replace(CALL, arguments={"entity": "肯"}),)),
    changed(1, tool_calls=(dataclasses.replace(CALL, extra={"a": 1}),)),
    changed(2, call_id="2"),
    changed(2, name="Search2"),
    dataclasses.replace(BASE, messages=BASE.messages[:2]),
    dataclasses.replace(BASE, messages=(*BASE.messages, Message("user", ""))),
    dataclasses.replace(BASE, stop=("x",)),
    dataclasses.replace(BASE, max_tokens=5),
    dataclasses.replace(BASE, seed=5),
    dataclasses.replace(BASE, tools=(TOOL,)),
    dataclasses.replace(BASE, tools=(dataclasses.replace(TOOL, description="Find"),)),
    dataclasses.replace(BASE, tool_choice="required"),
]


@pytest.mark.parametrize("other", OTHERS, ids=range(len(OTHERS)))
def test_another_request_has_another_key(path: Path, other: Request) -> None:
    replies_of(path, Counting(), BASE)
    assert replies_of(path, Counting(Reply("new")), other, run="b") == [("new", False)]


def test_equal_requests_have_one_key_whatever_was_asked_before_them(path: Path) -> None:
    replies_of(path, Counting(Reply("kept")), BASE)
    again = dataclasses.replace(BASE, messages=tuple(dataclasses.replace(m) for m in BASE.messages))
    for before in OTHERS:
        assert replies_of(path, Counting(Reply("new")), before, again, run="b")[1] == ("kept", True)


@pytest.mark.parametrize("other", [Counting(name="another"), Counting(temperature=0.1)])
def test_another_llm_has_another_key(path: Path, other: LLM) -> None:
    replies_of(path, Counting(), ASK, cache_all=True)
    assert replies_of(path, other, ASK, run="b", cache_all=True) == [("第1", False)]


# Processes

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from r_eval.llms.base import Reply
from r_eval.llms.replay import Kept, ReplyKey
from r_eval.llms.reply_store import ReplyStore

async def main():
    store = ReplyStore(Path(sys.argv[1]))
    async def put(n):
        await store.put(ReplyKey(b"%d" % n, None), Kept(Reply("中文🦁\\u2028" * (n % 7) + str(n)), 1.0, b"o"))
        print(n, flush=True)
        if n == 150:
            os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.gather(*(put(n) for n in range(300)))

asyncio.run(main())
"""


def test_a_reply_survives_the_death_of_its_process_as_soon_as_it_is_put(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    said = [int(line) for line in done.stdout.split()]
    assert 150 in said
    with opened(path) as store:
        for n in said:
            found = asyncio.run(store.find(ReplyKey(b"%d" % n, None)))
            assert found is not None
            assert found.reply.text == "中文🦁\u2028" * (n % 7) + str(n)


def fill(path: Path, start: int) -> None:
    async def main() -> None:
        with opened(path) as store:
            keys = [ReplyKey(b"", b"%d" % i) for i in range(start, start + 500)]
            await asyncio.gather(*(store.put(key, Kept(Reply(str(key.shared)), 0.1, b"o")) for key in keys))

    asyncio.run(main())


def test_processes_that_begin_at_once_write_to_one_file(path: Path) -> None:
    writers = [SPAWN.Process(target=fill, args=(path, n * 500)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 3
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM replies").fetchone() == (1500,)


def test_another_process_that_holds_the_write_lock_holds_no_event_loop_up(path: Path) -> None:
    async def main() -> tuple[float, float]:
        with opened(path) as store, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began, lag = time.monotonic(), 0.0
            asyncio.get_running_loop().call_later(1.0, other.execute, "COMMIT")
            put = asyncio.ensure_future(store.put(KEY, Kept(Reply("x"), 1.0)))
            while not put.done():
                before = time.monotonic()
                assert await store.find(ReplyKey(b"another", b"one")) is None
                await asyncio.sleep(0.01)
                lag = max(lag, time.monotonic() - before)
            return lag, time.monotonic() - began

    lag, waited = asyncio.run(main())
    assert lag < 0.3  # far below the lock's second, and above what a busy machine does to a sleep
    assert waited >= 0.9
    assert found(path) == "x"


# Damage


def corrupted(path: Path, start: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(os.urandom(size))


def of_another_version(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def with_another_table(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TABLE replies; CREATE TABLE replies (key TEXT)")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no database": lambda path: path.write_bytes("这不是数据库".encode() * 500),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "header": lambda path: corrupted(path, 0, 100),
    "first page": lambda path: corrupted(path, 100, 3900),
    "version": of_another_version,
    "schema": with_another_table,
}


def filled(path: Path, count: int = 300) -> None:
    async def main() -> None:
        with opened(path) as store:
            puts = (store.put(ReplyKey(b"%d" % n, None), Kept(Reply("Kenya" * 100), 1.0, b"o")) for n in range(count))
            await asyncio.gather(*puts)

    asyncio.run(main())


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_store_is_moved_aside_with_one_warning(
    path: Path, damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    filled(path)
    damage(path)
    damaged = path.read_bytes()
    replies_of(path, Counting(), ASK)
    assert replies_of(path, Counting(), ASK) == [("第1", True)]
    assert len(caplog.messages) == 1
    [aside] = path.parent.glob("replies.sqlite.damaged-*")
    assert aside.read_bytes() == damaged


def test_any_damaged_page_costs_replies_and_nothing_else(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(path)
    whole = path.read_bytes()
    for page in range(1, len(whole) // 4096, 3):
        for other in path.parent.iterdir():
            other.unlink()
        path.write_bytes(whole)
        corrupted(path, page * 4096, 4096)
        caplog.clear()

        async def main() -> None:
            with opened(path) as store:
                for n in range(300):
                    found = await store.find(ReplyKey(b"%d" % n, None))
                    assert found is None or found.reply == Reply("Kenya" * 100)
                for n in range(300, 330):
                    await store.put(ReplyKey(b"%d" % n, None), Kept(Reply("new"), 1.0, b"o"))
                new = [await store.find(ReplyKey(b"%d" % n, None)) for n in range(300, 330)]
                assert [kept.reply.text for kept in new if kept] == ["new"] * 30

        asyncio.run(main())
        assert len(caplog.messages) <= 1


def test_a_row_that_is_damaged_is_as_if_it_were_not_there_and_can_be_kept_again(path: Path) -> None:
    replies_of(path, Counting(Reply("Nairobi")), ASK)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE replies SET reply = replace(reply, 'Nairobi', 'Mombasa')")
    assert replies_of(path, Counting(Reply("Kisumu")), ASK, run="b") == [("Kisumu", False)]
    assert replies_of(path, Counting(), ASK, run="c") == [("Kisumu", True)]


def test_a_store_that_is_deleted_while_it_is_open_is_made_again(path: Path) -> None:
    async def main() -> None:
        with opened(path) as store:
            await store.put(ReplyKey(b"1", None), Kept(Reply("x"), 1.0))
            for other in path.parent.iterdir():
                other.unlink()
            await store.put(KEY, Kept(Reply("y"), 1.0))
            assert (await store.find(KEY)) is not None

    asyncio.run(main())
    assert found(path) == "y"


def foreign_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')")


@pytest.mark.parametrize("make", [foreign_database, Path.mkdir], ids=["database", "folder"])
def test_what_belongs_to_somebody_else_is_left_alone(
    path: Path, make: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    assert replies_of(path, Counting(), ASK) == [("第1", False)]
    assert replies_of(path, Counting(), ASK) == [("第1", True)]
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["replies.sqlite", "replies.sqlite.r-eval"]
    assert "left alone" in caplog.messages[0]


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN])
def test_where_nothing_can_be_written_a_run_goes_on_and_reads(
    path: Path, code: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    replies_of(path, Counting(), ASK)

    def failing(*arguments: object) -> None:
        error = sqlite3.OperationalError("no room")
        error.sqlite_errorcode = code
        raise error

    monkeypatch.setattr(reply_store, "_commit", failing)
    other = Request((Message("user", "?"),))
    assert replies_of(path, Counting(), other, other, ASK, run="b") == [("第1", False), ("第2", False), ("第1", True)]
    assert len(caplog.messages) == 1
    assert not list(path.parent.glob("*damaged*"))


def test_a_disk_that_is_full_stops_no_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as store:
        assert store._writer is not None
        store._writer.execute("PRAGMA max_page_count = 8")

        async def main() -> None:
            for n in range(30):
                await store.put(ReplyKey(b"%d" % n, None), Kept(Reply("中" * 900), 1.0))
            assert await store.find(ReplyKey(b"0", None)) is not None

        asyncio.run(main())
        assert not store.usable


def test_a_folder_that_cannot_be_made_stops_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert replies_of(tmp_path / "file" / "replies.sqlite", Counting(), ASK, ASK) == [("第1", False), ("第2", False)]
    assert len(caplog.messages) == 1


def test_old_replies_of_episodes_that_were_never_resumed_are_pruned(path: Path) -> None:
    filled(path, 3)
    replies_of(path, Counting(), ASK)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE replies SET made = made - 31 * 86400 WHERE key IN (?, ?) OR shared", (b"0", b"1"))
    with opened(path) as store:
        store.flush()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert sorted(connection.execute("SELECT shared FROM replies").fetchall()) == [(0,), (1,)]


def test_the_file_is_the_one_that_the_variable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("R_EVAL_REPLIES", str(tmp_path / "mine"))
    assert store_path() == tmp_path / "mine"


def test_without_a_store_every_call_is_made() -> None:
    llm = Counting()
    replies = ReplyStores().of_episode(llm, "e", "scope", 0)
    for _ in range(2):
        asyncio.run(replies.answer(ASK))
    assert llm.calls == 2
