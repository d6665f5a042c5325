"""Calls that fail at a rate."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scipy.stats import binomtest

from r_eval.environments.base import TemporaryFailure
from r_eval.environments.conditions.base import ConditionInput
from r_eval.environments.conditions.faulty import CUT, Faulty, failed
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.records import Step
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import BOOKS, Shelves, recorded, under


def failures(faulty: Faulty, episodes: int, calls: int) -> list[list[bool]]:
    """Which calls of each episode fail."""

    async def row(run: int) -> list[bool]:
        environment = faulty.environment(Shelves(), ConditionInput(), Seeds(run, "q", 0)).open()
        found = []
        for _ in range(calls):
            try:
                await environment.call("count", {})
                found.append(False)
            except TemporaryFailure:
                found.append(True)
        return found

    async def every() -> list[list[bool]]:
        return [await row(run) for run in range(episodes)]

    return asyncio.run(every())


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 1.0])
def test_the_share_of_failures_is_the_rate_in_short_episodes_too(rate: float) -> None:
    rows = failures(Faulty(rate, ("error",)), 1500, 2)
    for column in zip(*rows, strict=True):
        interval = binomtest(sum(column), len(column)).proportion_ci(0.999)
        assert interval.low <= rate <= interval.high


@pytest.mark.parametrize(
    ("kind", "event"), [("error", "failed with an error of the service"), ("timeout", "timed out")]
)
def test_a_failed_call_is_an_observation_that_says_it_may_be_made_again(kind: str, event: str) -> None:
    (result,) = under(Faulty(1.0, kinds=(kind,)), [BOOKS])  # type: ignore[arg-type]
    assert (result.error, result.value) == ("temporary", None)
    assert result.observation == f"Call 1, of books, {event}. The same call may be made again."


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (BOOKS, None, ["Ada 0", "Ada 1", "Ada 2", "Ada 3", "Ada 4"]),
        (("go", {"shelf": 3}), None, {"before": 0, "now": "the shelf of", "books": ["one"]}),
        (("count", {}), "temporary", None),
        (("books", {"author": "nobody"}), "temporary", None),
    ],
    ids=["a list", "a record", "a number", "nothing"],
)
def test_a_truncated_result_is_its_first_part_and_says_so(call: Any, error: str | None, part: Any) -> None:
    (result,) = under(Faulty(1.0, kinds=("truncated",)), [call])
    assert (result.error, result.observation.startswith(CUT)) == (error, error is None)
    if isinstance(part, list):
        assert 0 < len(result.value) < 10
        assert result.value == [f"Ada {number}" for number in range(len(result.value))]
    elif part:
        assert "the shelf of that number".startswith(result.value["now"])
        assert {**result.value, "now": part["now"]} == part


def test_all_kinds_happen_and_the_steps_tell_every_failure() -> None:
    results, steps = recorded(Faulty(0.5), [BOOKS] * 60)
    assert [failed(step) for step in steps] == [one.error is not None or len(one.value) < 10 for one in results]
    texts = [result.observation for result in results]
    for words in ("timed out", "an error", CUT):
        assert 0 < sum(words in text for text in texts) < 30
    assert not failed(Step(kind="thought", text=CUT, observation=CUT))


def test_an_episode_fails_the_same_way_whatever_is_called_and_another_epoch_another_way() -> None:
    def errors(calls: list[tuple[str, dict[str, object]]], epoch: int = 0) -> list[str | None]:
        return [result.error for result in under(Faulty(0.5, kinds=("error",)), calls, epoch=epoch)]

    assert errors([BOOKS] * 30) == errors([("count", {})] * 30) != errors([BOOKS] * 30, epoch=1)


@pytest.mark.parametrize(
    ("code", "rate", "answer", "cause"),
    [
        ("while True:\n    try:\n        answer = count()\n        break\n    except OSError: pass", 0.5, 7, ""),
        ("answer = count()", 1.0, None, "temporary"),
    ],
)
def test_a_program_can_catch_a_failure(code: str, rate: float, answer: object, cause: str, sandbox: Sandbox) -> None:
    environment = Faulty(rate, kinds=("error",)).environment(Shelves(), ConditionInput(), Seeds(0, "q", 0))
    result = asyncio.run(Session(environment, sandbox).run_program(code))
    assert (result.answer, result.error.cause if result.error else "") == (answer, cause)
