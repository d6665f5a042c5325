"""The reply store: nothing answered is lost, no state of the file refuses a run, and nothing in it is believed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import resource
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import LLM, Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.replay import EpisodeReplies, ReplyKey, ReplyStores, StoredReply
from r_eval.llms.reply_store import ReplyStore, store_path
from r_eval.records import Tokens
from tests.llms.test_reply import nested

T = TypeVar("T")
KEY = ReplyKey(b"key")
GOOD = StoredReply(Reply("好"), 1.0, b"owner")


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


def find(store: ReplyStore, key: ReplyKey = KEY) -> StoredReply | None:
    return run(lambda: store.find(key))


def sql(path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def keep(store: ReplyStore, key: ReplyKey, stored: StoredReply) -> StoredReply | None:
    async def work() -> StoredReply | None:
        await store.put(key, stored)
        return await store.find(key)

    return run(work)


def ask(episode: EpisodeReplies, *requests: Request) -> list[tuple[str, bool]]:
    async def work() -> list[tuple[str, bool]]:
        return [(reply.text, replayed) for reply, _, replayed in [await episode.answer(one) for one in requests]]

    return run(work)


TEXTS = ["", "北京 👩‍👩‍👧‍👦 🇨🇭", "a\u2028b\u2029c\x85d\r\n\te", "שלום مرحبا \u202e", "a\0b\x01\x7f\x1b[0m"]
LARGE = "北京👍\u2028 plain " * 290_000
"""Of 5 MB."""


@pytest.mark.parametrize("text", [*TEXTS, LARGE], ids=range(6))
def test_a_reply_of_any_text_survives(path: Path, text: str) -> None:
    numbers = [1.5, 10**30, 1e-300, float("inf"), -float("inf")]
    call = ToolCall("1", "find", {"名": text[:50], "x": [numbers, None, True, {"y": {}}]}, None, {"signature": "é"})
    reply = Reply(text, (call,), "tool_calls", Tokens(prompt=1), True, text[:9], {"items": [{"a": 1}]}, 2, 0.5, 0.25)
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, KEY, StoredReply(reply, 1.5, b"o")) == StoredReply(reply, 1.5, b"o")
    with contextlib.closing(ReplyStore(path)) as store:
        found = find(store)
    assert found == StoredReply(reply, 1.5, b"o")
    assert (found.reply.queue, found.reply.retry) == (0.5, 0.25)


@pytest.mark.parametrize(("variable", "name"), [("R_EVAL_REPLIES", "~/北京"), ("R_EVAL_CACHE", "~/cache")])
def test_the_file_may_be_named_from_the_home_folder(
    variable: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("R_EVAL_REPLIES", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, name)
    assert store_path().relative_to(tmp_path).parts[0] == name.removeprefix("~/")


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("R_EVAL_REPLIES", "R_EVAL_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", mock.Mock(side_effect=RuntimeError("no home")))
    with pytest.raises(UserError, match="no home folder: set HOME, or set R_EVAL_CACHE"):
        store_path()


def fill(path: Path, count: int = 300) -> None:
    with contextlib.closing(ReplyStore(path)) as store:

        async def work() -> None:
            for i in range(count):
                await store.put(ReplyKey(b"%d" % i), StoredReply(Reply(os.urandom(400).hex()), 1.0))
            await store.find(KEY)

        run(work)


def test_a_second_reply_under_a_shared_key_is_its_own_episodes(store: ReplyStore) -> None:
    first, second = (StoredReply(Reply(text), 1.0, text.encode()) for text in ("一", "二"))
    keys = [ReplyKey(own, b"shared") for own in (b"a", b"b")]
    keep(store, keys[0], first)
    keep(store, keys[1], second)
    assert [find(store, key) for key in (*keys, ReplyKey(b"c", b"shared"))] == [first, second, first]


async def longest_pause(work: Awaitable[object]) -> float:
    """For how many seconds of processor time the event loop came to nothing else while something was awaited."""
    task, longest = asyncio.ensure_future(work), 0.0
    while not task.done():
        before = time.process_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.process_time() - before)
    return longest


@pytest.mark.parametrize(
    "reply", [Reply(LARGE), Reply("half \ud83d"), Reply("x", (ToolCall("1", "find", nested(5000)),))]
)
def test_a_lock_of_another_process_and_a_large_reply_hold_no_loop(store: ReplyStore, path: Path, reply: Reply) -> None:
    keep(store, KEY, GOOD)

    async def work() -> list[float]:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            put = asyncio.create_task(store.put(ReplyKey(b"large"), StoredReply(reply, 1.0)))
            asyncio.get_running_loop().call_later(0.3, other.execute, "COMMIT")
            return [await longest_pause(put), await longest_pause(store.find(ReplyKey(b"large")))]

    assert min(max(run(work)) for _ in range(3)) < 0.05
    kept = find(store, ReplyKey(b"large"))
    assert kept == (StoredReply(reply, 1.0) if reply.text == LARGE else None)  # the others cannot be written
    assert find(store) == GOOD


def overwrite(start: int, end: int, byte: Callable[[int], bytes] = os.urandom) -> Callable[[Path], None]:
    """A damage: bytes of a store are others; an end of 0 or below counts from the end of the file."""

    def damage(path: Path) -> None:
        fill(path)
        data = path.read_bytes()
        size = end - start if end > 0 else len(data) + end - start
        path.write_bytes(data[:start] + byte(size) + data[start + size :])

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("这不是数据库\n" * 500, encoding="utf-8"),
    "few bytes": lambda path: path.write_bytes(b"\0\xff"),
    "a trashed head": overwrite(100, 3000),
    "truncated": overwrite(80_000, 0, lambda size: b""),
    "another schema": lambda path: (fill(path, 1), sql(path, "ALTER TABLE replies DROP COLUMN made")),
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
    moved = [file.read_bytes() for file in path.parent.glob("reply_store.sqlite.damaged-*Z")]
    assert moved == ([before] if before else [])
    assert len(caplog.records) == len(moved)


def test_flipped_pages_and_a_full_disk_cost_replies_and_no_run(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    overwrite(8192, -4096)(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with contextlib.closing(ReplyStore(path)) as store:
        assert any(find(store, ReplyKey(b"%d" % i)) is None for i in range(300))
        assert keep(store, KEY, GOOD) == GOOD
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            assert keep(store, ReplyKey(b"b"), StoredReply(Reply(os.urandom(500_000).hex()), 1.0)) is None
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [record.message.split()[2] for record in caplog.records] == ["store", "be"]
    assert len(list(path.parent.glob("*damaged*"))) == 1
    with contextlib.closing(ReplyStore(path)) as store:
        assert find(store) == GOOD


def test_a_sound_file_of_another_program_is_left_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sql(path, "PRAGMA journal_mode = WAL")
    sql(path, "CREATE TABLE bookmarks AS SELECT 'https://例え.jp' AS url")
    before = contents(path.parent)
    no_store_works(path, caplog)
    assert contents(path.parent) == before


def contents(folder: Path) -> dict[str, bytes]:
    """What the files in a folder hold, except the one that is locked while a store is opened."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith(".lock")}


def no_store_works(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.closing(ReplyStore(path)) as store:
        assert keep(store, KEY, GOOD) is None
        store.forget(b"o")
        llm = Counting()
        assert ask(ReplyStores(store, "r").of_episode(llm, "e", "s", 0), request()) == [("reply 1", False)]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("place", ["/dev/null/reply_store.sqlite", "a\0b", "x" * 300, "folder", "pipe"])
def test_where_nothing_can_be_made_no_reply_is_stored(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    no_store_works(tmp_path / place, caplog)
    assert (tmp_path / "folder").is_dir()


@pytest.mark.parametrize(
    ("temperature", "more", "options", "shared"),
    [(0.0, {}, (True, False), True), (0.0, {}, (False, False), False), (0.7, {}, (True, False), False),
     (0.7, {}, (True, True), True), (0.0, {"cacheable": False}, (True, False), False),
     (0.0, {"lesson": {"temperature": "only 1 is taken"}}, (True, False), False)],
)  # fmt: skip
def test_greedy_replies_are_shared_between_runs_and_others_are_private(
    store: ReplyStore, temperature: float, more: dict[str, object], options: tuple[bool, bool], shared: bool
) -> None:
    for name in ("first", "second"):
        llm, stores = Counting(temperature), ReplyStores(store, name, *options)
        vars(llm).update(more)
        replayed = name == "second" and shared
        assert ask(stores.of_episode(llm, "e", "s", 0), request()) == [("reply 1", replayed)]
        assert (llm.made, stores.usage[llm.name].cached) == (not replayed, replayed)


@pytest.mark.parametrize("finish", ["length", "stop"])
def test_a_flawed_reply_serves_its_own_episode_alone(store: ReplyStore, finish: Any) -> None:
    llm = Counting(reply=Reply("" if finish == "stop" else "半", finish=finish))
    stores = ReplyStores(store, "r")
    replayed = [ask(stores.of_episode(llm, episode, "s", 0), request())[0][1] for episode in ("a", "b", "a", "b", "c")]
    assert replayed == [False, False, True, True, False]


def message(role: str = "assistant", **more: object) -> Request:
    return Request((Message(role, "hi", **more),))  # type: ignore[arg-type]


TOOL = ToolSpec("find", "Find a dish.", {"type": "object", "properties": {"名": {"type": "string"}}})
CALL = ToolCall("1", "find", {"名": 1})
DIFFERENT = [
    *[request(text) for text in ("hi", "hithere", "\ud83d", "?")],
    *[request("hi", "there"), request(max_tokens=3), request(seed=3)],
    *[request(stop=stop) for stop in (("\n", "a"), ("\na",))],
    *[request(tools=(tool,)) for tool in (TOOL, dataclasses.replace(TOOL, parameters={"type": "object"}))],
    *[request(tools=(TOOL,), tool_choice="required"), message("system"), message()],
    *[message(tool_calls=(dataclasses.replace(CALL, arguments={"名": value}),)) for value in (1, "1", True, 1.0)],
    *[message(tool_calls=(CALL,), extra={"items": [n]}) for n in (1, 2)],
    *[message(reasoning="hm"), message("tool", call_id="1"), message("tool", call_id="1", name="find")],
]


def test_all_that_decides_a_reply_is_in_its_key(store: ReplyStore) -> None:
    llm = Counting()
    first = ask(ReplyStores(store, "r").of_episode(llm, "e", "s", 0), *DIFFERENT)
    assert [replayed for _, replayed in first] == [False] * len(DIFFERENT)
    again = ask(ReplyStores(store, "other").of_episode(llm, "f", "t", 0), *reversed(DIFFERENT))
    assert again == [(text, True) for text, _ in reversed(first)]


@pytest.mark.parametrize(
    ("other", "greedy", "drawn"),
    [({}, True, True), ({"run": "q"}, True, False), ({"episode": "f"}, True, False), ({"scope": "t"}, True, False),
     ({"epoch": 1}, False, False), ({"name": "openai/b"}, False, False)],
)  # fmt: skip
def test_who_finds_a_reply_of_another(path: Path, other: dict[str, str | int], greedy: bool, drawn: bool) -> None:
    def is_replayed(
        temperature: float, run: str = "r", episode: str = "e", scope: str = "s", epoch: int = 0, **more: str
    ) -> bool:
        with contextlib.closing(ReplyStore(path)) as store:
            stores = ReplyStores(store, run)
            return ask(stores.of_episode(Counting(temperature, **more), episode, scope, epoch), request())[0][1]

    assert (is_replayed(0.0), is_replayed(0.7)) == (False, False)
    assert (is_replayed(0.0, **other), is_replayed(0.7, **other)) == (greedy, drawn)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_same_request_made_again_has_its_own_reply(store: ReplyStore, temperature: float) -> None:
    llm, stores = Counting(temperature), ReplyStores(store, "r")
    first = ask(stores.of_episode(llm, "e", "s", 0), request(), request("other"), request(), request())
    assert first == [(f"reply {n}", False) for n in (1, 2, 3, 4)]
    again = ask(stores.of_episode(llm, "e", "s", 0), request(), request("other"), request(), request(), request())
    assert again == [*((text, True) for text, _ in first), ("reply 5", False)]
    usage = stores.usage[llm.name]
    assert (usage.calls, usage.tokens) == (5, 25)  # what was really asked


def test_what_is_forgotten_is_the_episodes_private_replies(store: ReplyStore) -> None:
    drawn, greedy = Counting(0.7), Counting()

    def replayed(run_id: str, episode: str, llm: LLM) -> bool:
        return ask(ReplyStores(store, run_id).of_episode(llm, episode, "s", 0), request())[0][1]

    for run_id, episode, llm in [("r", "e", drawn), ("r", "f", drawn), ("q", "e", drawn), ("r", "e", greedy)]:
        assert not replayed(run_id, episode, llm)
    ReplyStores(store, "r").forget("e", "s")
    assert [replayed("r", "f", drawn), replayed("q", "e", drawn), replayed("r", "e", greedy)] == [True] * 3
    assert not replayed("r", "e", drawn)
