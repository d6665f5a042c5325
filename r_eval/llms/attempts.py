"""Attempts at an LLM: which failures are tried again, after which wait, and when to stop trying.

Connection errors, timeouts, 429 and 5xx are tried again with growing waits, bounded in number and in time. A server
that has failed many times in a row over some time counts as dead: attempts fail at once from then on, but for one now
and then that finds out whether it is back, so that a run does not wait out the retries of every episode that is left.
What an LLM does not take is learnt from its refusal, and a request that was sent before the lesson is sent again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from collections.abc import Awaitable, Callable
from typing import ClassVar

from r_eval.llms import tokens
from r_eval.llms.base import LLMError, Reply, Request
from r_eval.llms.chat import Refusals, Refused, misread_call
from r_eval.llms.tool_calls import render_tools

ATTEMPTS = 8
MAX_SECONDS = 600.0
LONGEST_WAIT = 30.0


class Unreachable(LLMError):
    """Nothing answers at the address at all."""


class ServerDown(LLMError):
    """No server is asked for now: it has failed for so long, or the LLM is not open."""


@dataclasses.dataclass(slots=True)
class Effort:
    """What a call took besides its generation, as `Reply` counts it."""

    retries: int = 0
    queue: float = 0.0
    retry: float = 0.0

    async def sleep(self, seconds: float) -> None:
        """Wait before another attempt."""
        started = time.monotonic()
        await asyncio.sleep(seconds)
        self.retry += time.monotonic() - started
        self.retries += 1

    def of_reply(self, reply: Reply) -> Reply:
        """The reply with this effort on it."""
        return dataclasses.replace(reply, retries=self.retries, queue=self.queue, retry=self.retry)

    def of_error(self, error: LLMError, name: str) -> LLMError:
        """The error with this effort on it, and the LLM's name before its message."""
        error.retries, error.queue, error.retry = self.retries, self.queue, self.retry
        error.args = (f"{name}: {error}{f' ({self.retries + 1} attempts)' if self.retries else ''}",)
        return error


class Persistent:
    """What LLMs do that may fail or refuse a part of a request; a class names it before `LLM`."""

    RETRIED: ClassVar[frozenset[str]] = LLMError.RETRIED
    """Causes of failures that are tried again."""

    name: str
    native_tools: bool
    refusals: Refusals

    async def generate(self, request: Request, attempts: int | None = None) -> Reply:
        """Answer a request.

        Args:
            attempts: How many may fail, `ATTEMPTS` by default. A number means that a server must be there by now.

        Raises:
            LLMError: There is no reply, after all attempts.
        """
        effort = Effort()
        without_extra = False
        final = ServerDown if attempts is None else (ServerDown, Unreachable)

        def worth(error: LLMError) -> bool:
            return error.cause in self.RETRIED and not isinstance(error, final)

        while True:
            sent = render_tools(request) if request.tools and not self.native_tools else request
            refused = self.refusals.snapshot(without_extra)
            attempt = functools.partial(self._attempt, sent, refused, effort)
            try:
                reply = await with_retries(attempt, effort, attempts or ATTEMPTS, worth)
            except LLMError as error:
                has_extra = Refusals.has_extra(sent.messages) and not refused.extra
                if error.cause == "tool_call":
                    reply = misread_call(error, bool(sent.tools))
                elif error.cause == "parameter" and self._learn(error, sent, refused):
                    continue
                elif error.cause in ("request", "parameter") and has_extra:
                    without_extra = True  # perhaps it is something that came with an earlier reply
                    continue
                else:
                    raise effort.of_error(error, self.name) from None
            if without_extra:
                self.refusals.learn("extra", "it refuses what came with its own replies")
            return effort.of_reply(tokens.with_tokens(reply, sent))

    async def _attempt(self, sent: Request, refused: Refused, effort: Effort) -> Reply:
        """The reply to one attempt at a request, which leaves out what is refused."""
        raise NotImplementedError

    def _learn(self, error: LLMError, sent: Request, refused: Refused) -> bool:
        """Learn what the LLM does not take; whether a request without it is worth sending."""
        if error.parameter != "tools":
            return self.refusals.learn_from(error, sent, refused)
        if sent.tools and self.native_tools:
            self.native_tools = False
            self.refusals.learn("tools", str(error))
        return bool(sent.tools)


async def with_retries(
    attempt: Callable[[], Awaitable[Reply]], effort: Effort, attempts: int, worth: Callable[[LLMError], bool]
) -> Reply:
    """The reply of the first attempt that succeeds.

    Args:
        worth: Whether another attempt is worth making after an error.

    Raises:
        LLMError: That of the last attempt.
    """
    try:
        return await attempt()
    except LLMError as error:
        if attempts <= 1 or not worth(error):
            raise
        first = error
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, stop_after_delay

    await effort.sleep(_wait(first, 1))  # outside of the policy, which most calls do not need
    retrying = AsyncRetrying(
        stop=stop_after_attempt(attempts - 1) | stop_after_delay(MAX_SECONDS),
        retry=retry_if_exception(lambda error: isinstance(error, LLMError) and worth(error)),
        wait=lambda state: _wait(state.outcome.exception() if state.outcome else None, state.attempt_number + 1),
        sleep=effort.sleep,
        reraise=True,
    )
    return await retrying(attempt)


def _wait(error: BaseException | None, failed: int) -> float:
    """Seconds before the next attempt: what the server asked for, else 0.5, 1, 2, ... by how many have failed."""
    asked = error.wait if isinstance(error, LLMError) else None
    return min(LONGEST_WAIT, asked if asked is not None else 0.5 * 2.0 ** (failed - 1))


class CircuitBreaker:
    """Counts one server's failures in a row."""

    FAILURES = 8
    SECONDS = 30.0
    BETWEEN_PROBES = 30.0

    def __init__(self) -> None:
        self._failures = 0
        self._since = self._next_probe = 0.0

    def check(self, address: str) -> None:
        """See whether an attempt may be made now.

        Raises:
            ServerDown: It may not.
        """
        now = time.monotonic()
        if self._failures < self.FAILURES or now - self._since < self.SECONDS:
            return
        if now < self._next_probe:
            raise ServerDown("connection", f"{address} has been down for {now - self._since:.0f} s")
        self._next_probe = now + self.BETWEEN_PROBES

    def count(self, is_sound: bool) -> None:
        """Take note of an attempt: whether the server gave a sound answer, be it a refusal."""
        if not is_sound and not self._failures:
            self._since = time.monotonic()
        self._failures = 0 if is_sound else self._failures + 1
