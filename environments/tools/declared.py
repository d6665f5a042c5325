"""Query APIs declared by a JSON schema instead of a Python signature: the tools of a server or of another library.

Names become such as Python and every LLM server accept; `DeclaredSpec.wired` puts the declared ones back. The schema
becomes Python types, so that arguments are checked and coerced as those of Python functions are. These types say
what kinds of values there are, which of them are listed, and what is inside objects and lists. Bounds, patterns and
other rules are for the model to read and for the server to check: a type never refuses what the schema allows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, NotRequired, Union

import docstring_parser
from pydantic import BeforeValidator
from pydantic_core import to_json, to_jsonable_python
from typing_extensions import TypedDict

from r_eval.environments.jsonschemas import (
    ALTERNATIVES,
    allows_null,
    alternatives,
    constants,
    identifier,
    inlined,
    merged,
)
from r_eval.environments.schema import MISSING, RESERVED, ApiSpec, BadArguments, Parameter, clip
from r_eval.environments.signatures import CHECKING, arguments_model
from r_eval.text import clean_data, printable

MOST_BYTES = 500_000
MOST_STEPS = 1_000_000
"""How large the arguments of one call may be: their JSON text, and their values times the parts of the schema."""
UNSEEN = frozenset({"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "propertyNames"})
"""Keywords that, at the root of a schema, no model is shown."""
PYTHON = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_typed_dict: Any = TypedDict  # made at run time


@dataclasses.dataclass(frozen=True)
class DeclaredSpec(ApiSpec):
    """The spec of a query API declared by a JSON schema.

    Attributes:
        wire: The declared name of every parameter.
        size: The parts of the schema.
    """

    wire: Mapping[str, str]
    size: int

    def wired(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments under their declared names."""
        return {self.wire[name]: value for name, value in arguments.items()}

    def check(self, arguments: dict[str, Any], noun: str = "argument") -> dict[str, Any]:
        try:
            plain = to_jsonable_python(arguments, fallback=str, inf_nan_mode="strings")
            try:
                text = to_json(plain)
            except ValueError:  # half a surrogate pair
                plain = clean_data(plain)
                text = to_json(plain)
        except (RecursionError, ValueError):
            raise BadArguments(f"{self.name}: the arguments are nested too deeply.") from None
        if len(text) > MOST_BYTES or text.count(b",") * self.size > MOST_STEPS:
            raise BadArguments(f"{self.name}: the arguments are too large.")
        names = {declared: name for name, declared in self.wire.items() if declared not in self.wire}
        return super().check({names.get(name, name): value for name, value in plain.items()}, noun)


def declare(
    name: str,
    description: str,
    schema: Any,
    returns: Any = None,
    used_names: Collection[str] = (),
    notes: list[str] | None = None,
) -> DeclaredSpec:
    """The spec of a query API that is declared by a JSON schema.

    Args:
        name: As it is called there; made an identifier that is not `used_names`.
        description: Free text, or a docstring with its arguments. Where there is none, a name that is not ASCII is
            described by itself, since it is lost otherwise.
        schema: Object schema of the arguments; references may only point into itself.
        returns: Schema of the result, where it is known.
        notes: Receives what the schema that a model sees allows beyond the declared one.

    Raises:
        ValueError: It cannot be offered; the message says why.
    """
    arguments = inlined(schema, notes=notes)
    if notes is not None:
        notes += [f"its rule '{key}' is left to the server" for key in sorted(UNSEEN & arguments.keys())]
    properties, needed = _properties(arguments)
    doc = docstring_parser.parse(printable(description or ""))
    described = {p.arg_name: p.description or "" for p in doc.params}
    called = identifier(name, lambda one: one in used_names or one in RESERVED)
    wire: dict[str, str] = {}
    for declared in sorted(properties, key=lambda one: one not in needed):
        wire[identifier(declared, wire.__contains__)] = declared
    parameters, fields = [], {}
    for own, declared in wire.items():
        inner = {"title": f"{called}_{own}", **properties[declared]}
        default = MISSING if declared in needed else inner.get("default")
        renamed = "" if declared.isascii() else declared
        text = printable(str(inner.get("description") or described.get(declared) or renamed))
        parameters.append(Parameter(own, inner, default, " ".join(text.split())))
        kind = annotation_of(inner)
        fields[own] = kind | None if default is None and not allows_null(inner) else kind, default
    return DeclaredSpec(
        name=called,
        summary=" ".join((doc.short_description or ("" if name.isascii() else printable(name))).split()),
        details=doc.long_description or "",
        parameters=tuple(parameters),
        result=_result(returns),
        model=arguments_model(called, fields),
        wire=wire,
        size=str(arguments).count("{"),  # a part of the schema is a dict
    )


def _properties(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The schemas of all arguments that a schema names, and the names of those that it requires.

    Raises:
        ValueError: It is no valid schema of an object, or does not name the arguments.
    """
    if wrong := flaw(arguments):
        raise ValueError(f"the schema of its arguments is invalid: {wrong}")
    if arguments.get("type", "object") != "object":
        raise ValueError(f"its arguments are not an object but {json.dumps(arguments['type'])}")
    whole = merged(arguments, ("allOf", *ALTERNATIVES))
    needed = whole.get("required", [])
    branches = [branch for key in ALTERNATIVES for branch in arguments.get(key, [])]
    undeclared: dict[str, Any] = {name: {} for one in (whole, *branches) for name in one.get("required", [])}
    properties = {**undeclared, **whole.get("properties", {})}
    others = whole.get("additionalProperties")
    is_open = isinstance(others, Mapping) and others not in ({}, {"not": {}})
    if not properties and (whole.get("patternProperties") or is_open):
        raise ValueError("its schema does not name its arguments")
    return properties, needed


def annotation_of(schema: Mapping[str, Any]) -> Any:
    """The Python type of what fits a schema without references; an object with named properties is a TypedDict."""
    schema = merged(schema)
    if values := constants(schema):
        return _one_of(values)
    if branches := alternatives(schema):
        kinds = [annotation_of(one) for one in branches]
        return Union[tuple(kinds)] if Any not in kinds else Any  # noqa: UP007  made at run time
    kind, others = schema.get("type"), schema.get("additionalProperties")
    if kind == "array":
        items = {} if "prefixItems" in schema or not isinstance(schema.get("items"), Mapping) else schema["items"]
        return list[annotation_of(items)]  # type: ignore[misc]
    if kind not in ("object", None) or (kind is None and "properties" not in schema):
        return PYTHON.get(str(kind), Any)
    if not schema.get("properties"):
        return dict[str, annotation_of(others) if isinstance(others, Mapping) else Any]  # type: ignore[misc]
    hints = {key: annotation_of(inner) for key, inner in schema["properties"].items()}
    needed = schema.get("required", [])
    made = _typed_dict("Value", {key: hint if key in needed else NotRequired[hint] for key, hint in hints.items()})
    is_closed = others in (False, {"not": {}}) and not schema.get("patternProperties")
    made.__pydantic_config__ = {**CHECKING, "extra": "forbid" if is_closed else "allow"}
    return made


def _one_of(values: list[Any]) -> Any:
    """One of some values; another that is written as one of them becomes that one."""
    if not all(value is None or isinstance(value, str | int | bool) for value in values):
        return Any
    written = {str(value): value for value in values}

    def same(value: Any) -> Any:
        is_other = isinstance(value, str | int | float) and value not in values
        return written.get(str(value), value) if is_other else value

    return Annotated[Literal[tuple(values)], BeforeValidator(same)]


def _result(schema: Any) -> dict[str, Any]:
    """The schema of a result; {} where it is none, or too large, since it only describes."""
    try:
        found = inlined(schema) if schema else {}
    except ValueError:
        return {}
    return {} if flaw(found) else found


def flaw(schema: Any) -> str:
    """Why something is not a JSON schema; empty where it is one."""
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import SchemaError

    try:  # without the format of patterns, which are not matched here
        Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))
        return ""
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        return f"{clip(error.message, 200)} (at {place})"
