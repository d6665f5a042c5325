"""Calls query APIs as a run does: in one session, in a second one, and in two concurrent ones."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from r_eval.environments.base import Environment, ToolError, observed, threads
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
    """What came of a call.

    Attributes:
        value: As plain data.
        observation: As a model would read it; "" where there is none.
        error: What was raised, or what is wrong with the value.
        others: Its text where the call was repeated, by where that was.
    """

    api: str
    arguments: dict[str, Any]
    value: Any = None
    observation: str = ""
    error: BaseException | None = None
    others: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def text(self) -> str:
        """What is compared: the observation, or the exception without the numbers of lines, threads and objects."""
        if self.error is None or isinstance(self.error, ToolError):
            return self.observation if self.error is None else str(self.error)
        return re.sub(r"0x[0-9a-f]+|\d+", "#", describe(self.error))

    @property
    def call(self) -> str:
        """The call as a person would write it."""
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


async def _in_session(environment: Environment, calls: Sequence[Call], wait: float = 0.0) -> list[CallOutcome]:
    """Make those calls whose arguments fit in a session of their own, begun so many seconds later; an API that did not
    end once is not called again.
    """
    await asyncio.sleep(wait)
    specs, session = environment.specs(), await hook("open()", environment.open)
    made: list[CallOutcome] = []
    stuck: dict[str, Endless] = {}
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


async def make_calls(environment: Environment, calls: Sequence[Call], concurrent: bool) -> list[CallOutcome]:
    """Make those calls whose arguments fit, in their order in one session; then again in a second session, whose calls
    come from other threads.

    Args:
        concurrent: Whether they are made once more, in two sessions at the same time.
    """
    made = await _in_session(environment, calls)
    stuck = {one.api for one in made if isinstance(one.error, Endless)}
    again = [one for one in made if one.api not in stuck]

    async def repeated(place: str, wait: float = 0.0) -> None:
        others = await _in_session(environment, [(one.api, one.arguments) for one in again], wait)
        for one, other in zip(again, others, strict=True):
            one.others[place] = other.text

    is_over = threading.Event()
    busy = asyncio.ensure_future(threads.run(is_over.wait))  # the thread that the first session's calls came from
    try:
        await asyncio.sleep(0)
        await repeated("in a second session")
    finally:
        is_over.set()
    await busy
    if concurrent:
        await asyncio.gather(
            repeated("beside another session"), repeated("beside another session that is ahead", 0.005)
        )
    return made
