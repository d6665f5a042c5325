"""Calls query APIs as a run does, in a session of their own, from threads that come and go; with arguments that gold
programs, records and schemas give, and with some that a model may make up.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import json
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from r_eval.environments.base import Environment, EnvironmentFailure, NotFound, ToolError, observed, threads
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import BadArguments, clip
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.isolation import ForeignExit, describe
from r_eval.records import Step
from r_eval.tasks.base import installed, task_files
from r_eval.tasks.questions import read_questions

Value = TypeVar("Value")
Call = tuple[str, dict[str, Any]]
"""A query API's name, and its arguments."""

SECONDS = 30.0
"""Longest wait for one call."""
PROGRAMS = 30
"""Gold programs that are run for their calls."""
ODD: Mapping[str, tuple[Any, ...]] = {"string": ("", "no such thing", "\ud800 (\"'%"), "integer": (0, -1)}
"""By JSON type, what a model may write though it fits nothing."""


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
                json.dumps(outcome.value, ensure_ascii=False).encode()
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


def folder_of(environment: Environment) -> Path | None:
    """The folder of an environment's own file; None for one that comes with R-Eval, or from no Python file."""
    if type(environment).__module__.startswith("r_eval."):
        return None
    try:
        return Path(inspect.getfile(type(environment))).parent
    except (OSError, TypeError):
        return None


def programs_for(environment: Environment, name: str) -> list[str]:
    """Gold programs of question files beside an environment, and of the installed tasks over it."""
    programs: list[str] = []
    folder = folder_of(environment)
    for path in sorted(folder.glob("*.jsonl")) if folder else ():
        with contextlib.suppress(UserError):  # another file, or one whose own check says more
            programs += [q.program for q in read_questions(path) if q.program][:PROGRAMS]
    for task in map(installed, task_files() if name and folder is None else ()):
        if task.environment == name and not task.settings:
            programs += [q.program for q in task.questions[:4] if q.program]
    return programs[:PROGRAMS]


async def calls_of(environment: Environment, programs: Iterable[str]) -> list[Call]:
    """The calls that gold programs make and that find something, in their order; as many as there is time for."""
    calls: list[Call] = []

    def learn(step: Step) -> None:
        if step.api and step.arguments is not None and not step.error:
            calls.append((step.api, step.arguments))

    with Sandbox(workers=1) as sandbox, contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            for program in programs:
                session = Session(environment, sandbox, learn)
                with contextlib.suppress(EnvironmentFailure):  # what the same call raises is found when it is made
                    await session.run_program(program)
                session.close()
    return calls


def known_calls(
    environment: Environment, records: Mapping[str, Sequence[Mapping[str, Any]]], calls: Sequence[Call]
) -> Iterator[Call]:
    """Calls that should find something, by records, by other calls with the same parameters, and by schemas.

    Parameters are named after the fields of records: the `id` of a dish is a `dish_id`, its `name` a `dish`.
    """
    rows: list[Mapping[str, Any]] = [*(arguments for _, arguments in calls), {}]
    for kind, some in records.items():
        names = {"title": kind, "name": kind, "id": f"{kind}_id"}
        rows[:0] = [{**one, **{name: one[key] for key, name in names.items() if key in one}} for one in some[:3]]
    for name, spec in environment.specs().items():
        schema = spec.json_schema()["properties"]
        named = {p.name: values[0] for p in spec.parameters if p.required and (values := _named(schema[p.name]))}
        for row in rows:
            arguments = {**named, **{p.name: row[p.name] for p in spec.parameters if p.name in row}}
            if all(p.name in arguments for p in spec.parameters if p.required):
                yield name, arguments


def odd_calls(environment: Environment, known: Sequence[Call]) -> Iterator[Call]:
    """Calls that a model may make though nothing has such a value: one such argument at a time."""
    for name, spec in environment.specs().items():
        schema = spec.json_schema()["properties"]
        odd = {p.name: _odd(schema[p.name]) for p in spec.parameters}
        good = next((arguments for api, arguments in known if api == name), {})
        base = {p.name: good.get(p.name, next(iter(odd[p.name]), None)) for p in spec.parameters if p.required}
        yield from ((name, {**base, key: value}) for key, values in odd.items() for value in values)
        if not spec.parameters:
            yield name, {}


def chosen(calls: Iterable[Call], most: int) -> list[Call]:
    """The calls in their order, none twice and so many of an API at most."""
    found: dict[str, Call] = {}
    number: Counter[str] = Counter()
    for api, arguments in calls:
        key = f"{api}{json.dumps(arguments, sort_keys=True, default=str)}"
        if key not in found and number[api] < most:
            number[api] += 1
            found[key] = api, arguments
    return list(found.values())


def _named(schema: Mapping[str, Any]) -> list[Any]:
    """Values that a schema names: those of an enum, examples, a default."""
    found = [*schema.get("enum", ()), *schema.get("examples", ())]
    found += [schema[key] for key in ("const", "default") if schema.get(key) is not None]
    return [*found, *(value for inner in schema.get("anyOf", ()) for value in _named(inner))]


def _odd(schema: Mapping[str, Any]) -> list[Any]:
    """Values of a schema's types that fit nothing."""
    found = [] if {"enum", "const"} & schema.keys() else ODD.get(str(schema.get("type")), ())
    return [*found, *(value for inner in schema.get("anyOf", ()) for value in _odd(inner))]
