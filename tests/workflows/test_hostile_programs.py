"""A thousand hostile programs through PAL: all end within the limits, none reaches the machine, the run goes on."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import ProgramLimits, Sandbox
from r_eval.records import Episode, Question
from r_eval.workflows.base import Limits
from r_eval.workflows.pal import PAL
from tests.workflow_contract import Talker, play_episode
from tests.workflows.hostile import FAMILIES, programs

EACH = 60
WORKERS = 4
LIMITS = ProgramLimits(seconds=0.2, memory=16 * 1024 * 1024, calls=20)
LONGEST = 15.0
"""Seconds after which a program has not ended within its limits, on a machine that does much else."""

SECRET = "tulip-and-cinnabar"
VARIABLE = "R_EVAL_HOSTILE_TEST"
GOOD = "answer = [dish for dish in find_dish(name='o') if 'egg' in ingredients(dish=dish)][0]"


@pytest.fixture(scope="module")
def cage() -> Iterator[Sandbox]:
    with Sandbox(WORKERS, LIMITS) as opened:
        yield opened


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        opened.setblocking(False)
        yield opened


def run(codes: list[str], pantry: Environment, cage: Sandbox) -> list[Episode]:
    """An episode for each program, as many at once as the sandbox has workers."""
    programmer = Talker(lambda request: f"```python\n{request.messages[-1].content}\n```")
    places = asyncio.Semaphore(WORKERS)

    async def one(code: str) -> Episode:
        question = Question(id="q", question=code, answers=["omelette"], level="KS")
        async with places:
            return await play_episode(PAL(), programmer, pantry, Limits(seconds=60), cage, question, ())

    async def every() -> list[Episode]:
        return await asyncio.gather(*map(one, codes))

    return asyncio.run(every())


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_programs_end_within_their_limits_and_reach_nothing(
    family: str,
    pantry: Environment,
    cage: Sandbox,
    listener: socket.socket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, SECRET)
    before = dict(os.environ)
    codes = programs(family, EACH, folder=str(tmp_path), port=str(listener.getsockname()[1]), variable=VARIABLE)

    episodes = run(codes, pantry, cage)

    for code, episode in zip(codes, episodes, strict=True):
        what = f"{code}\n{episode.outcome} after {episode.seconds.total:.1f} s"
        assert episode.outcome.kind in ("finished", "tool_misuse"), what
        assert episode.seconds.total < LONGEST, what
        assert sum(step.kind == "call" for step in episode.steps) <= LIMITS.calls, what
        written = json.dumps([episode.answer, *(s.observation for s in episode.steps), episode.outcome.detail])
        assert SECRET not in written, what
        assert str(Path.home()) + "/" not in written, what
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]
    assert (tmp_path / "secret.txt").read_text(encoding="utf-8") == SECRET
    assert dict(os.environ) == before
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert [episode.answer for episode in run([GOOD] * WORKERS, pantry, cage)] == ["omelette"] * WORKERS
