"""Calls query APIs as a run does: in one session, in a second one, in two concurrent ones, and in another process."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, ToolError, observed, threads
from r_eval.environments.schema import ApiSpec, BadArguments, clip
from r_eval.isolation import ForeignExit, describe
from r_eval.tasks.base import open_environment

Value = TypeVar("Value")
Call = tuple[str, dict[str, Any]]
"""A query API's name, and its arguments."""

SECONDS = 30.0
"""Longest wait for one call."""
PROCESS_SECONDS = 300.0
TEXT = 100_000
"""Characters of an observation that are compared as they are, and not by a hash."""
CODE = "import sys; from r_eval.checks.calls import repeat; repeat(sys.argv[1])"


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
        printed: What it wrote to standard output.
        changes: What it changed that is not its own: "its arguments", "the working folder".
        others: Its text where the call was repeated, by where that was.
    """

    api: str
    arguments: dict[str, Any]
    value: Any = None
    observation: str = ""
    error: BaseException | None = None
    printed: str = ""
    changes: str = ""
    others: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def text(self) -> str:
        """What is compared: the observation, or the exception without the numbers of lines, threads and objects."""
        if isinstance(self.error, ToolError):
            return str(self.error)
        if self.error is not None:
            return re.sub(r"0x[0-9a-f]+|\d+", "#", describe(self.error))
        if len(self.observation) <= TEXT:
            return self.observation
        return f"{self.observation[:TEXT]} {hashlib.blake2b(self.observation.encode()).hexdigest()}"

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


def key_of(value: Any) -> str:
    """Text that is the same for the same data."""
    return json.dumps(to_jsonable_python(value, fallback=str), sort_keys=True, default=str)


async def _make(session: Environment, spec: ApiSpec, arguments: dict[str, Any]) -> CallOutcome | None:
    """Make a call; None where the arguments do not fit the signature, so that it is never made."""
    try:
        checked = spec.check(arguments)
    except BadArguments:
        return None
    outcome = CallOutcome(spec.name, arguments)
    before, start, folder = key_of(checked), len(_printed()), Path.cwd()
    outcome.value, outcome.error = await attempt(session.call(spec.name, checked))
    outcome.printed = _printed()[start:]
    outcome.changes = "its arguments" if key_of(checked) != before else ""
    if Path.cwd() != folder:
        outcome.changes = "the working folder"
        os.chdir(folder)
    if outcome.error is None:
        try:
            seen = observed(session, spec.name, outcome.value)
            outcome.value, outcome.observation = seen.value, seen.text or ""
            json.dumps(outcome.value, allow_nan=False, ensure_ascii=False).encode()
        except Exception as error:  # noqa: BLE001 - an environment may render by itself
            outcome.error = error
    return outcome


def _printed() -> str:
    """What was printed so far, where standard output is caught."""
    return str(sys.stdout.getvalue()) if hasattr(sys.stdout, "getvalue") else ""


async def make_calls(environment: Environment, calls: Sequence[Call], concurrent: bool) -> list[CallOutcome]:
    """Make those calls whose arguments fit, in their order in one session; then again in a second session, whose calls
    come from other threads.

    Args:
        concurrent: Whether they are made once more, in two sessions at the same time.
    """
    specs, session = environment.specs(), await hook("open()", environment.open)
    made: list[CallOutcome] = []
    stuck: set[str] = set()
    for api, arguments in calls:
        outcome = await _make(session, specs[api], arguments) if api in specs and api not in stuck else None
        if outcome is not None:
            made.append(outcome)
            stuck |= {api} if isinstance(outcome.error, Endless) else set()
    await hook("close()", session.close)
    again = [outcome for outcome in made if outcome.api not in stuck]
    is_over = threading.Event()
    busy = asyncio.ensure_future(threads.run(is_over.wait))  # the thread that the first session's calls came from
    try:
        await asyncio.sleep(0)
        await _repeat(environment, again, "in a second session")
    finally:
        is_over.set()
    await busy
    if concurrent:
        places = "beside another session", "beside another session that is ahead"
        await asyncio.gather(*(_repeat(environment, again, place, n * 0.005) for n, place in enumerate(places)))
    return made


async def _repeat(environment: Environment, made: Sequence[CallOutcome], place: str, wait: float = 0.0) -> None:
    """Make the same calls in a session of their own, begun so many seconds later."""
    await asyncio.sleep(wait)
    specs, session = environment.specs(), await hook("open()", environment.open)
    for outcome in made:
        again = await _make(session, specs[outcome.api], outcome.arguments)
        if again is not None:
            outcome.others[place] = again.text
    await hook("close()", session.close)


def in_another_process(name: str, settings: Mapping[str, Any], made: Sequence[CallOutcome]) -> str | None:
    """Make the same calls where the environment is opened anew and sets have another order.

    Calls and results go through files, so that whatever the environment prints does no harm.

    Returns:
        The environment's version there; None where that process came to no end.
    """
    variables = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    with tempfile.TemporaryDirectory() as folder:
        work = {"name": name, "settings": dict(settings), "calls": [(one.api, one.arguments) for one in made]}
        Path(folder, "calls.json").write_text(json.dumps(work, default=str), encoding="utf-8")
        command = [sys.executable, "-c", CODE, folder]
        try:
            subprocess.run(
                command,
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROCESS_SECONDS,
                check=True,
            )
            found = json.loads(Path(folder, "results.json").read_text(encoding="utf-8"))
        except (subprocess.SubprocessError, OSError):
            return None
    for outcome, text in zip(made, found["results"], strict=True):
        outcome.others["in another process"] = text
    return str(found["version"])


def repeat(folder: str) -> None:
    """What the other process does: from calls.json in the folder it makes results.json."""
    work = json.loads(Path(folder, "calls.json").read_text(encoding="utf-8"))
    environment = open_environment(work["name"], work["settings"])
    made = [CallOutcome(api, arguments) for api, arguments in work["calls"]]
    asyncio.run(_repeat(environment, made, "here"))
    results = {"version": environment.version, "results": [outcome.others["here"] for outcome in made]}
    Path(folder, "results.json").write_text(json.dumps(results), encoding="utf-8")
