"""A thousand episodes against a server that fails in every way at a rate of 30 %: nothing is lost, no score changes."""

from __future__ import annotations

import asyncio
import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from r_eval import Grid, arun
from r_eval.analysis.scoring import score_episode
from r_eval.llms import attempts
from r_eval.records import Episode
from tests.chat_server import Server

FAULTS: dict[str, dict[str, Any]] = {
    "429": {"text": '{"error": {"message": "slow down"}}', "status": 429, "headers": {"Retry-After": "0"}},
    "500": {"text": "<html>oops</html>", "status": 500, "content_type": "text/html"},
    "broken json": {"text": '{"choices": [{"mess', "content_type": "application/json"},
    "no choice": {"text": '{"choices": []}', "content_type": "application/json"},
    "wrong type": {"text": "<p>hello</p>", "content_type": "text/html"},
    "dropped": {},
    "stalled": {},
}
TIMEOUT = 2.0
"""Seconds; longer than a busy machine lets an answer wait."""


class Storm(Server):
    """Answers by the question alone, so that the replies are the same however often it fails before."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate, self.chance = rate, random.Random(7)
        self.failed = self.answered = 0
        self.seen: set[str] = set()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if "tests the connection" in body["messages"][0]["content"]:
            return web.json_response(reply("ready"))
        if self.chance.random() < self.rate:
            self.failed += 1
            fault = self.chance.choice([*FAULTS])
            self.seen.add(fault)
            return await self.fault(fault, request)
        self.answered += 1
        return web.json_response(reply(body["messages"][-1]["content"]))

    async def fault(self, fault: str, request: web.Request) -> web.StreamResponse:
        if answer := FAULTS[fault]:
            return web.Response(**answer)
        stream = web.StreamResponse(headers={"Content-Length": "1000"})
        await stream.prepare(request)
        await stream.write(b'{"choices": ')
        if fault == "stalled":
            await asyncio.sleep(4.0)
        if request.transport is not None:
            request.transport.abort()
        return stream


def reply(question: str) -> dict[str, Any]:
    digest = hashlib.sha256(question.encode()).hexdigest()
    text = "yes" if digest[0] in "01234567" else f"{int(digest[:4], 16) % 3000}"
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}


async def episodes(server: Storm, out: Path) -> list[Episode]:
    runner = await server.start()
    grid = Grid(
        workflows=["direct"],
        llms=[{"llm": "openai/stub", "base_url": server.url, "connections": 32, "timeout": TIMEOUT}],
        tasks=["wiki/high-freq", "wiki/hotpotqa", "aminer/soay-*"],
        epochs=3,
    )
    try:
        return list((await arun(grid, out)).episodes())
    finally:
        await runner.cleanup()


def test_a_storm_loses_no_episode_and_changes_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 0.01)
    monkeypatch.setattr(attempts, "ATTEMPTS", 14)
    server = Storm(0.3)
    rough = asyncio.run(episodes(server, tmp_path / "storm"))
    calm = asyncio.run(episodes(Storm(0.0), tmp_path / "calm"))
    assert server.seen == set(FAULTS)
    assert len(rough) == len({e.episode_id for e in rough}) == len(calm) >= 1000
    assert {e.outcome.kind for e in rough} == {"finished"}
    scores, expected = ({e.episode_id: score_episode(e)["score"] for e in found} for found in (rough, calm))
    assert scores == expected
    assert sum(e.usage.retries for e in rough) == server.failed
    assert server.answered == len(calm), "an answered call was made again"
