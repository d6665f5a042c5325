"""Arguments with which query APIs are tried: those that gold programs, records and schemas give, and some that a model
may make up.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.checks.calls import SECONDS, Call
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Step
from r_eval.tasks.base import installed, task_files
from r_eval.tasks.questions import read_questions

PROGRAMS = 30
"""Gold programs that are run for their calls."""
ODD: Mapping[str, tuple[Any, ...]] = {"string": ("", "no such thing", "\ud800 (\"'%"), "integer": (0, -1)}
"""By JSON type, what a model may write though it fits nothing."""


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
