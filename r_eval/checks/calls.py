"""Calls query APIs as a run does, in a session of their own, from threads that come and go."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from r_eval.environments.base import Environment, NotFound, ToolError, observed, threads
from r_eval.environments.schema import BadArguments, clip
from r_eval.isolation import ForeignExit, describe

Value = TypeVar("Value")
Call = tuple[str, dict[str, Any]]
"""A query API's name, and its arguments."""

SECONDS = 30.0
"""Longest wait for one call."""


class Endless(Exception):
    """Something did not end in time, and was given up."""


class HookFailure(Exception):
    """What an environment has besides query APIs, such as `open`, failed: nothing can be called."""


@dataclasses.dataclass
class CallOutcome:
    """What came of a call: the value as plain data with its text, or what was raised.

    Attributes:
        repeated: The text of the same call in a second session; None where it was made once.
    """

    api: str
    arguments: dict[str, Any]
    value: Any = None
    observation: str = ""
    error: BaseException | None = None
    repeated: str | None = None

    @property
    def text(self) -> str:
        """What is compared: the observation, or the exception without the numbers of lines, threads and objects."""
        if self.error is None or isinstance(self.error, ToolError):
            return self.observation if self.error is None else str(self.error)
        return re.sub(r"0x[0-9a-f]+|\d+", "#", describe(self.error))

    @property
    def is_empty(self) -> bool:
        """Whether it found nothing."""
        return isinstance(self.error, NotFound) or (self.error is None and self.value in (None, "", [], {}))

    def __str__(self) -> str:
        written = ", ".join(f"{name}={clip(repr(value))}" for name, value in self.arguments.items())
        return f"{self.api}({clip(written, 100)})"


async def attempt(work: Awaitable[Value]) -> tuple[Value | None, BaseException | None]:
    """What foreign code gives, or what it raises, whatever that is; `Endless` where nothing comes of it."""
    limit = asyncio.timeout(SECONDS)
    try:
        async with limit:
            return await work, None
    except BaseException as error:
        task = asyncio.current_task()
        if limit.expired():
            return None, Endless(f"nothing came within {SECONDS:g} s")
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return None, error.__cause__ if isinstance(error, ForeignExit) else error


async def hook(name: str, function: Callable[[], Value]) -> Value:
    """What a method of an environment that is no query API gives.

    Raises:
        HookFailure: It raised anything, or did not end.
    """
    value, error = await attempt(threads.run(function))
    if error is not None:
        raise HookFailure(f"{name} fails: {describe(error)}") from error
    return value  # type: ignore[return-value]  # there is one where there is no error


async def _in_session(environment: Environment, calls: Sequence[Call]) -> list[CallOutcome]:
    """Make those calls whose arguments fit in a session of their own; an API that did not end once is left alone."""
    specs, session = environment.specs(), await hook("open()", environment.open)
    made: list[CallOutcome] = []
    stuck: dict[str, BaseException] = {}
    for api, arguments in calls:
        try:
            checked = specs[api].check(arguments)
        except (KeyError, BadArguments):
            continue
        outcome = CallOutcome(api, arguments, error=stuck.get(api))
        made.append(outcome)
        if api not in stuck:
            outcome.value, outcome.error = await attempt(session.call(api, checked))
        if isinstance(outcome.error, Endless):
            stuck[api] = outcome.error
        elif outcome.error is None:
            try:
                seen = observed(session, api, outcome.value)
                outcome.value, outcome.observation = seen.value, seen.text or ""
                json.dumps(outcome.value, allow_nan=False, ensure_ascii=False).encode()
            except Exception as error:  # noqa: BLE001 - an environment may render by itself
                outcome.error = error
    await hook("close()", session.close)
    return made


async def make_calls(environment: Environment, calls: Sequence[Call]) -> list[CallOutcome]:
    """Make those calls whose arguments fit, in their order in one session, then again in one with another thread."""
    made = await _in_session(environment, calls)
    ended = [one for one in made if not isinstance(one.error, Endless)]
    is_over = threading.Event()
    busy = asyncio.ensure_future(threads.run(is_over.wait))  # the thread that the first session's calls came from
    try:
        await asyncio.sleep(0)
        again = await _in_session(environment, [(one.api, one.arguments) for one in ended])
    finally:
        is_over.set()
        await busy
    for one, other in zip(ended, again, strict=True):
        one.repeated = other.text
    return made
