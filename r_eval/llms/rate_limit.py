"""How many requests an LLM gets at once, and how many requests and tokens per minute.

A 429 halves the number of requests at once (once for all that were in flight when it came); every full round of good
replies then allows one more, up to the grid's number. Limits per minute are enforced by spacing: a request is counted
before it is sent, with an estimate of its tokens, and waits until the last minute has room for it.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import time

MINUTE = 60.0


@dataclasses.dataclass(slots=True)
class Turn:
    """A request: when it started, and its tokens (estimated until the reply has counted them)."""

    at: float
    tokens: int


class AdaptiveLimiter:
    """The gate that every attempt of an LLM passes.

    Args:
        connections: Attempts in flight at most.
        requests: Attempts per minute at most; None for no limit.
        tokens: Tokens per minute at most, prompt and completion; None for no limit.

    Attributes:
        allowed: Attempts in flight at most, at this moment.
    """

    def __init__(self, connections: int, requests: int | None = None, tokens: int | None = None) -> None:
        self.connections, self.requests, self.tokens = connections, requests, tokens
        self.allowed = connections
        self._places = asyncio.Semaphore(connections)
        self._too_many = self._good = 0  # places of the semaphore that go as they become free; good replies in a row
        self._last_decrease = 0.0
        self._minute = asyncio.Lock()
        self._last_minute: collections.deque[Turn] = collections.deque()

    async def acquire(self, tokens: int = 0) -> Turn:
        """Wait for a turn; it ends with `release`.

        Args:
            tokens: What the request is estimated to take; looked at only where tokens are limited.
        """
        await self._places.acquire()
        while self._too_many:
            self._too_many -= 1
            await self._places.acquire()
        turn = Turn(time.monotonic(), tokens)
        if self.requests is None and self.tokens is None:
            return turn
        try:
            async with self._minute:  # one waits for the minute, the others for that one
                while (wait := self._wait(tokens)) > 0:
                    await asyncio.sleep(wait)
                turn.at = time.monotonic()
                self._last_minute.append(turn)
        except asyncio.CancelledError:
            self.release()
            raise
        return turn

    def release(self) -> None:
        """An attempt is over, or there is one place more."""
        if self._too_many:
            self._too_many -= 1
        else:
            self._places.release()

    def on_success(self, turn: Turn, tokens: int) -> None:
        """A good reply came, with the tokens that it really took; 0 where the server does not count them."""
        turn.tokens = tokens or turn.tokens
        self._good += 1
        if self._good >= self.allowed < self.connections:
            self._good = 0
            self.allowed += 1
            self.release()

    def on_rate_limit(self, turn: Turn) -> None:
        """A 429 came; attempts that started before the last decrease do not count."""
        if turn.at >= self._last_decrease:
            self._last_decrease, self._good, before = time.monotonic(), 0, self.allowed
            self.allowed = max(1, before // 2)
            self._too_many += before - self.allowed

    def _wait(self, tokens: int) -> float:
        """Seconds until the last minute has room for a request; one that is larger than the limit waits for all."""
        now, minute = time.monotonic(), self._last_minute
        while minute and minute[0].at <= now - MINUTE:
            minute.popleft()
        is_full = self.requests is not None and len(minute) >= self.requests
        if self.tokens is not None and sum(one.tokens for one in minute) + tokens > self.tokens:
            is_full = True
        return max(0.0, minute[0].at + MINUTE - now) if minute and is_full else 0.0
