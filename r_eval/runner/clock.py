"""The seconds of actual work in an episode, and the limit on them.

Work is what calls took that came back: waits for a turn, a retry or a place do not count, and a replayed reply
counts with the seconds that it took when it was made. So an episode meets its limit after the same call, whatever the
reply store holds and however busy the machine is. What a workflow or an environment does between two calls of the LLM
is ended where it takes as long as the whole limit.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from r_eval.workflows.base import LimitReached


class Clock:
    """The clock of one episode.

    Args:
        limit: Seconds of work; None for no limit.

    Attributes:
        is_over: Whether the workflow has ended, or is waited for no longer.
    """

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._work = 0.0
        self._stops = 0
        self._deadline: asyncio.Timeout | None = None
        self.is_over = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Raise TimeoutError within where as much time as the limit passes between two calls."""
        async with asyncio.timeout(self._limit) as self._deadline:
            try:
                yield
            finally:
                self.is_over = True  # what a workflow left behind may still make calls

    @property
    def expired(self) -> bool:
        """Whether it was this clock that raised a TimeoutError."""
        return self._deadline is not None and self._deadline.expired()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stand still while the LLM, a query API or a place in the sandbox is waited for; such waits may overlap."""
        self._stops += 1
        self._reschedule()
        try:
            yield
        finally:
            self._stops -= 1
            self._reschedule()

    def charge(self, seconds: float) -> None:
        """Count the work of a call that came back.

        Raises:
            LimitReached: That is more than the limit.
        """
        self._work += max(0.0, seconds)
        if self._limit is not None and self._work > self._limit:
            raise LimitReached("seconds", f"more than {self._limit:g} s")

    def _reschedule(self) -> None:
        if self._deadline is None or self._limit is None or self.is_over or self._deadline.expired():
            return
        self._deadline.reschedule(None if self._stops else asyncio.get_running_loop().time() + self._limit)
