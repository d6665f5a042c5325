"""Query APIs declared by a JSON schema instead of a Python signature: the tools of a server or of another library.

Names become such as Python and every LLM server accept; `DeclaredSpec.wired` puts the declared ones back. Arguments
are checked with `jsonschema`, and coerced as those of Python functions are: "3" to 3, 7 to "7", null to nothing
where an argument may be left out.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import docstring_parser
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from r_eval.environments.jsonschemas import alternatives_merged, annotation_of, identifier, inlined, untitled
from r_eval.environments.schema import MISSING, RESERVED, ApiSpec, Mistake, Parameter, clip
from r_eval.environments.tools.validation import compiled, fits, flaw, validator, within_limit

NUMBERS: Mapping[str, TypeAdapter[Any]] = {
    "integer": TypeAdapter(int),
    "number": TypeAdapter(float),
    "boolean": TypeAdapter(bool),
}
SELF_EXPLAINING = frozenset({"type", "enum", "const", "anyOf", "oneOf"})
TERMINAL_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and new line, and those that change the direction of the text after them."""
MOST_VALUES = 5_000
MOST_CHARACTERS = 500_000
"""How large the arguments of one call may be."""


@dataclasses.dataclass(frozen=True)
class DeclaredSpec(ApiSpec):
    """The spec of a query API declared by a JSON schema.

    Attributes:
        schema: The arguments as an object schema without references, by their declared names.
        wire: The declared name of every parameter.
        result: What comes back, as a schema without references.
    """

    schema: dict[str, Any]
    wire: Mapping[str, str]
    result: dict[str, Any]

    def json_schema(self) -> dict[str, Any]:
        declared = self.schema["properties"]
        properties = {}
        for parameter in self.parameters:
            properties[parameter.name] = _portable(untitled(declared[self.wire[parameter.name]]))
            if parameter.description:
                properties[parameter.name]["description"] = parameter.description
        required = [p.name for p in self.parameters if p.required]
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})

    def returns_schema(self) -> dict[str, Any]:
        return self.result

    def wired(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments under their declared names; half a surrogate pair, which no wire carries, becomes "?"."""
        return {self.wire[name]: _encodable(value) for name, value in arguments.items()}

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        names = {declared: name for name, declared in self.wire.items() if declared not in self.wire}
        return super().check({names.get(name, name): value for name, value in arguments.items()})

    def fitted(self, arguments: dict[str, Any]) -> dict[str, Any] | Mistake:
        try:
            plain = to_jsonable_python(arguments, fallback=str)
            if not _is_small(plain):
                return Mistake("", why="the arguments are too large")
            converted = within_limit(lambda: self._converted(plain), plain)
            endless = next((name for name, value in converted.items() if not _is_finite(value)), None)
            if endless is not None:
                return Mistake(endless)
            return within_limit(lambda: self._mistake(self.wired(converted)), None) or converted
        except (RecursionError, ValueError):
            return Mistake("", why="the arguments are nested too deeply")

    def _converted(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Values coerced; a null is left out where the argument may be, and the schema has no null."""
        converted = {}
        for parameter in self.parameters:
            if parameter.name in arguments:
                value, schema = arguments[parameter.name], self.schema["properties"][self.wire[parameter.name]]
                if value is not None or parameter.required or fits(None, schema):
                    converted[parameter.name] = coerced(value, schema)
        return converted

    def _mistake(self, arguments: dict[str, Any]) -> Mistake | None:
        from jsonschema.exceptions import best_match

        names = {declared: name for name, declared in self.wire.items()}
        missing = next((p.name for p in self.parameters if p.required and self.wire[p.name] not in arguments), None)
        if missing is not None:
            return Mistake(missing, missing=True)
        error = best_match(validator(self.schema).iter_errors(arguments))
        if error is None:
            return None
        path = [str(part) for part in error.absolute_path]
        if not path:
            return Mistake("", why=error.message)
        rule = f"{error.validator}: {json.dumps(error.validator_value, ensure_ascii=False, default=str)}"
        place = "".join(f"{part}: " for part in [".".join(path[1:])] if part)
        explained = len(path) == 1 and error.validator in SELF_EXPLAINING
        return Mistake(names[path[0]], why="" if explained else f"{place}{rule}")


def declare(
    name: str,
    description: str,
    schema: Any,
    returns: Any = None,
    taken: Collection[str] = (),
    notes: list[str] | None = None,
) -> DeclaredSpec:
    """The spec of a query API that is declared by a JSON schema.

    Args:
        name: As it is called there; made an identifier that is not `taken`.
        description: Free text, or a docstring with its arguments.
        schema: Object schema of the arguments; references may only point into itself.
        returns: Schema of the result, where it is known.
        notes: Receives what the schema shown to a model, or checked here, allows beyond the declared one.

    Raises:
        ValueError: It cannot be offered; the message says why.
    """
    notes = [] if notes is None else notes
    arguments = inlined(schema, notes=notes)
    wrong = flaw(arguments)
    if wrong:
        raise ValueError(f"the schema of its arguments is invalid: {wrong}")
    if arguments.get("type", "object") != "object":
        raise ValueError(f"its arguments are not an object but {json.dumps(arguments['type'])}")
    merged = alternatives_merged(arguments)
    undeclared: dict[str, Any] = {name: {} for name in merged.get("required", [])}
    properties = {**undeclared, **merged.get("properties", {})}
    if not properties and (merged.get("patternProperties") or _is_schema(merged.get("additionalProperties"))):
        raise ValueError("its schema does not name its arguments")
    arguments = {**arguments, "properties": properties, "required": merged.get("required", [])}
    notes += [f"the pattern {clip(p)} is only described" for p in dict.fromkeys(_odd_patterns(properties))]
    doc = docstring_parser.parse(printable(description or ""))
    described = {p.arg_name: p.description or "" for p in doc.params}
    called = identifier(name, lambda one: one in taken or one in RESERVED)
    parameters: list[Parameter] = []
    wire: dict[str, str] = {}
    needed = set(arguments["required"])
    for declared in sorted(properties, key=lambda one: one not in needed):
        about = properties[declared]
        parameter = identifier(declared, wire.__contains__)
        wire[parameter] = declared
        hint = annotation_of(about, f"{called}_{parameter}")
        default = MISSING if declared in needed else about.get("default")
        if default is None and not within_limit(lambda about=about: fits(None, about), True):  # type: ignore[misc]
            hint = hint | None if hint is not Any else hint
        text = " ".join(printable(str(about.get("description") or described.get(declared, ""))).split())
        rules = "".join(f" Pattern: {clip(rule, 200)}" for rule in _odd_patterns({declared: about}))
        parameters.append(Parameter(parameter, hint, default, f"{text}{rules}".strip()))
    result = _result(returns)
    return DeclaredSpec(
        name=called,
        summary=" ".join((doc.short_description or "").split()),
        details=doc.long_description or "",
        parameters=tuple(parameters),
        returns=annotation_of(result, f"{called}_result") if result else Any,
        schema=arguments,
        wire=wire,
        result=result,
    )


def _is_schema(additional: Any) -> bool:
    """Whether further properties are described, which is more than to allow or to forbid them."""
    return isinstance(additional, Mapping) and additional not in ({}, {"not": {}})


def _result(schema: Any) -> dict[str, Any]:
    """The schema of a result; {} where it is none, or too large, since it only describes."""
    try:
        found = inlined(schema) if schema else {}
    except ValueError:
        return {}
    return {} if flaw(found) else found


def _odd_patterns(schema: Any) -> Iterator[str]:
    """The patterns in a schema that not every engine understands, such as `\\p{L}`."""
    if isinstance(schema, list):
        for one in schema:
            yield from _odd_patterns(one)
    elif isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "pattern" and isinstance(value, str):
                if not _is_plain(value):
                    yield value
            elif key not in ("enum", "const", "default", "examples"):
                yield from _odd_patterns(value)


def _is_plain(pattern: str) -> bool:
    return "\\p" not in pattern and "\\P" not in pattern and compiled(pattern) is not None


def _portable(schema: Any) -> Any:
    """A schema without the patterns over which LLM servers refuse a request; they are part of the description."""
    if isinstance(schema, list):
        return [_portable(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value if key in ("enum", "const", "default", "examples") else _portable(value)
        for key, value in schema.items()
        if key != "pattern" or not isinstance(value, str) or _is_plain(value)
    }


def printable(text: str) -> str:
    """A text without the characters by which it could command a terminal."""
    return CONTROL.sub("", TERMINAL_SEQUENCES.sub("", text.replace("\r\n", "\n")))


def coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value made to fit a schema where that loses nothing; otherwise as it is."""
    for part in schema.get("allOf", []):
        value = coerced(value, part)
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key, [])
        if branches and not any(fits(value, branch) for branch in branches):
            tries = ((coerced(value, branch), branch) for branch in branches)
            value = next((tried for tried, branch in tries if fits(tried, branch)), value)
    if "enum" in schema and value not in schema["enum"] and isinstance(value, str | int | float):
        value = next((one for one in schema["enum"] if str(one) == str(value)), value)
    declared = schema.get("type", [])
    kinds = declared if isinstance(declared, list) else [declared]
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [coerced(one, schema["items"]) for one in value]
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return {name: coerced(inner, known.get(name, {})) for name, inner in value.items()}
    if isinstance(value, float) and value.is_integer() and "integer" in kinds and "number" not in kinds:
        return int(value)
    if not kinds or fits(value, {"type": kinds}):
        return value
    if "string" in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    for kind in kinds:
        if kind in NUMBERS and isinstance(value, str | int | float):
            try:
                return NUMBERS[kind].validate_python(value)
            except ValidationError:
                continue
    return value


def _is_small(value: Any) -> bool:
    """Whether arguments are few and short enough to be checked and sent."""
    values, characters, waiting = 0, 0, [value]
    while waiting and values <= MOST_VALUES and characters <= MOST_CHARACTERS:
        one = waiting.pop()
        values += 1
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, dict):
            waiting += one.values()
            characters += sum(map(len, one))
        elif isinstance(one, list):
            values += len(one)
            waiting += one[:MOST_VALUES]
    return values <= MOST_VALUES and characters <= MOST_CHARACTERS


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a value are such as JSON has."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(one) for name, one in value.items()}
    return value
