"""Checks what an environment says of itself: what a model is told, the types of parameters, and its records."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import textwrap
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import docstring_parser
import yaml
from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from r_eval.checks.calls import attempt, key_of
from r_eval.checks.examples import folder_of
from r_eval.checks.finding import Finding, Severity
from r_eval.environments.base import Environment, threads
from r_eval.environments.schema import ApiSpec
from r_eval.environments.signatures import place_of
from r_eval.errors import UserError
from r_eval.isolation import describe
from r_eval.tasks.templates import read_templates

NO_KIND = "no such kind"
UNFIT = {set: "list", frozenset: "list", bytes: "str", bytearray: "str", memoryview: "str", complex: "float"}
"""Types that no JSON caller can give, and what to write instead."""
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
        return Finding(self.target, place, severity, what, todo)

    def of(self, api: str, severity: Severity, what: str, todo: str = "", place: str = "") -> Finding:
        """A finding of one query API, at its definition where no other place is known."""
        return self.at(place or self.place(api), severity, f"query API {api}: {what}", todo)

    def place(self, api: str) -> str:
        return place_of(self.functions[api], self.target) if api in self.functions else self.target


def described(subject: Subject) -> list[Finding]:
    """What docstrings and signatures leave unsaid, and types that no model can give."""
    findings = []
    if not subject.environment.description.strip():
        text = "it has no docstring" if subject.functions else "it does not say what it is"
        findings.append(subject.at(subject.whole, "error", text, "say in a sentence what it knows: models are told it"))
    specs = subject.environment.specs()
    if not specs:
        findings.append(
            subject.at(subject.whole, "error", "it has no query API", "mark functions or methods with @query_api")
        )
    for api, spec in specs.items():
        findings += [subject.of(api, *found) for found in _unsaid(spec, subject.functions.get(api))]
    return findings


def _unsaid(spec: ApiSpec, function: Any) -> Iterator[tuple[Severity, str, str]]:
    """What one API leaves unsaid; `function` is None where it is declared by a schema."""
    if not spec.summary.strip():
        yield "error", "no docstring", "say in its first line what it does: models are told it"
    hints = typing.get_type_hints(function) if function is not None else None
    for p in spec.parameters:
        if hints is not None and p.name not in hints:
            todo = "annotate it: without a type nothing checks what a model writes"
            yield "error", f"the parameter {p.name} has no type", todo
        if not p.description:
            todo = f'add a line "{p.name}: ..." below "Args:"' if hints is not None else "let its schema do so"
            yield "warning", f"nothing describes the parameter {p.name}", todo
        for kind in _unfit_types(hints.get(p.name)) if hints is not None else ():
            what = f"the parameter {p.name} is of a type that no JSON caller can give: {kind.__name__}"
            yield "error", what, f"take {UNFIT.get(kind, 'text, numbers, lists or dicts')}"
    if hints is None:
        return
    if "return" not in hints:
        yield "warning", "no return type", "annotate it: PAL programs are written from it"
    names = {p.name for p in spec.parameters}
    for one in docstring_parser.parse(inspect.getdoc(function) or "").params:
        if one.args[0] == "param" and one.arg_name not in names:
            text = f"the docstring describes {one.arg_name}, which is no parameter"
            yield "warning", text, f"the parameters are: {', '.join(names) or 'none'}"


def _unfit_types(annotation: Any) -> Iterator[type[Any]]:
    """The types in an annotation that JSON has nothing for."""
    origin = typing.get_origin(annotation)
    if origin in UNFIT:
        yield origin
    elif origin is typing.Literal:
        return
    elif origin is not None:
        for inner in typing.get_args(annotation):
            yield from _unfit_types(inner)
    elif annotation in UNFIT:
        yield annotation
    elif isinstance(annotation, type):
        try:
            TypeAdapter(annotation).json_schema()
        except PydanticUserError:
            yield annotation


async def check_records(subject: Subject, kinds: Sequence[str]) -> tuple[list[Finding], Records]:
    """Whether records are data in a fixed order, and the records.

    Args:
        kinds: Those that there must be. Others are known from template files beside the environment, and from texts in
            the code of `records`, if it refuses a kind that is not there.
    """
    method = type(subject.environment).records
    if method is Environment.records:
        if not subject.functions:
            return [subject.at(subject.target, "note", "it has no records, so no template can be filled from it")], {}
        todo = "define records(kind), from which question templates are filled"
        return [subject.at(subject.whole, "warning", "it has no records", todo)], {}

    async def records_of(kind: str) -> tuple[Any, BaseException | None]:
        return await attempt(threads.run(subject.environment.records, kind))

    place = place_of(method, subject.target)
    findings: list[Finding] = []
    found: Records = {}
    likely = [*kinds, *_kinds_of_templates(subject.environment)]
    value, error = await records_of(NO_KIND)
    if isinstance(error, KeyError):
        likely += _texts_in(method)
    else:
        what = f"raises {describe(error)}" if error else f"gives a {type(value).__name__}"
        todo = "raise KeyError: a misspelt kind in a template is found by that alone"
        findings.append(subject.at(place, "warning", f"for a kind that is not there records() {what}", todo))
    for kind in dict.fromkeys(likely):
        value, error = await records_of(kind)
        if isinstance(error, KeyError) and kind not in kinds:
            continue
        if error is not None:
            wrong, todo = f"raises {describe(error)}", "raise KeyError for a kind that is not there, nothing else"
        else:
            wrong = _wrong_records(value, (await records_of(kind))[0])
            todo = "give a list of dicts of text, numbers and lists, in a fixed order"
        if wrong:
            findings.append(subject.at(place, "error", f"records({kind!r}) {wrong}", todo))
        else:
            found[kind] = value
    counts = ", ".join(f"{len(records):,} {kind}" for kind, records in found.items())
    text = f"records: {counts}" if found else "records of no kind are known to the check"
    return [*findings, subject.at(place, "note", text)], found


def _wrong_records(records: Any, again: Any) -> str:
    """What is wrong with records, after their call; "" where nothing is."""
    if not isinstance(records, list):
        return f"gives a {type(records).__name__}, no list"
    try:
        plain = all(isinstance(record, dict) for record in records) and json.dumps(records, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        plain = False
    if not plain:
        return "gives what is no data"
    return "" if key_of(records) == key_of(again) else "gives another list when asked again"


def _kinds_of_templates(environment: Environment) -> list[str]:
    """The kinds of records that template files beside an environment are filled from."""
    kinds: list[str] = []
    folder = folder_of(environment)
    for path in sorted(folder.glob("*.yaml")) if folder else ():
        try:
            if "templates:" in path.read_text(encoding="utf-8"):
                kinds += [kind for t in read_templates(path).templates for kind in t.kinds.values()]
        except (OSError, ValueError, UserError, yaml.YAMLError):
            continue
    return kinds


def _texts_in(method: Any) -> list[str]:
    """Texts in the code of `records`, of which some are its kinds; for another it raises KeyError."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError):
        return []
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in texts if text.isidentifier()]
