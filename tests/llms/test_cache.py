"""Replies that outlive runs: when they are found, when not, and what is kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from r_eval import Grid, arun
from r_eval.llms.answers import Memory, Spent
from r_eval.llms.base import LLM, Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.cache import EpisodeCache, ReplyCache, cache_file
from r_eval.llms.explain import explain
from r_eval.llms.make import make
from r_eval.llms.replies import digest
from r_eval.records import Tokens

ASK = Request((Message("user", "Where is Kenya?"),))
TOOL = ToolSpec("Search", "Find a page.", {"type": "object", "properties": {}})


class Server:
    """Says what the number of the call makes it say, so that a reply made twice would be seen."""

    def __init__(self) -> None:
        self.asked = 0
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> Any:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.chat)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        Server.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()

    port = 0

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        text = "ready"
        if "tests the connection" not in body["messages"][0]["content"]:
            self.asked += 1
            text = f"Finish[{self.asked}]"
        message = {"message": {"content": text}, "finish_reason": "stop"}
        return web.json_response({"choices": [message], "usage": {"prompt_tokens": 10, "completion_tokens": 3}})


def runs(tmp_path: Path, *changes: dict[str, Any], **options: Any) -> tuple[Server, list[Path]]:
    """The folders of runs, one after the other, that differ from a plain one as they are told to."""
    Server.port = 0

    async def main() -> tuple[Server, list[Path]]:
        server, folders = Server(), []
        async with server.running():
            for i, change in enumerate(changes):
                llm = {"llm": "openai/some-model", "base_url": server.url, "price": {"prompt": 1.0, "completion": 1.0}}
                llm |= change.get("llm", {})
                asked = {"workflows": ["react"], "tasks": ["wiki/high-freq"], "samples": 3, "limits": {"steps": 2}}
                grid = Grid(llms=[llm], **{**asked, **{k: v for k, v in change.items() if k != "llm"}})
                folders.append((await arun(grid, tmp_path / f"run{i}", **options)).path)
        return server, folders

    return asyncio.run(main())


def lines(folder: Path) -> list[str]:
    """The records of a run, without the times."""
    text = "".join(p.read_text(encoding="utf-8") for p in sorted((folder / "episodes").rglob("*.jsonl")))
    return re.sub(r'"(seconds|total|llm|environment|queue|retry)":[\d.e-]+', "", text).splitlines()


def spent(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "run.json").read_text(encoding="utf-8"))["spent"]
    return dict(found["openai/some-model"])


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    server, (first, second) = runs(tmp_path, {}, {})
    assert server.asked == 3
    assert (spent(first)["calls"], spent(second)["calls"]) == (3, 0)


def test_a_cached_run_has_the_bytes_of_the_run_that_made_its_replies(tmp_path: Path) -> None:
    _, (first, second) = runs(tmp_path, {}, {})
    assert lines(first) == lines(second)
    assert len(lines(first)) == 3


def test_hits_are_counted_and_cost_nothing(tmp_path: Path) -> None:
    _, (first, second) = runs(tmp_path, {}, {})
    counted = ("calls", "cached", "cost")
    assert {key: spent(first)[key] for key in counted} == {"calls": 3, "cached": 0, "cost": pytest.approx(3 * 13 / 1e6)}
    assert {key: spent(second)[key] for key in counted} == {"calls": 0, "cached": 3, "cost": 0.0}
    assert spent(second)["tokens"] == 0 < spent(first)["tokens"]


def test_without_the_cache_every_call_is_made(tmp_path: Path) -> None:
    server, _ = runs(tmp_path, {}, {}, cache=False)
    assert server.asked == 6
    assert not cache_file().exists()


def test_replies_that_are_drawn_by_lot_are_not_kept(tmp_path: Path) -> None:
    server, _ = runs(tmp_path, {"llm": {"temperature": 0.7}}, {"llm": {"temperature": 0.7}})
    assert server.asked == 6


def test_replies_that_are_drawn_by_lot_are_kept_where_the_user_says_so(tmp_path: Path) -> None:
    server, _ = runs(tmp_path, {"llm": {"temperature": 0.7}}, {"llm": {"temperature": 0.7}}, cache=True)
    assert server.asked == 3


@pytest.mark.parametrize(
    "change",
    [
        {"llm": {"llm": "openai/another-model"}},
        {"llm": {"max_tokens": 99}},
        {"shots": 0},
        {"epochs": 2},
    ],
)
def test_whatever_can_change_a_reply_is_part_of_its_key(change: dict[str, Any], tmp_path: Path) -> None:
    server, _ = runs(tmp_path, {}, change)
    assert server.asked == 6


def test_a_name_of_the_users_own_changes_no_reply(tmp_path: Path) -> None:
    server, _ = runs(tmp_path, {}, {"llm": {"name": "mine"}})
    assert server.asked == 3


# What is kept


class Says(LLM):
    """Answers with the replies that it was given, one after the other."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__("says", "says", {})
        self.replies = list(replies)

    async def generate(self, request: Request) -> Reply:
        return self.replies.pop(0)


def asked_twice(*replies: Reply) -> tuple[Reply, Reply]:
    """The replies to the same request in two runs."""

    async def main() -> tuple[Reply, Reply]:
        llm = Says(*replies)
        with contextlib.closing(ReplyCache("run")) as cache:
            memory = Memory(cache=cache)
            one, two = (memory.of_episode(llm, "episode", "scope", 0) for _ in range(2))
            return (await one.answer(ASK))[0], (await two.answer(ASK))[0]

    return asyncio.run(main())


@pytest.mark.parametrize("reply", [Reply("Kenya"), Reply("", (ToolCall("a", "Search", {}),), "tool_calls")])
def test_a_whole_reply_is_kept(reply: Reply) -> None:
    assert asked_twice(reply, Reply("another")) == (reply, reply)


@pytest.mark.parametrize(
    "reply",
    [Reply("cut", finish="length"), Reply(""), Reply("no", finish="refusal"), Reply("x", finish="content_filter")],
)
def test_a_reply_that_is_not_whole_is_not_kept(reply: Reply) -> None:
    assert asked_twice(reply, Reply("another"))[1] == Reply("another")


def test_the_same_request_made_twice_in_an_episode_has_two_replies() -> None:
    async def main() -> list[str]:
        with contextlib.closing(ReplyCache("run")) as cache:
            said = []
            for llm in (Says(Reply("one"), Reply("two")), Says()):
                answers = Memory(cache=cache).of_episode(llm, "episode", "scope", 0)
                said += [(await answers.answer(ASK))[0].text for _ in range(2)]
            return said

    assert asyncio.run(main()) == ["one", "two", "one", "two"]


def test_a_reply_costs_what_the_llm_says() -> None:
    async def main() -> Spent:
        llm = make("gguf/smollm2-135m", {"price": {"prompt": 1.0, "completion": 2.0}})
        llm.generate = Says(Reply("x", tokens=Tokens(prompt=1_000_000))).generate  # type: ignore[method-assign]
        memory = Memory()
        await memory.of_episode(llm, "episode", "scope", 0).answer(ASK)
        return memory.spent[llm.name]

    assert asyncio.run(main()) == Spent(1, 0, 1.0, 1_000_000)


def fill(path: Path, start: int) -> None:
    """Keep five hundred replies, from a process of its own."""
    with contextlib.closing(ReplyCache("run", path)) as cache:
        for i in range(start, start + 500):
            episode = EpisodeCache(cache, Says(), 0)
            episode.put(episode.asked(Request((Message("user", f"{i}"),))), Reply(f"{i}"), 0.1)


def test_several_processes_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=fill, args=(path, n * 250)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    with contextlib.closing(ReplyCache("run", path)) as cache:
        assert cache.store.count() == 1250


# Why a reply was not found


def why(*changes: tuple[LLM, Request, int]) -> list[Any]:
    """Reasons for the misses of a second run; the first change makes the first run."""
    with contextlib.closing(ReplyCache("first")) as cache:
        for name, (llm, request, epoch) in zip(["first", *["second"] * len(changes)], changes, strict=False):
            cache.run = name
            episode = EpisodeCache(cache, llm, epoch)
            episode.put(episode.asked(request), Reply("x"), 0.0)
        return explain(cache.store, "second")


def test_a_setting_that_differs_is_named_with_both_values() -> None:
    old, new = make("gguf/smollm2-135m"), make("gguf/smollm2-135m", {"max_tokens": 99})
    (miss,) = why((old, ASK, 0), (new, ASK, 0))
    assert miss.differences == ("max_tokens: 512 before, 99 now",)


def test_the_first_message_that_differs_is_named() -> None:
    told = Request((*ASK.messages, Message("assistant", "In Africa."), Message("user", "And Ghana?")))
    other = Request((*ASK.messages, Message("assistant", "In the east."), Message("user", "And Ghana?")))
    (miss,) = why((Says(), told, 0), (Says(), other, 0))
    assert miss.differences == ("messages: the first that differs is number 2 (of 3)",)


def test_tools_and_epoch_that_differ_are_named() -> None:
    (miss,) = why((Says(), ASK, 0), (Says(), Request(ASK.messages, tools=(TOOL,)), 1))
    assert miss.differences == (
        "epoch: 0 before, 1 now",
        "tools: other tools are offered, or described in other words",
    )


def test_misses_for_the_same_reason_are_counted_together() -> None:
    other = Request((Message("user", "Where is Ghana?"),))
    plain, longer = make("gguf/smollm2-135m"), make("gguf/smollm2-135m", {"max_tokens": 99})
    with contextlib.closing(ReplyCache("first")) as cache:
        for cache.run, llm in (("first", plain), ("second", longer)):
            for request in (ASK, other):
                episode = EpisodeCache(cache, llm, 0)
                episode.put(episode.asked(request), Reply("x"), 0.0)
        (miss,) = explain(cache.store, "second")
    assert (miss.calls, miss.differences) == (2, ("max_tokens: 512 before, 99 now",))


def test_without_anything_like_it_there_is_no_difference_to_tell() -> None:
    with contextlib.closing(ReplyCache("only")) as cache:
        episode = EpisodeCache(cache, Says(), 0)
        episode.put(episode.asked(ASK), Reply("x"), 0.0)
        assert [(m.calls, m.differences) for m in explain(cache.store, "only")] == [(1, ())]


def test_a_key_does_not_depend_on_the_order_of_its_parts() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
