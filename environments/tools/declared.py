"""Query APIs declared by a JSON schema instead of a Python signature: the tools of a server or of another library.

Names become such as Python and every LLM server accept; `DeclaredSpec.wired` puts the declared ones back. The schema
becomes Python types, so that arguments are checked and coerced as those of Python functions are.

A few lines of schema may ask for billions of comparisons, so the cost of a check is estimated before it is made, and
one that is too dear is left to the server. No clock decides: the same call is refused or accepted on every machine.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from types import NoneType
from typing import Any, get_args

import docstring_parser
from pydantic_core import to_json, to_jsonable_python

from r_eval.environments.jsonschemas import ALTERNATIVES, VALUES, identifier, inlined, merged, untitled, without
from r_eval.environments.schema import MISSING, RESERVED, ArgumentError, Parameter, bare, clip
from r_eval.environments.schema_types import annotation_of, repeats_of
from r_eval.environments.signatures import FunctionSpec, arguments_model
from r_eval.text import clean_data
from r_eval.text import printable as printable

MOST_VALUES = 5_000
MOST_BYTES = 500_000
"""How large the arguments of one call may be."""
MOST_COST = 20_000_000
"""What a check may cost: a step for each character and repetition of a pattern, `STEPS` for each value and part of the
schema.
"""
STEPS = 20
UNSEEN = frozenset({"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "propertyNames"})
"""Keywords that, at the root of a schema, no model is shown."""


@dataclasses.dataclass(frozen=True)
class DeclaredSpec(FunctionSpec):
    """The spec of a query API declared by a JSON schema.

    Attributes:
        schema: The arguments as a model sees them.
        wire: The declared name of every parameter.
        no_null: The parameters that are left out where they are null.
        alternatives: Sets of parameters; those of one set must be there.
        result: What comes back, as a schema without references.
        cost: The parts of the schema, and how large its patterns are.
    """

    schema: dict[str, Any]
    wire: Mapping[str, str]
    no_null: frozenset[str]
    alternatives: Sequence[Set[str]]
    result: dict[str, Any]
    cost: tuple[int, int]

    def json_schema(self) -> dict[str, Any]:
        return copy.deepcopy(self.schema)

    def returns_schema(self) -> dict[str, Any]:
        return self.result

    def wired(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments under their declared names."""
        return {self.wire[name]: value for name, value in arguments.items()}

    def check(self, arguments: dict[str, Any], noun: str = "argument") -> dict[str, Any]:
        names = {declared: name for name, declared in self.wire.items() if declared not in self.wire}
        return super().check({names.get(name, name): value for name, value in arguments.items()}, noun)

    def fitted(self, arguments: dict[str, Any]) -> dict[str, Any] | ArgumentError:
        try:
            plain, text = _plain(arguments)
        except (RecursionError, ValueError):
            return ArgumentError("", why="the arguments are nested too deeply")
        values = 1 + text.count(b",")  # those in texts count as well
        if values > MOST_VALUES or len(text) > MOST_BYTES:
            return ArgumentError("", why="the arguments are too large")
        present = {name: value for name, value in plain.items() if value is not None or name not in self.no_null}
        missing = next((p.name for p in self.parameters if p.required and p.name not in present), None)
        if missing is not None:
            return ArgumentError(missing, missing=True)
        if self.alternatives and not any(one <= present.keys() for one in self.alternatives):
            return ArgumentError(
                "", why=f"it needs {', or '.join(' and '.join(sorted(one)) for one in self.alternatives)}"
            )
        parts, repeats = self.cost
        is_cheap = values * parts * STEPS + len(text) * repeats <= MOST_COST
        return super().fitted(present) if is_cheap else present


def _plain(arguments: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Arguments as data that every wire carries, and as JSON text."""
    plain = to_jsonable_python(arguments, fallback=str, inf_nan_mode="strings")
    try:
        return plain, to_json(plain)
    except ValueError:  # half a surrogate pair
        plain = clean_data(plain)
        return plain, to_json(plain)


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
        description: Free text, or a docstring with its arguments.
        schema: Object schema of the arguments; references may only point into itself.
        returns: Schema of the result, where it is known.
        notes: Receives what the schema that a model sees, or that is checked here, allows beyond the declared one.

    Raises:
        ValueError: It cannot be offered; the message says why.
    """
    arguments = inlined(schema, notes=notes)
    properties, needed = _properties(arguments)
    patterns = list(_patterns(properties))
    odd = [pattern for pattern in dict.fromkeys(patterns) if _is_odd(pattern)]
    if notes is not None:
        notes += [f"the pattern {clip(pattern)} is only described" for pattern in odd]
        notes += [f"its rule '{key}' is left to the server" for key in sorted(UNSEEN & arguments.keys())]
    doc = docstring_parser.parse(printable(description or ""))
    described = {p.arg_name: p.description or "" for p in doc.params}
    called = identifier(name, lambda one: one in used_names or one in RESERVED)
    wire: dict[str, str] = {}
    for declared in sorted(properties, key=lambda one: one not in needed):
        wire[identifier(declared, wire.__contains__)] = declared
    hints = {own: annotation_of(properties[declared], f"{called}_{own}") for own, declared in wire.items()}
    parameters = [
        _parameter(own, hints[own], properties[declared], declared in needed, described.get(declared, ""))
        for own, declared in wire.items()
    ]
    result = _result(returns)
    required = {"required": [p.name for p in parameters if p.required]} if needed else {}
    schemas = {p.name: _model_schema(properties[wire[p.name]], p.description) for p in parameters}
    names = {declared: own for own, declared in wire.items()}
    branches = [one for key in ALTERNATIVES for one in arguments.get(key, [])]
    return DeclaredSpec(
        name=called,
        summary=" ".join((doc.short_description or "").split()),
        details=doc.long_description or "",
        parameters=tuple(parameters),
        returns=annotation_of(result, f"{called}_result") if result else Any,
        model=arguments_model(called, parameters),
        schema={"type": "object", "properties": schemas, "additionalProperties": False} | required,
        wire=wire,
        no_null=frozenset(p.name for p in parameters if not (p.required or _has_null(hints[p.name]))),
        alternatives=[{names[one] for one in branch.get("required", [])} for branch in branches],
        result=result,
        cost=(str(arguments).count("{"), sum(map(repeats_of, patterns))),  # a part of the schema is a dict
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
    whole = merged(arguments, with_alternatives=True)
    needed = whole.get("required", [])
    branches = [branch for key in ALTERNATIVES for branch in arguments.get(key, [])]
    undeclared: dict[str, Any] = {name: {} for one in (whole, *branches) for name in one.get("required", [])}
    properties = {**undeclared, **whole.get("properties", {})}
    others = whole.get("additionalProperties")
    is_open = isinstance(others, Mapping) and others not in ({}, {"not": {}})
    if not properties and (whole.get("patternProperties") or is_open):
        raise ValueError("its schema does not name its arguments")
    return properties, needed


def _parameter(name: str, hint: Any, schema: Mapping[str, Any], required: bool, described: str) -> Parameter:
    """A parameter; `described` is its description, if its schema has none."""
    default = MISSING if required else schema.get("default")
    if default is None and not _has_null(hint):
        hint = hint | None
    text = " ".join(printable(str(schema.get("description") or described)).split())
    rules = "".join(f" Pattern: {clip(rule, 200)}" for rule in _patterns(schema) if _is_odd(rule))
    return Parameter(name, hint, default, f"{text}{rules}".strip())


def _model_schema(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """A schema as a model is shown it: without the patterns over which LLM servers refuse a request."""
    schema = without(untitled(schema), lambda key, value: key == "pattern" and _is_odd(value))
    return dict(schema) | ({"description": description} if description else {})


def _has_null(hint: Any) -> bool:
    return bare(hint) is Any or bool({None, NoneType} & {*get_args(bare(hint))})


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

    try:  # without the format of patterns: those that cannot be compiled are not matched
        Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))
        return ""
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        return f"{clip(error.message, 200)} (at {place})"


def _patterns(schema: Any) -> Iterator[str]:
    """The patterns in a schema."""
    if isinstance(schema, list):
        for one in schema:
            yield from _patterns(one)
    elif isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "pattern" and isinstance(value, str):
                yield value
            elif key not in VALUES:
                yield from _patterns(value)


def _is_odd(pattern: Any) -> bool:
    """Whether not every engine understands a pattern, such as `\\p{L}`."""
    return isinstance(pattern, str) and ("\\p" in pattern or "\\P" in pattern or not repeats_of(pattern))
