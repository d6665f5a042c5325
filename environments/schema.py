"""What a query API's signature and docstring say, in every form in which a model or a person reads it.

One `ApiSpec` gives the JSON schema for function calling, the one-line action description for ReAct, the Python stub
for PAL, and the argument check whose error message a model can act on.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any

import docstring_parser
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

MISSING = inspect.Parameter.empty


class BadArguments(Exception):
    """The arguments do not fit the signature; the message says which, and what was expected."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a query API; `default` is `MISSING` where the argument must be given."""

    name: str
    annotation: Any
    default: Any
    description: str

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def signature(self) -> str:
        """As it stands in a Python stub."""
        text = f"{self.name}: {type_name(self.annotation)}"
        return text if self.required else f"{text} = {self.default!r}"


@dataclasses.dataclass(frozen=True)
class ApiSpec:
    """A query API as data."""

    name: str
    summary: str
    details: str
    parameters: tuple[Parameter, ...]
    returns: Any
    model: type[BaseModel]

    def json_schema(self) -> dict[str, Any]:
        """The parameters as a JSON schema object, as function calling wants it."""
        schema = self.model.model_json_schema()
        for name, entry in schema.get("properties", {}).items():
            entry.pop("title", None)
            text = next(p.description for p in self.parameters if p.name == name)
            if text:
                entry["description"] = text
        schema.pop("title", None)
        schema.pop("description", None)
        schema.setdefault("properties", {})
        return schema

    def stub(self) -> str:
        """The API as a Python function without a body."""
        arguments = ", ".join(p.signature for p in self.parameters)
        lines = [self.summary, *(f"    {p.name}: {p.description}" for p in self.parameters if p.description)]
        doc = "\n    ".join(lines)
        return f'def {self.name}({arguments}) -> {type_name(self.returns)}:\n    """{doc}"""'

    def action(self) -> str:
        """The API as one line of an action list."""
        arguments = ", ".join(p.name if p.required else f"{p.name}?" for p in self.parameters)
        return f"{self.name}({arguments}): {self.summary}"

    def bind(self, positional: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Positional arguments put under their names.

        Raises:
            BadArguments: There are more than the API takes, or one is given twice.
        """
        if len(positional) > len(self.parameters):
            raise BadArguments(
                f"{self.name} takes at most {len(self.parameters)} arguments, {len(positional)} were given"
            )
        bound = {p.name: value for p, value in zip(self.parameters, positional, strict=False)}
        twice = sorted(bound.keys() & named.keys())
        if twice:
            raise BadArguments(f"{self.name}: argument '{twice[0]}' was given twice")
        return bound | named

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the method's keyword arguments, coerced where that is safe ("3" to 3).

        Raises:
            BadArguments: One is unknown, missing or of a wrong type.
        """
        names = [p.name for p in self.parameters]
        for name in arguments:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1, 0.5)
                hint = f" Did you mean '{close[0]}'?" if close else ""
                takes = ", ".join(names) or "none"
                raise BadArguments(f"{self.name} has no argument '{clip(name)}'.{hint} Its arguments: {takes}.")
        try:
            checked = self.model.model_validate(arguments)
        except ValidationError as error:
            raise BadArguments(self._complaint(error)) from None
        return {name: getattr(checked, name) for name in names if name in checked.model_fields_set}

    def _complaint(self, error: ValidationError) -> str:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "missing":
            takes = ", ".join(p.signature for p in self.parameters)
            return f"{self.name} needs the argument '{name}'. Its arguments: {takes}."
        expected = next((type_name(p.annotation) for p in self.parameters if p.name == name), "another type")
        return f"{self.name}: argument '{name}' must be {expected}, not {clip(repr(first.get('input')))}."


def clip(text: str, length: int = 80) -> str:
    """Text for a message, never longer than a line."""
    return text if len(text) <= length else text[: length - 1] + "…"


def type_name(annotation: Any) -> str:
    """An annotation as a person writes it: `str | None`, `list[Person]`."""
    if annotation is MISSING:
        return "Any"
    if annotation is type(None):
        return "None"
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is not None and args:
        if not isinstance(origin, type) or origin.__name__ in ("Union", "UnionType"):
            if origin is typing.Literal:
                return "Literal[" + ", ".join(repr(a) for a in args) + "]"
            return " | ".join(type_name(a) for a in args)
        return f"{origin.__name__}[{', '.join(type_name(a) for a in args)}]"
    return str(annotation).replace("typing.", "")


def spec_of(function: Callable[..., Any]) -> ApiSpec:
    """The spec of one query API function (unbound method)."""
    hints = typing.get_type_hints(function)
    doc = docstring_parser.parse(inspect.getdoc(function) or "")
    described = {p.arg_name: " ".join((p.description or "").split()) for p in doc.params}
    parameters = tuple(
        Parameter(p.name, hints.get(p.name, Any), p.default, described.get(p.name, ""))
        for p in list(inspect.signature(function).parameters.values())[1:]
    )
    fields: dict[str, Any] = {p.name: (p.annotation, ... if p.required else p.default) for p in parameters}
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, arbitrary_types_allowed=True)
    return ApiSpec(
        name=function.__name__,
        summary=doc.short_description or "",
        details=doc.long_description or "",
        parameters=parameters,
        returns=hints.get("return", Any),
        model=create_model(function.__name__, __config__=config, **fields),
    )


@functools.cache
def specs_of(environment: Any) -> dict[str, ApiSpec]:
    """The specs of all query APIs of an environment class, by name."""
    return {name: spec_of(function) for name, function in environment.query_apis().items()}


def shapes(specs: Sequence[ApiSpec]) -> str:
    """The dataclasses that the APIs return, each with its fields, as comments for a stub file."""
    found: dict[str, type[Any]] = {}

    def visit(annotation: Any) -> None:
        for inner in typing.get_args(annotation):
            visit(inner)
        if not isinstance(annotation, type) or annotation.__name__ in found:
            return
        if dataclasses.is_dataclass(annotation):
            hints = typing.get_type_hints(annotation)
            for field in dataclasses.fields(annotation):
                visit(hints[field.name])
            found[annotation.__name__] = annotation

    for spec in specs:
        visit(spec.returns)
    lines = []
    for name, shape in found.items():
        hints = typing.get_type_hints(shape)
        fields = ", ".join(f'"{f.name}": {type_name(hints[f.name])}' for f in dataclasses.fields(shape))
        lines.append(f"# {name} is a dict: {{{fields}}}")
    return "\n".join(lines)
