"""Calls that fail at a rate."""

from __future__ import annotations

import asyncio

import pytest
from scipy.stats import binomtest

from r_eval.environments.base import TemporaryFailure
from r_eval.environments.conditions.faulty import Faulty
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import BOOKS, Call, Shelves, under


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 1.0])
def test_the_share_of_failures_is_the_rate_in_short_episodes_too(rate: float) -> None:
    async def failures(run: int) -> list[bool]:
        environment = Faulty(rate).environment(Shelves(), {}, Seeds(run, "q", 0)).open()
        found = []
        for _ in range(2):
            try:
                await environment.call("count", {})
                found.append(False)
            except TemporaryFailure:
                found.append(True)
        return found

    async def every() -> list[list[bool]]:
        return [await failures(run) for run in range(1500)]

    for column in zip(*asyncio.run(every()), strict=True):
        interval = binomtest(sum(column), len(column)).proportion_ci(0.999)
        assert interval.low <= rate <= interval.high


def test_an_episode_fails_the_same_way_whatever_is_called_and_another_epoch_another_way() -> None:
    def failures(calls: list[Call], epoch: int = 0) -> list[str]:
        results = under(Faulty(0.5), calls, epoch=epoch)
        assert {result.error for result in results} == {None, "temporary"}
        return [result.observation.replace("books", "count") for result in results if result.error]

    assert failures([BOOKS] * 30) == failures([("count", {})] * 30) != failures([BOOKS] * 30, epoch=1)
    for event in ("timed out", "failed with an error of the service"):
        wanted = f", of count, {event}. The same call may be made again."
        assert any(text.endswith(wanted) for text in failures([BOOKS] * 30))


@pytest.mark.parametrize(
    ("code", "rate", "answer", "cause"),
    [
        ("while True:\n    try:\n        answer = count()\n        break\n    except OSError: pass", 0.5, 7, ""),
        ("answer = count()", 1.0, None, "temporary"),
    ],
)
def test_a_program_can_catch_a_failure(code: str, rate: float, answer: object, cause: str, sandbox: Sandbox) -> None:
    environment = Faulty(rate).environment(Shelves(), {}, Seeds(0, "q", 0))
    result = asyncio.run(Session(environment, sandbox).run_program(code))
    assert (result.answer, result.error.cause if result.error else "") == (answer, cause)
