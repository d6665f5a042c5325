"""A thousand episodes against a server that fails in every way at a rate of 30 %: nothing is lost, no score changes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from r_eval import Grid, arun
from r_eval.analysis.scoring import score_episode
from r_eval.llms import attempts
from r_eval.records import Episode

FAULTS = ("429", "500", "dropped", "stalled", "broken json", "no choice", "wrong type")
TIMEOUT = 2.0
"""Seconds; longer than a busy machine lets an answer wait."""
EPOCHS = 7


class Server:
    """Answers by the question alone, so that the replies are the same however often it fails before."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.chance = random.Random(7)
        self.failed = 0
        self.answered = 0
        self.seen: set[str] = set()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if "tests the connection" in body["messages"][0]["content"]:
            return web.json_response(reply("ready"))
        if self.chance.random() < self.rate:
            self.failed += 1
            fault = self.chance.choice(FAULTS)
            self.seen.add(fault)
            return await self.fault(fault, request)
        self.answered += 1
        return web.json_response(reply(body["messages"][-1]["content"]))

    async def fault(self, fault: str, request: web.Request) -> web.StreamResponse:
        if fault == "429":
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0"})
        if fault == "500":
            return web.Response(status=500, text="<html>oops</html>", content_type="text/html")
        if fault == "broken json":
            return web.Response(text='{"choices": [{"mess', content_type="application/json")
        if fault == "no choice":
            return web.json_response({"choices": []})
        if fault == "wrong type":
            return web.Response(text="<p>hello</p>", content_type="text/html")
        stream = web.StreamResponse(headers={"Content-Length": "1000"})
        await stream.prepare(request)
        await stream.write(b'{"choices": ')
        if fault == "stalled":
            await asyncio.sleep(4.0)
        assert request.transport is not None
        request.transport.abort()
        return stream


def reply(question: str) -> dict[str, Any]:
    digest = hashlib.sha256(question.encode()).hexdigest()
    text = "yes" if digest[0] in "01234567" else f"{int(digest[:4], 16) % 3000}"
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}


async def episodes(server: Server, out: Path) -> list[Episode]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    grid = Grid(
        workflows=["direct"],
        llms=[{"llm": "openai/stub", "base_url": url, "connections": 32, "timeout": TIMEOUT}],
        tasks=["wiki/high-freq", "wiki/hotpotqa", "aminer/soay-*"],
        epochs=EPOCHS,
    )
    try:
        return list((await arun(grid, out)).episodes())
    finally:
        await runner.cleanup()


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Server, list[Episode], list[Episode]]:
    """The stormy server, its episodes, and those of a faultless one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts, "LONGEST_WAIT", 0.01)
        patch.setattr(attempts, "ATTEMPTS", 14)
        stormy = Server(0.3)
        rough = asyncio.run(episodes(stormy, tmp_path_factory.mktemp("storm") / "run"))
        calm = asyncio.run(episodes(Server(0.0), tmp_path_factory.mktemp("calm") / "run"))
    return stormy, rough, calm


def test_the_server_failed_in_every_way(storm: tuple[Server, list[Episode], list[Episode]]) -> None:
    assert storm[0].seen == set(FAULTS)


def test_every_episode_is_recorded_once(storm: tuple[Server, list[Episode], list[Episode]]) -> None:
    ids = [e.episode_id for e in storm[1]]
    assert (len(ids), len(set(ids))) == (160 * EPOCHS, 160 * EPOCHS)


def test_every_episode_finished(storm: tuple[Server, list[Episode], list[Episode]]) -> None:
    assert {e.outcome.kind for e in storm[1]} == {"finished"}


def test_the_scores_are_those_of_a_faultless_server(storm: tuple[Server, list[Episode], list[Episode]]) -> None:
    rough, calm = ({e.episode_id: score_episode(e)["score"] for e in found} for found in storm[1:])
    assert rough == calm


def test_every_failed_attempt_is_in_the_records(storm: tuple[Server, list[Episode], list[Episode]]) -> None:
    assert sum(e.usage.retries for e in storm[1]) == storm[0].failed


def test_no_answered_call_is_made_twice(storm: tuple[Server, list[Episode], list[Episode]]) -> None:
    assert storm[0].answered == 160 * EPOCHS


def test_the_records_are_json_lines(storm: tuple[Server, list[Episode], list[Episode]]) -> None:
    assert json.loads(storm[1][0].model_dump_json())["schema"] == 1
