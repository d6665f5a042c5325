"""How many requests an LLM gets at once, and how many a minute.

The number of connections adapts as congestion control does: a 429 halves it (once for all that were under way when it
came). Good replies then allow more quickly, until it is near the number that was too many; from there on every full
round of them allows one more, up to what the grid allows. Limits a minute are kept by
spacing: a request waits until the last minute holds less than the limit.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import time
from collections.abc import AsyncIterator

MINUTE = 60.0
NEAR = 0.8
"""From which share of the number that was too many on it is near."""
QUICKER = 4
LONGEST_PAUSE = 1.0


class Pace:
    """The gate that every attempt of an LLM passes.

    Args:
        connections: Attempts under way at most.
        requests: Attempts a minute at most; None for no limit.
        tokens: Tokens a minute at most, as the server counts them; None for no limit.

    Attributes:
        allowed: Attempts under way at most, at this moment.
    """

    def __init__(self, connections: int, requests: int | None = None, tokens: int | None = None) -> None:
        self.connections, self.requests, self.tokens = connections, requests, tokens
        self.allowed = connections
        self._under_way = 0
        self._good = 0
        self._narrowed = 0.0
        self._too_many = 0
        self._closed_until = 0.0
        self._free = asyncio.Condition()
        self._starts: collections.deque[float] = collections.deque()
        self._used: collections.deque[tuple[float, int]] = collections.deque()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Wait for a turn, and hold it; gives the moment at which it began."""
        async with self._free:
            await self._free.wait_for(lambda: self._under_way < self.allowed)
            self._under_way += 1
        try:
            await self._minute()
            yield time.monotonic()
        finally:
            async with self._free:
                self._under_way -= 1
                self._free.notify_all()

    def went_well(self, tokens: int) -> None:
        """A good reply came."""
        if self.tokens is not None:
            self._used.append((time.monotonic(), tokens))
        self._good += 1
        near = self.allowed >= NEAR * self._too_many
        if self._good >= (self.allowed if near else self.allowed / QUICKER) and self.allowed < self.connections:
            self._good = 0
            self.allowed += 1

    def slow_down(self, begun: float, wait: float = 0.0) -> None:
        """A 429 came to an attempt that began at a moment; those that began before the last narrowing do not count.

        Args:
            wait: Seconds for which the server wants no more; nothing new is sent for so long, a second at most.
        """
        self._closed_until = max(self._closed_until, time.monotonic() + min(wait, LONGEST_PAUSE))
        if begun >= self._narrowed:
            self._narrowed = time.monotonic()
            self._good = 0
            self._too_many = self.allowed
            self.allowed = max(1, self.allowed // 2)

    async def _minute(self) -> None:
        """Wait until the server and the limits a minute allow one more attempt, and count it."""
        while (wait := self._wait(time.monotonic())) > 0:
            await asyncio.sleep(wait)
        if self.requests is not None:
            self._starts.append(time.monotonic())

    def _wait(self, now: float) -> float:
        while self._starts and self._starts[0] <= now - MINUTE:
            self._starts.popleft()
        while self._used and self._used[0][0] <= now - MINUTE:
            self._used.popleft()
        waits = [0.0, self._closed_until - now]
        if self.requests is not None and len(self._starts) >= self.requests:
            waits.append(self._starts[0] + MINUTE - now)
        if self.tokens is not None and sum(count for _, count in self._used) >= self.tokens:
            waits.append(self._used[0][0] + MINUTE - now)
        return max(waits)
