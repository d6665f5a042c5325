"""A thousand episodes against a server that fails in every way at a rate of 30 %: nothing is lost, no score changes."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, arun
from r_eval.analysis.scoring import score_episode
from r_eval.llms import attempts
from r_eval.records import Episode
from tests.chat_server import USED, Answer, Server, bad, good

FAULTS = {
    "429": bad(429, "slow down", Retry_After="0"),
    "500": Answer(500, "<html>oops</html>", content_type="text/html"),
    "broken json": Answer(body='{"choices": [{"mess'),
    "no choice": Answer(body={"choices": []}),
    "wrong type": Answer(body="<p>hello</p>", content_type="text/html"),
    "dropped": Answer(body='{"choices": ', drop=True),
    "stalled": Answer(body='{"choices": ', drop=True, seconds=4.0),
}
TIMEOUT = 2.0
"""Seconds; longer than a busy machine lets an answer wait."""


class Storm(Server):
    """Answers by the question alone, so that the replies are the same however often it fails before."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate, self.chance = rate, random.Random(7)
        self.answered, self.failures = 0, Counter[str]()

    def _next(self, body: dict[str, Any], opening: bool) -> Answer:
        if opening:
            return good("ready", usage=USED)
        if self.chance.random() < self.rate:
            fault = self.chance.choice([*FAULTS])
            self.failures[fault] += 1
            return FAULTS[fault]
        self.answered += 1
        digest = hashlib.sha256(body["messages"][-1]["content"].encode()).hexdigest()
        return good("yes" if digest[0] in "01234567" else f"{int(digest[:4], 16) % 3000}", usage=USED)


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
    assert server.failures.keys() == FAULTS.keys()
    assert len(rough) == len({e.episode_id for e in rough}) == len(calm) >= 1000
    assert {e.outcome.kind for e in rough} == {"finished"}
    scores, expected = ({e.episode_id: score_episode(e)["score"] for e in found} for found in (rough, calm))
    assert scores == expected
    assert sum(e.usage.retries for e in rough) == server.failures.total()
    assert server.answered == len(calm), "an answered call was made again"
