"""How many requests are let through at once, and how many a minute."""

from __future__ import annotations

import asyncio
import time

import pytest

from r_eval.llms import rate_limit
from r_eval.llms.rate_limit import AdaptiveLimiter


async def passed(limiter: AdaptiveLimiter, tokens: int = 0, seconds: float = 0.0) -> float:
    """The seconds that one waits for its turn; it lasts so long."""
    asked = time.monotonic()
    turn = await limiter.acquire(tokens)
    waited = time.monotonic() - asked
    await asyncio.sleep(seconds)
    limiter.on_success(turn, tokens)
    limiter.release()
    return waited


def slowed(connections: int, times: int = 1) -> AdaptiveLimiter:
    """A limiter after as many moments at which two requests were answered with 429, which counts once."""
    limiter = AdaptiveLimiter(connections)

    async def slow_down() -> None:
        for _ in range(times):
            turns = [await limiter.acquire() for _ in range(min(2, limiter.allowed))]
            for turn in turns:
                limiter.on_rate_limit(turn)
                limiter.release()

    asyncio.run(slow_down())
    return limiter


@pytest.mark.parametrize(("connections", "refusals", "allowed"), [(3, 0, 3), (16, 1, 8), (4, 9, 1)])
def test_no_more_requests_than_allowed_are_in_flight_and_the_oldest_goes_first(
    connections: int, refusals: int, allowed: int
) -> None:
    limiter = slowed(connections, refusals)
    order: list[int] = []
    in_flight: list[int] = []

    async def one(number: int) -> None:
        await limiter.acquire()
        order.append(number)
        in_flight.append(in_flight[-1] + 1 if in_flight else 1)
        await asyncio.sleep(0.001)
        in_flight.append(in_flight[-1] - 1)
        limiter.release()

    async def main() -> None:
        await asyncio.gather(*(one(i) for i in range(50)))

    asyncio.run(main())
    assert (max(in_flight), limiter.allowed, sorted(order)) == (allowed, allowed, list(range(50)))
    assert refusals or order == sorted(order)


def test_a_waiter_that_is_cancelled_hands_its_place_on() -> None:
    async def waited() -> float:
        limiter = AdaptiveLimiter(1)
        await limiter.acquire()
        waiting = [asyncio.ensure_future(passed(limiter)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        limiter.release()
        waiting[1].cancel()
        return await asyncio.wait_for(waiting[2], 5)

    assert asyncio.run(waited()) < 1


@pytest.mark.parametrize(("replies", "allowed"), [(0, 8), (8, 9), (8 + 9, 10), (100, 16)])
def test_connections_grow_by_one_for_each_round_of_good_replies(replies: int, allowed: int) -> None:
    limiter = slowed(16)

    async def replied() -> None:
        for _ in range(replies):
            await passed(limiter)

    asyncio.run(replied())
    assert limiter.allowed == allowed


@pytest.mark.parametrize(
    ("limits", "tokens"), [({"requests": 4}, 0), ({"tokens": 400}, 100)], ids=["requests a minute", "tokens a minute"]
)
def test_limits_a_minute_hold_before_the_calls_are_made(
    limits: dict[str, int], tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "MINUTE", 0.4)

    async def all_of_them() -> list[float]:
        limiter = AdaptiveLimiter(12, **limits)
        return sorted(await asyncio.gather(*(passed(limiter, tokens, 0.01) for _ in range(12))))

    began = asyncio.run(all_of_them())
    assert began[3] < 0.4 <= began[4] + 0.01
    assert began[8] >= 0.79


@pytest.mark.parametrize(
    ("tokens", "counted", "following", "waits"),
    [(90, 10, 90, False), (90, 0, 90, True), (50, 50, 1000, True)],
    ids=["as counted", "as estimated", "larger than the limit"],
)
def test_tokens_count_as_the_server_says_and_a_large_request_waits_for_an_empty_minute(
    tokens: int, counted: int, following: int, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "MINUTE", 0.5)

    async def second() -> float:
        limiter = AdaptiveLimiter(4, tokens=100)
        turn = await limiter.acquire(tokens)
        limiter.on_success(turn, counted)
        limiter.release()
        return await passed(limiter, following)

    assert (0.4 < asyncio.run(second()) < 3) is waits
