"""Attempts at an LLM: which failures are tried again, after which wait, and when to stop trying.

Connection errors, timeouts, 429 and 5xx are tried again with growing waits, bounded in number and in time. What an LLM
does not take is learnt from its refusal, and a request that was sent before that is sent again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from r_eval.llms import tokens
from r_eval.llms.base import LLMError, Reply, Request, ToolCall
from r_eval.llms.call_arguments import UNREADABLE
from r_eval.llms.chat import Refused, chat_body
from r_eval.llms.tool_calls import render_tools

logger = logging.getLogger("r_eval")

ATTEMPTS = 8
MAX_SECONDS = 600.0
LONGEST_WAIT = 30.0
INSTEAD: Mapping[str, str] = {
    "tools": "tools are described in the prompt",
    "system": "system messages are a part of the user's",
    "max_tokens": "max_tokens is called max_completion_tokens",
    "extra": "keys of its own earlier replies are not sent back",
}
"""What is done about a refusal, if it is more than leaving a parameter out."""


class Unreachable(LLMError):
    """No server answers at the address."""


class ServerDown(LLMError):
    """Another attempt is not worth making: the server has failed for a long time, or the LLM is not open."""


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


class Persistent:
    """A mixin, named before `LLM`, for LLMs that may fail or refuse a part of a request.

    Attributes:
        refused: What a body that is built now leaves out.
    """

    RETRIED: ClassVar[frozenset[str]] = LLMError.RETRIED
    """Causes of failures that are tried again."""

    name: str
    native_tools: bool
    adaptations: dict[str, str]
    refused: Refused = Refused()

    async def generate(self, request: Request, attempts: int | None = None) -> Reply:
        """Answer a request.

        Args:
            attempts: How many may fail, `ATTEMPTS` by default. With a number, a server that is not there is not waited
                for.

        Raises:
            LLMError: There is no reply, after all attempts.
        """
        effort, without_extra = Effort(), False
        while True:
            sent = render_tools(request) if request.tools and not self.native_tools else request
            refused = self.refused.without("extra") if without_extra else self.refused
            try:
                reply = await self._retried(functools.partial(self._attempt, sent, refused, effort), effort, attempts)
            except LLMError as error:
                error.__traceback__ = error.__context__ = None  # its frames hold the answer, which may have 16 MB
                if error.cause == "tool_call":  # its server could not read it: the model's own turn
                    calls = (ToolCall("", "", {}, UNREADABLE),) if sent.tools else ()
                    reply = Reply(error.text, calls, "tool_calls" if calls else "stop", estimated=True)
                elif error.cause == "parameter" and self._learn_from(error, sent, refused):
                    continue
                elif error.cause in ("request", "parameter") and self._matters("extra", sent, refused):
                    without_extra = True  # perhaps it is something that came with an earlier reply
                    continue
                else:
                    error.retries, error.queue, error.retry = effort.retries, effort.queue, effort.retry
                    tried = f" ({effort.retries + 1} attempts)" if effort.retries else ""
                    error.args = (f"{self.name}: {error}{tried}",)
                    raise error from None
            if without_extra:
                self.learn("extra", "it refuses what came with its own replies")
            used = tokens.estimate(sent, reply) if reply.estimated else reply.tokens
            return dataclasses.replace(
                reply, tokens=used, retries=effort.retries, queue=effort.queue, retry=effort.retry
            )

    async def _retried(self, attempt: Callable[[], Awaitable[Reply]], effort: Effort, attempts: int | None) -> Reply:
        """The reply of the first attempt that succeeds."""
        final = ServerDown if attempts is None else (ServerDown, Unreachable)

        def may_pass(error: BaseException) -> bool:
            return isinstance(error, LLMError) and error.cause in self.RETRIED and not isinstance(error, final)

        try:
            return await attempt()
        except LLMError as error:
            if attempts == 1 or not may_pass(error):
                raise
            wait = _wait(error, 1)
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, stop_after_delay

        await effort.sleep(wait)  # outside of the policy, which takes time and which most calls do not need
        policy = AsyncRetrying(
            stop=stop_after_attempt((attempts or ATTEMPTS) - 1) | stop_after_delay(MAX_SECONDS),
            retry=retry_if_exception(may_pass),
            wait=lambda state: _wait(state.outcome.exception() if state.outcome else None, state.attempt_number + 1),
            sleep=effort.sleep,
            reraise=True,
        )
        return await policy(attempt)

    async def _attempt(self, sent: Request, refused: Refused, effort: Effort) -> Reply:
        """The reply to one attempt at a request, which leaves out what is refused."""
        raise NotImplementedError

    def _body(self, sent: Request, refused: Refused) -> dict[str, Any]:
        """The body of a request, without what is refused."""
        return chat_body(self, sent, refused)  # type: ignore[arg-type]  # a subclass is an LLM

    def _matters(self, what: str, sent: Request, refused: Refused) -> bool:
        """Whether a body without one thing more would be different."""
        return self._body(sent, refused) != self._body(sent, refused.without(what))

    def _learn_from(self, error: LLMError, sent: Request, refused: Refused) -> bool:
        """Learn what the LLM does not take; whether a request without it is worth sending."""
        is_sent = self._matters(error.parameter, sent, refused)
        if is_sent:
            self.learn(error.parameter, str(error))
        return is_sent

    def learn(self, what: str, reason: str, is_noted: bool = True) -> None:
        """Leave something out from now on; by default that is noted, and warned about."""
        if what in self.adaptations:
            return
        if is_noted:
            self.adaptations[what] = reason = " ".join(reason.split())[:200]
            logger.warning("%s: %s: %s", self.name, INSTEAD.get(what, f"{what} is not sent"), reason)
        self.native_tools = self.native_tools and what != "tools"
        self.refused = self.refused.without(what)


def _wait(error: BaseException | None, failed: int) -> float:
    """Seconds before the next attempt: what the server asked for, else 0.5, 1, 2, ... by how many have failed."""
    wait = error.wait if isinstance(error, LLMError) else None
    return min(LONGEST_WAIT, wait if wait is not None else 0.5 * 2.0 ** (failed - 1))
