"""Query APIs declared by a JSON schema instead of a Python signature: the tools of a server or of another library.

Names become such as Python and every LLM server accept; `DeclaredSpec.wired` puts the declared ones back. Arguments
are checked with `jsonschema`, and coerced as those of Python functions are: "3" to 3, 7 to "7", null to nothing
where an argument may be left out.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Collection, Mapping
from typing import Any

import docstring_parser
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from r_eval.environments.jsonschemas import annotation_of, identifier, inlined, merged, untitled
from r_eval.environments.schema import MISSING, RESERVED, ApiSpec, Mistake, Parameter, clip

NUMBERS: Mapping[str, TypeAdapter[Any]] = {
    "integer": TypeAdapter(int),
    "number": TypeAdapter(float),
    "boolean": TypeAdapter(bool),
}
SELF_EXPLAINING = frozenset({"type", "enum", "const", "anyOf", "oneOf"})


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

    @functools.cached_property
    def _checker(self) -> Any:
        return _validator(json.dumps(self.schema))

    def json_schema(self) -> dict[str, Any]:
        declared = self.schema["properties"]
        properties = {}
        for parameter in self.parameters:
            properties[parameter.name] = untitled(declared[self.wire[parameter.name]])
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
            given = self._converted(to_jsonable_python(arguments, fallback=str))
            endless = next((name for name, value in given.items() if not _finite(value)), None)
            mistake = self._mistake(self.wired(given)) if endless is None else Mistake(endless)
        except (RecursionError, ValueError):
            return Mistake("", why="the arguments are nested too deeply")
        return mistake or given

    def _converted(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Values coerced; a null is left out where the argument may be, and the schema has no null."""
        given = {}
        for parameter in self.parameters:
            if parameter.name in arguments:
                value, schema = arguments[parameter.name], self.schema["properties"][self.wire[parameter.name]]
                if value is not None or parameter.required or _fits(None, schema):
                    given[parameter.name] = coerced(value, schema)
        return given

    def _mistake(self, given: dict[str, Any]) -> Mistake | None:
        from jsonschema.exceptions import best_match

        names = {declared: name for name, declared in self.wire.items()}
        missing = next((p.name for p in self.parameters if p.required and self.wire[p.name] not in given), None)
        if missing is not None:
            return Mistake(missing, missing=True)
        error = best_match(self._checker.iter_errors(given))
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
    schema: Mapping[str, Any],
    returns: Mapping[str, Any] | None = None,
    taken: Collection[str] = (),
) -> DeclaredSpec:
    """The spec of a query API that is declared by a JSON schema.

    Args:
        name: As it is called there; made an identifier that is not `taken`.
        description: Free text, or a docstring with its arguments.
        schema: Object schema of the arguments; references may only point into itself.
        returns: Schema of the result, where it is known.

    Raises:
        ValueError: The schema is none.
    """
    arguments = inlined(schema)
    wrong = _flaw(arguments)
    if wrong:
        raise ValueError(f"the schema of {name}'s arguments is none: {wrong}")
    arguments = {"properties": {}, **arguments, **merged(arguments)}
    doc = docstring_parser.parse(description or "")
    described = {p.arg_name: p.description or "" for p in doc.params}
    called = identifier(name, lambda one: one in taken or one in RESERVED)
    parameters: list[Parameter] = []
    wire: dict[str, str] = {}
    needed = set(arguments.get("required", []))
    for declared in sorted(arguments["properties"], key=lambda one: one not in needed):
        about = arguments["properties"][declared]
        parameter = identifier(declared, wire.__contains__)
        wire[parameter] = declared
        hint = annotation_of(about, f"{called}_{parameter}")
        default = MISSING if declared in needed else about.get("default")
        if default is None and not _fits(None, about):
            hint = hint | None if hint is not Any else hint
        text = " ".join(str(about.get("description") or described.get(declared, "")).split())
        parameters.append(Parameter(parameter, hint, default, text))
    result = inlined(returns) if returns else {}
    result = {} if _flaw(result) else result
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


def coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value made to fit a schema where that loses nothing; otherwise as it is."""
    for part in schema.get("allOf", []):
        value = coerced(value, part)
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key, [])
        if branches and not any(_fits(value, branch) for branch in branches):
            tries = ((coerced(value, branch), branch) for branch in branches)
            value = next((tried for tried, branch in tries if _fits(tried, branch)), value)
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
    if not kinds or _fits(value, {"type": kinds}):
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


def _finite(value: Any) -> bool:
    """Whether all numbers in a value are such as JSON has."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list) else True


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(one) for name, one in value.items()}
    return value


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    return bool(_validator(json.dumps(schema)).is_valid(value))


@functools.lru_cache(4096)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


def _flaw(schema: dict[str, Any]) -> str:
    """Why something is no JSON schema; empty where it is one."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
        return ""
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        return f"{clip(error.message, 200)} (at {place})"
