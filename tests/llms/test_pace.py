"""How many requests are let through at once, and how many a minute."""

from __future__ import annotations

import asyncio
import time

import pytest

from r_eval.llms import pace
from r_eval.llms.pace import Pace


def test_no_more_are_under_way_than_connections() -> None:
    most = under_way = 0

    async def one(gate: Pace) -> None:
        nonlocal most, under_way
        async with gate.turn():
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.001)
            under_way -= 1

    async def all_of_them() -> None:
        gate = Pace(3)
        await asyncio.gather(*(one(gate) for _ in range(20)))

    asyncio.run(all_of_them())
    assert most == 3


def test_a_429_halves_the_connections() -> None:
    gate = Pace(16)
    gate.slow_down(time.monotonic())
    assert gate.allowed == 8


def test_many_429s_of_one_moment_count_once() -> None:
    gate = Pace(16)
    begun = time.monotonic()
    for _ in range(10):
        gate.slow_down(begun)
    assert gate.allowed == 8


def test_one_connection_is_always_left() -> None:
    gate = Pace(2)
    for _ in range(5):
        gate.slow_down(time.monotonic())
    assert gate.allowed == 1


def test_connections_grow_quickly_until_they_are_near_the_number_that_was_too_many() -> None:
    gate = Pace(16)
    gate.slow_down(time.monotonic())
    for _ in range(14):
        gate.went_well(0)
    assert gate.allowed == 13


def test_near_that_number_they_grow_by_one_a_round_of_good_replies() -> None:
    gate = Pace(16)
    gate.slow_down(time.monotonic())
    for _ in range(14 + 13 + 14):
        gate.went_well(0)
    assert gate.allowed == 15


def test_nothing_new_is_sent_for_as_long_as_the_server_asks() -> None:
    gate = Pace(4)
    gate.slow_down(time.monotonic(), 0.2)

    async def one() -> float:
        asked = time.monotonic()
        async with gate.turn() as begun:
            return begun - asked

    assert asyncio.run(one()) >= 0.19


def test_connections_never_grow_beyond_what_the_grid_allows() -> None:
    gate = Pace(2)
    for _ in range(100):
        gate.went_well(0)
    assert gate.allowed == 2


def begun(gate: Pace, count: int, tokens: int = 0) -> list[float]:
    """The moments at which so many attempts began, from the first."""

    async def main() -> list[float]:
        moments = []
        for _ in range(count):
            async with gate.turn() as moment:
                gate.went_well(tokens)
                moments.append(moment)
        return [moment - moments[0] for moment in moments]

    return asyncio.run(main())


def test_requests_a_minute_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "MINUTE", 0.6)
    moments = begun(Pace(4, requests=3), 7)
    assert (moments[2] < 0.5, moments[3] >= 0.6, moments[6] >= 1.2) == (True, True, True)


def test_tokens_a_minute_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "MINUTE", 0.6)
    moments = begun(Pace(4, tokens=100), 4, tokens=60)
    assert (moments[1] < 0.5, moments[2] >= 0.6) == (True, True)


def test_an_attempt_that_fails_gives_its_turn_back() -> None:
    async def main() -> int:
        gate = Pace(1)
        for _ in range(3):
            with pytest.raises(RuntimeError):
                async with gate.turn():
                    raise RuntimeError
        async with asyncio.timeout(1), gate.turn():
            return 1

    assert asyncio.run(main()) == 1
