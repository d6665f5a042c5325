"""Attempts at a server: which failures are tried again, after which wait, and when to stop trying.

Connection errors, timeouts, 429 and 5xx are tried again with growing waits, bounded in number and in time. A server
that has failed many times in a row over some time counts as dead: attempts fail at once from then on, but for one now
and then that finds out whether it is back, so that a run does not wait out the retries of every episode that is left.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from r_eval.llms.base import LLMError, Reply

if TYPE_CHECKING:
    from tenacity import RetryCallState

ATTEMPTS = 8
MAX_SECONDS = 600.0
LONGEST_WAIT = 30.0


@dataclasses.dataclass(slots=True)
class Effort:
    """What a call took besides its generation, as `Reply` counts it."""

    retries: int = 0
    queue: float = 0.0
    retry: float = 0.0

    async def sleep(self, seconds: float) -> None:
        """Wait before another attempt."""
        started = time.monotonic()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.retry += time.monotonic() - started

    def of_reply(self, reply: Reply) -> Reply:
        """The reply with this effort on it."""
        if not (self.retries or self.queue or self.retry):
            return reply
        return dataclasses.replace(reply, retries=self.retries, queue=self.queue, retry=self.retry)

    def of_error(self, error: LLMError, name: str) -> LLMError:
        """The error with this effort on it, and the LLM's name before its message."""
        tries = f" ({self.retries + 1} attempts)" if self.retries else ""
        return LLMError(
            error.cause,
            f"{name}: {error}{tries}",
            wait=error.wait,
            parameter=error.parameter,
            retries=self.retries,
            queue=self.queue,
            retry=self.retry,
        )


async def with_retries(
    attempt: Callable[[], Awaitable[Reply]],
    effort: Effort,
    attempts: int = ATTEMPTS,
    worth: Callable[[LLMError], bool] = lambda error: error.retryable,
) -> Reply:
    """The reply of the first attempt that succeeds.

    Args:
        worth: Whether another attempt is worth making after an error.

    Raises:
        LLMError: That of the last attempt.
    """
    before = effort.retries
    try:
        return await attempt()
    except LLMError as error:
        if not worth(error) or attempts <= 1:
            raise
        first = error
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, stop_after_delay

    async for further in AsyncRetrying(
        stop=stop_after_attempt(attempts) | stop_after_delay(MAX_SECONDS),
        retry=retry_if_exception(lambda error: isinstance(error, LLMError) and worth(error)),
        wait=_wait,
        sleep=effort.sleep,
        reraise=True,
    ):
        with further:
            number = further.retry_state.attempt_number
            if number == 1:  # made above, since most calls need no policy for further ones
                raise first
            effort.retries = before + number - 1
            return await attempt()
    raise AssertionError("unreachable: tenacity returns or raises")


def _wait(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the server asked for, else 0.5, 1, 2, ... seconds."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait if isinstance(error, LLMError) else None
    return min(LONGEST_WAIT, asked if asked is not None else 0.5 * 2.0 ** (state.attempt_number - 1))


class CircuitBreaker:
    """Counts one server's failures in a row."""

    FAILURES = 8
    SECONDS = 30.0
    BETWEEN_PROBES = 30.0

    def __init__(self) -> None:
        self._failures = 0
        self._since = 0.0
        self._next_probe = 0.0

    @property
    def dead_for(self) -> float:
        """Seconds since the first failure of a server that counts as dead; 0 for one that does not."""
        seconds = time.monotonic() - self._since
        return seconds if self._failures >= self.FAILURES and seconds >= self.SECONDS else 0.0

    def allows(self) -> bool:
        """Whether an attempt may be made now."""
        if not self.dead_for:
            return True
        now = time.monotonic()
        if now < self._next_probe:
            return False
        self._next_probe = now + self.BETWEEN_PROBES
        return True

    def on_answer(self) -> None:
        """The server gave a sound answer, be it a refusal."""
        self._failures = 0

    def on_failure(self) -> None:
        """An attempt got no sound answer."""
        if self._failures == 0:
            self._since = time.monotonic()
        self._failures += 1
