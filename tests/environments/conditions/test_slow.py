"""Calls that take longer."""

from __future__ import annotations

import asyncio
import time

import pytest

from r_eval.environments.conditions.slow import Slow
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import BOOKS, QUESTION, Shelves, recorded

SEEDS = Seeds(0, "q", 0)


def test_the_seconds_are_added_to_every_call_and_to_its_step() -> None:
    results, steps = recorded(Slow(0.05), [BOOKS] * 3)
    assert [result.error for result in results] == [None] * 3
    assert all(step.seconds >= 0.05 for step in steps)


def test_the_seconds_count_as_the_environments() -> None:
    async def made() -> float:
        with Sandbox() as sandbox:
            session = Session(Slow(0.05).environment(Shelves(), QUESTION, SEEDS), sandbox)
            await asyncio.gather(*(session.call(*BOOKS) for _ in range(2)))
            return session.seconds

    started = time.perf_counter()
    assert asyncio.run(made()) >= 0.1
    assert time.perf_counter() - started >= 0.05


def test_a_fixed_number_of_seconds_is_always_that_one() -> None:
    assert {Slow(2).drawn(SEEDS, call) for call in range(5)} == {2.0}


def test_spread_seconds_have_the_mean_and_the_least() -> None:
    slow = Slow({"mean": 2, "least": 0.5})
    drawn = [slow.drawn(SEEDS, call) for call in range(2000)]
    assert min(drawn) >= 0.5
    assert sum(drawn) / 2000 == pytest.approx(2, abs=0.15)
    assert [slow.drawn(SEEDS, call) for call in range(2000)] == drawn


@pytest.mark.parametrize(
    "seconds", [-1, float("inf"), "1", True, {"least": 1}, {"mean": 1, "most": 2}, {"mean": 1, "least": 2}]
)
def test_seconds_that_make_no_sense_are_refused(seconds: object) -> None:
    with pytest.raises(ValueError, match="seconds"):
        Slow(seconds)  # type: ignore[arg-type]


def test_a_fixed_number_and_a_mean_without_spread_are_the_same() -> None:
    assert Slow(1).identity() == Slow({"mean": 1, "least": 1}).identity()
