"""What a query API's signature and docstring say, in every form in which a model or a person reads it.

One `ApiSpec` gives the JSON schema for function calling, the one-line action description for ReAct, the Python stub
for PAL, and the argument check whose error message a model can act on. `signatures` reads a spec from a Python
function, `tools.declared` from a JSON schema.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from r_eval.environments.jsonschemas import allows_null, for_models, shapes_in, type_name, without_nulls

MISSING = inspect.Parameter.empty
_ATTRIBUTES = ("copies_state", "copy_state", "description", "specs", "timeout", "version")
_METHODS = ("call", "close", "for_documents", "open", "query_apis", "records", "render", "retrieved_ids", "triples")
RESERVED = frozenset({*_ATTRIBUTES, *_METHODS, "Finish"})
"""Names that no query API can have: what every `Environment` has already, and what every workflow offers itself."""
TYPE_ERRORS = ("_type", "_parsing", "_from_float", "literal_error", "enum")
"""Ends of the kinds of pydantic's errors that the name of the expected type explains."""


class BadArguments(Exception):
    """The arguments do not fit the signature; the message says which, and what was expected."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a query API.

    Attributes:
        schema: Its JSON schema, without references.
        default: `MISSING` where the argument must be given.
    """

    name: str
    schema: Mapping[str, Any]
    default: Any
    description: str

    @property
    def required(self) -> bool:
        return self.default is MISSING

    def type(self, formats: bool = True) -> str:
        """Its type as a person writes it: `str (date, YYYY-MM-DD) | None`, or without `formats` a Python type."""
        text = type_name(self.schema, self.name, formats)
        is_wider = self.default is None and text != "Any" and not allows_null(self.schema)
        return f"{text} | None" if is_wider else text

    def signature(self, formats: bool = True) -> str:
        """Its name, type and default; without `formats`, as in a Python function."""
        text = f"{self.name}: {self.type(formats)}"
        return text if self.required else f"{text} = {self.default_text}"

    @property
    def default_text(self) -> str:
        """The default as a Python literal."""
        return repr(to_jsonable_python(self.default, fallback=str))

    @property
    def expected(self) -> str:
        """Its type for a message, with the fields of what is a dict."""
        shapes = [f"{name} is {shape}" for name, shape in shapes_in(self.schema, self.name).items()]
        return self.type() + (f" ({', '.join(shapes)})" if shapes else "")


@dataclasses.dataclass(frozen=True)
class ApiSpec:
    """A query API as data.

    Attributes:
        result: The JSON schema of what comes back, without references; {} where nothing is known.
        model: Checks arguments. One field a parameter, called `p0`, `p1`, ..., since a parameter may have a name that
            no field can have; the parameter's name is the field's alias.
    """

    name: str
    summary: str
    details: str
    parameters: tuple[Parameter, ...]
    result: Mapping[str, Any]
    model: type[BaseModel]

    def json_schema(self) -> dict[str, Any]:
        """The parameters as a JSON schema object without references, as function calling wants it."""
        described = {p.name: {"description": p.description} if p.description else {} for p in self.parameters}
        properties = {p.name: for_models({**p.schema, **described[p.name]}) for p in self.parameters}
        needed = [p.name for p in self.parameters if p.required]
        required = {"required": needed} if needed else {}
        return {"additionalProperties": False, "properties": properties, **required, "type": "object"}

    @property
    def returns(self) -> str:
        """The type of what comes back, as a person writes it."""
        return type_name(self.result, f"{self.name}_result")

    def stub(self) -> str:
        """The API as a Python function without a body."""
        arguments = ", ".join(p.signature(formats=False) for p in self.parameters)
        lines = [f"{self.summary} {self.details}".strip().replace("\n", "\n    ")]
        for p in self.parameters:
            form = "" if p.type() == p.type(formats=False) else f" ({p.type()})"
            lines += [f"    {p.name}{form}: {p.description}".rstrip(": ")] if p.description or form else []
        doc = "\n    ".join(lines).replace('"""', "'''").replace("\\", "\\\\")
        end = " " if doc.endswith('"') else ""
        return f'def {self.name}({arguments}) -> {self.returns}:\n    """{doc}{end}"""'

    def action(self) -> str:
        """The API as one line of an action list."""
        arguments = ", ".join(p.name if p.required else f"{p.name}?" for p in self.parameters)
        return f"{self.name}({arguments}): {self.summary}"

    def bind(self, positional: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Positional arguments put under their names.

        Raises:
            BadArguments: There are more than the API takes, or one is given twice.
        """
        most, names = len(self.parameters), [p.name for p in self.parameters]
        if len(positional) > most:
            plural = "" if most == 1 else "s"
            raise BadArguments(f"{self.name} takes at most {most} argument{plural}, not {len(positional)}")
        bound = dict(zip(names, positional, strict=False))
        if twice := sorted(bound.keys() & named.keys()):
            raise BadArguments(f"{self.name}: argument '{twice[0]}' was given twice")
        return bound | named

    def check(self, arguments: dict[str, Any], noun: str = "argument") -> dict[str, Any]:
        """The arguments as the call wants them, coerced where that is safe: "3" to 3, JSON text to what it holds, null
        for what is optional but cannot be null to its default.

        Args:
            noun: What messages call an argument.

        Raises:
            BadArguments: One is unknown, missing or of a wrong type.
        """
        names = [p.name for p in self.parameters]
        for name in (each for each in arguments if each not in names):
            close = difflib.get_close_matches(name, names, 1, 0.5)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            known = f"Its {noun}s: {', '.join(names) or 'none'}."
            raise BadArguments(f"{self.name} has no {noun} '{clip(name)}'.{hint} {known}")
        left_out = {p.name for p in self.parameters if not (p.required or allows_null(p.schema))}
        tried = arguments
        while True:
            tried = {name: value for name, value in tried.items() if value is not None or name not in left_out}
            try:
                checked = self.model.model_validate(tried)
                break
            except ValidationError as error:
                first: Any = error.errors(include_url=False)[0]
                name = str(first["loc"][0])
                value, schema = tried.get(name), next(p.schema for p in self.parameters if p.name == name)
                repaired = unpacked(value)
                if (repaired is value and (repaired := without_nulls(value, schema)) is value) or repaired == value:
                    raise BadArguments(self._complaint(first, arguments.get(name), noun)) from None
                tried[name] = repaired
        present = checked.model_fields_set
        return {p.name: getattr(checked, f"p{i}") for i, p in enumerate(self.parameters) if f"p{i}" in present}

    def _complaint(self, error: Mapping[str, Any], value: Any, noun: str) -> str:
        name, *inside = map(str, error["loc"])
        if error["type"] == "missing" and not inside:
            signatures = ", ".join(p.signature() for p in self.parameters)
            return f"{self.name} needs the {noun} '{name}'. Its {noun}s: {signatures}."
        place = f"{'.'.join(inside)}: " if inside else ""
        is_explained = not inside and error["type"].endswith(TYPE_ERRORS)
        why = "" if is_explained else f" ({clip(place + error['msg'], 120)})"
        expected = next(p.expected for p in self.parameters if p.name == name)
        return f"{self.name}: {noun} '{name}' must be {expected}, not {clip(repr(value))}{why}."


def unpacked(value: Any) -> Any:
    """What a text holds as JSON; the value itself where it is none, or holds nothing."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def clip(text: str, length: int = 80) -> str:
    """Text for a message, never longer than a line."""
    return text if len(text) <= length else text[: length - 1] + "…"


def shapes(specs: Sequence[ApiSpec]) -> str:
    """The types with fields that the APIs take and return, each with its fields, as comments for a stub file."""
    found: dict[str, str] = {}
    for spec in specs:
        for schema, name in ((spec.result, f"{spec.name}_result"), *((p.schema, p.name) for p in spec.parameters)):
            found |= {key: text for key, text in shapes_in(schema, name).items() if key not in found}
    return "\n".join(f"# {name} is a dict: {shape}" for name, shape in found.items())
