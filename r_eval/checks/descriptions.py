"""Checks what an environment says of itself: what a model is told, and its records."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

from r_eval.checks.calls import attempt, folder_of
from r_eval.checks.finding import Finding, Severity
from r_eval.environments.base import Environment, threads
from r_eval.environments.schema import ApiSpec
from r_eval.environments.signatures import place_of
from r_eval.errors import UserError
from r_eval.isolation import describe
from r_eval.tasks.templates import read_templates

Records = dict[str, list[dict[str, Any]]]
"""By their kinds."""


@dataclasses.dataclass
class Subject:
    """An environment that is checked, called `target` in its findings, and where its parts are defined."""

    environment: Environment
    target: str

    def __post_init__(self) -> None:
        self.functions: dict[str, Callable[..., Any]] = type(self.environment).query_apis()
        self.whole = place_of(type(self.environment), self.target) if self.functions else self.target

    def at(self, place: str, severity: Severity, what: str, todo: str = "") -> Finding:
        """A finding at a place."""
        return Finding(self.target, place, severity, what, todo)

    def of(self, api: str, severity: Severity, what: str, todo: str = "", place: str = "") -> Finding:
        """A finding of one query API, at its definition where no other place is known."""
        return self.at(place or self.place(api), severity, f"query API {api}: {what}", todo)

    def place(self, api: str) -> str:
        """Where a query API is defined."""
        return place_of(self.functions[api], self.target) if api in self.functions else self.target


def described(subject: Subject) -> Iterator[Finding]:
    """What docstrings and signatures leave unsaid."""
    if not subject.environment.description.strip():
        text = "it has no docstring" if subject.functions else "it has no description"
        todo = "describe the domain in one sentence: it becomes part of the prompt"
        yield subject.at(subject.whole, "error", text, todo)
    if not subject.environment.specs():
        yield subject.at(subject.whole, "error", "it has no query API", "mark functions or methods with @query_api")
    for api, spec in subject.environment.specs().items():
        for found in _unsaid(spec, subject.functions.get(api)):
            yield subject.of(api, *found)


def _unsaid(spec: ApiSpec, function: Any) -> Iterator[tuple[Severity, str, str]]:
    """What one API leaves unsaid; `function` is None where it is declared by a schema."""
    if not spec.summary.strip():
        yield "error", "no docstring", "describe it in the first line: it becomes the tool's description"
    hints = inspect.get_annotations(function) if function is not None else None
    for name in (p.name for p in spec.parameters if not p.description):
        todo = f'add a line "{name}: ..." below "Args:"' if hints is not None else "add a description to its schema"
        yield "warning", f"the parameter {name} has no description", todo
    if hints is None:
        return
    for name in (p.name for p in spec.parameters if p.name not in hints):
        todo = "annotate it: without a type, arguments are not validated"
        yield "error", f"the parameter {name} has no type", todo
    if "return" not in hints:
        yield "warning", "no return type", "annotate it: PAL's prompt shows it"


async def check_records(subject: Subject, kinds: Sequence[str]) -> tuple[list[Finding], Records]:
    """Whether records are data in a fixed order, and the records.

    Args:
        kinds: Those that there must be. Others are known from template files beside the environment, and are guessed
            from the texts in the code of `records`.
    """
    method = type(subject.environment).records
    if method is Environment.records:
        todo = "define records(kind), which question templates use"
        severity: Severity = "warning" if subject.functions else "note"
        return [subject.at(subject.whole, severity, "it has no records for question templates", todo)], {}
    place = place_of(method, subject.target)
    findings: list[Finding] = []
    found: Records = {}
    needed = {*kinds, *_kinds_of_templates(subject.environment)}
    for kind in dict.fromkeys([*kinds, *sorted(needed), *_texts_in(method)]):
        tries = [await attempt(threads.run(subject.environment.records, kind)) for _ in range(2)]
        (value, error), (again, _) = tries
        wrong = f"raises {describe(error)}" if error else _wrong_records(value, again)
        if wrong and (kind in needed or not isinstance(error, KeyError)):
            todo = "return a list of dicts of text, numbers and lists in a fixed order; KeyError for an unknown kind"
            findings.append(subject.at(place, "error", f"records({kind!r}) {wrong}", todo))
        elif value and not wrong:
            found[kind] = value
    counts = ", ".join(f"{len(records):,} {kind}" for kind, records in found.items())
    return [*findings, subject.at(place, "note", f"records: {counts or 'none of a known kind'}")], found


def _wrong_records(records: Any, again: Any) -> str:
    """What is wrong with records, after their call; "" where nothing is."""
    if not isinstance(records, list):
        return f"returns a {type(records).__name__} instead of a list"
    try:
        text = json.dumps(records, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = ""
    if not (text and all(isinstance(record, dict) for record in records)):
        return "returns values that are not data"
    return "" if text == json.dumps(again, default=str) else "returns a different list on the second call"


def _kinds_of_templates(environment: Environment) -> list[str]:
    """The kinds of records that template files beside an environment are filled from."""
    kinds: list[str] = []
    folder = folder_of(environment)
    for path in sorted(folder.glob("*.yaml")) if folder else ():
        with contextlib.suppress(OSError, ValueError, UserError, yaml.YAMLError):
            if "templates:" in path.read_text(encoding="utf-8"):
                kinds += [kind for template in read_templates(path).templates for kind in template.kinds.values()]
    return kinds


def _texts_in(method: Any) -> list[str]:
    """Texts in the code of `records`, of which some are its kinds."""
    with contextlib.suppress(OSError, TypeError, SyntaxError):
        nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(method))))
        texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
        return [text for text in texts if isinstance(text, str) and text.isidentifier()]
    return []
