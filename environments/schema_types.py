"""The Python type that stands for a stranger's JSON schema: what stubs and messages show, and pydantic checks.

Of the keywords of JSON Schema a type says these: types, enum and const, properties, items, alternatives, the bounds of
numbers and lengths, and patterns. The others (`not`, `if`, `uniqueItems`, ...) are for the model to read and for the
server to check. A type never refuses what the schema allows.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NotRequired, Union

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError, SchemaError, SchemaValidator, core_schema
from typing_extensions import TypedDict

from r_eval.environments.jsonschemas import ALTERNATIVES, merged

PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
LENGTHS = {
    "string": {"minLength": "min_length", "maxLength": "max_length"},
    "array": {"minItems": "min_length", "maxItems": "max_length"},
}
LONGEST_PATTERN = 500
MOST_REPEATS = 2_000
"""The product of the counts in a pattern, which the engine writes out: `(a{100}){20}` has so many."""
_typed_dict: Any = TypedDict  # made at run time
COUNTS = re.compile(r"\{(\d+)(?:,(\d*))?\}")


def annotation_of(schema: Mapping[str, Any], name: str = "Value") -> Any:
    """The Python type of what fits a schema without references.

    An object with named properties is a TypedDict, called by the schema's title or else by `name`.
    """
    if schema.get("allOf"):
        return annotation_of(merged(schema), name)
    if "const" in schema or schema.get("enum"):
        return _one_of([schema["const"]] if "const" in schema else schema["enum"])
    for key in ALTERNATIVES:
        if schema.get(key):
            return _union([annotation_of(one, name) for one in schema[key]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([annotation_of({**schema, "type": one}, name) for one in kind])
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, name)
    if kind == "array":
        items = {} if "prefixItems" in schema or not isinstance(schema.get("items"), Mapping) else schema["items"]
        plain: Any = list[annotation_of(items, f"{name}Item")]  # type: ignore[misc]
    else:
        plain = PLAIN.get(str(kind), Any)
    rules = _rules(str(kind), schema)
    return Annotated[plain, Field(**rules)] if rules else plain


def _one_of(values: list[Any]) -> Any:
    """One of some values; another that is written as one of them becomes that one."""
    written = {str(value): value for value in values}

    def same(value: Any) -> Any:
        is_single = isinstance(value, str | int | float) and value not in values
        found = written.get(str(value), value) if is_single else value
        if found not in values:
            raise PydanticCustomError("literal_error", "it is none of the allowed values")
        return found

    is_plain = all(value is None or isinstance(value, str | int | bool) for value in values)
    return Annotated[Literal[tuple(values)] if is_plain else Any, BeforeValidator(same)]


def _union(kinds: list[Any]) -> Any:
    return Union[tuple(kinds)] if Any not in kinds else Any  # noqa: UP007  made at run time


def _object(schema: Mapping[str, Any], name: str) -> Any:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if not properties:
        return dict[str, annotation_of(others, name) if isinstance(others, Mapping) else Any]  # type: ignore[misc]
    words = re.findall("[0-9A-Za-z]+", str(schema.get("title") or name)) or ["Value"]
    title = "".join(word[0].upper() + word[1:] for word in words)
    needed = schema.get("required", [])
    fields = {}
    for key, inner in properties.items():
        hint = annotation_of(inner, f"{title}{key[:1].upper()}{key[1:]}")
        fields[key] = hint if key in needed else NotRequired[hint]
    made = _typed_dict(title, fields)
    is_closed = others in (False, {"not": {}}) and not schema.get("patternProperties")
    made.__pydantic_config__ = ConfigDict(extra="forbid" if is_closed else "allow", coerce_numbers_to_str=True)
    return made


def _rules(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema says of a value besides its type, as pydantic's `Field` says it."""
    rules = {rule: int(schema[key]) for key, rule in LENGTHS.get(kind, {}).items() if key in schema}
    if kind == "string" and isinstance(schema.get("pattern"), str) and repeats_of(schema["pattern"]):
        return rules | {"pattern": schema["pattern"]}
    if kind not in ("integer", "number"):
        return rules
    up: Callable[[Any], Any] = math.ceil if kind == "integer" else float  # for an integer, which changes nothing
    down: Callable[[Any], Any] = math.floor if kind == "integer" else float
    bounds = {"minimum": ("ge", up), "exclusiveMinimum": ("gt", down), "maximum": ("le", down)}
    for key, (rule, rounded) in {**bounds, "exclusiveMaximum": ("lt", up)}.items():
        if key in schema:
            rules[rule] = rounded(schema[key])
    if "multipleOf" in schema and up(schema["multipleOf"]) == schema["multipleOf"]:
        rules["multiple_of"] = up(schema["multipleOf"])
    return rules | ({"allow_inf_nan": False} if kind == "number" else {})


@functools.lru_cache(4096)
def repeats_of(pattern: str) -> int:
    """How large a pattern is once its counts are written out; 0 where it is too large, or not one for an engine whose
    time is linear.
    """
    if len(pattern) > LONGEST_PATTERN:
        return 0
    repeats = math.prod(max(int(most or least), 1) for least, most in COUNTS.findall(pattern))
    try:
        if repeats <= MOST_REPEATS:
            SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
            return repeats
    except (SchemaError, ValueError):
        pass
    return 0
