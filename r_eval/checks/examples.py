"""Arguments with which query APIs are tried: what gold programs, docstrings, schemas and records give, and what a model
may come up with though nothing has it.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.checks.calls import SECONDS, Call, key_of
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec, BadArguments
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Step
from r_eval.tasks.base import installed, task_files
from r_eval.tasks.questions import read_questions

PROGRAMS = 30
"""Gold programs that are run for their calls."""
KNOWN = 8
"""Calls of an API with arguments that should find something."""
ODD: Mapping[str, tuple[Any, ...]] = {
    "string": ("", "no such thing", "\ud800 (\"'%", "x" * 5_000),
    "integer": (0, -1),
    "number": (-1.0,),
    "array": ([],),
}
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
        try:
            programs += [q.program for q in read_questions(path) if q.program][:PROGRAMS]
        except UserError:  # another file, or one whose own check says more
            continue
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
    """Calls that should find something, by docstrings, schemas, records, and other calls with the same parameters."""
    rows = [_row(kind, record) for kind, some in records.items() for record in some[:3]]
    rows += [arguments for _, arguments in calls]
    for name, spec in environment.specs().items():
        schema = spec.json_schema()["properties"]
        options = {p.name: _options(schema[p.name]) for p in spec.parameters}
        required = [p.name for p in spec.parameters if p.required]
        tried = [*_in_docstring(spec, environment.query_apis().get(name))]
        for row in rows:
            tried.append({key: value for key, value in row.items() if key in options})
        if all(options[key] for key in required):
            tried.append({key: options[key][0] for key in required})
        first = next((one for one in tried if all(key in one for key in required)), None)
        if first is not None:
            tried += [{**first, key: value} for key, values in options.items() for value in values]
        yield from ((name, one) for one in tried if all(key in one for key in required))


def odd_calls(environment: Environment, known: Sequence[Call]) -> Iterator[Call]:
    """Calls that a model may make though nothing has such a value: one such argument at a time."""
    for name, spec in environment.specs().items():
        schema = spec.json_schema()["properties"]
        odd = {p.name: _odd(schema[p.name]) for p in spec.parameters}
        first = {key: values[0] for key, values in odd.items() if values}
        good = next((arguments for api, arguments in known if api == name), {})
        base = {p.name: good.get(p.name, first.get(p.name)) for p in spec.parameters if p.required}
        yield from ((name, {**base, key: value}) for key, values in odd.items() for value in values)
        if not spec.parameters:
            yield name, {}


def chosen(calls: Iterable[Call], most: int) -> list[Call]:
    """The calls in their order, none twice and so many of an API at most."""
    found: dict[str, Call] = {}
    number: dict[str, int] = {}
    for api, arguments in calls:
        key = f"{api}{key_of(arguments)}"
        if key not in found and number.get(api, 0) < most:
            number[api] = number.get(api, 0) + 1
            found[key] = api, arguments
    return list(found.values())


def _row(kind: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """A record's fields as parameters are named after them: the `id` of a dish is a `dish_id`, its name a `dish`."""
    row = dict(record)
    for field, name in (("title", kind), ("name", kind), ("id", f"{kind}_id")):
        if field in record:
            row[name] = record[field]
    return row


def _in_docstring(spec: ApiSpec, function: Any) -> Iterator[dict[str, Any]]:
    """Arguments of the calls that stand as examples in a docstring, each in a line of its own."""
    for line in (inspect.getdoc(function) or "").split("\n"):
        start = line.find(f"{spec.name}(")
        try:
            call = ast.parse(line[start:].strip(), mode="eval").body if start >= 0 else None
            if isinstance(call, ast.Call):
                named = {key.arg: ast.literal_eval(key.value) for key in call.keywords if key.arg}
                yield spec.bind([ast.literal_eval(value) for value in call.args], named)
        except (SyntaxError, ValueError, RecursionError, MemoryError, BadArguments):
            continue


def _branches(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for key in ("anyOf", "oneOf"):
        for inner in schema.get(key, ()):
            yield from _branches(inner)


def _options(schema: Mapping[str, Any]) -> list[Any]:
    """Values that a schema names: those of an enum, examples, the default."""
    found: list[Any] = []
    for branch in _branches(schema):
        found += [*branch.get("enum", ()), *branch.get("examples", ())]
        found += [branch[key] for key in ("const", "example", "default") if key in branch]
        found += [True, False] if branch.get("type") == "boolean" else []
    return [value for value in found if value is not None]


def _odd(schema: Mapping[str, Any]) -> list[Any]:
    if any("enum" in branch or "const" in branch for branch in _branches(schema)):
        return []
    return [value for branch in _branches(schema) for value in ODD.get(str(branch.get("type")), ())]
