"""JSON schemas of others: references replaced by what they refer to, and the Python type that stands for one.

Such a schema comes from a server or a file, so both are bounded: a schema that contains itself, or that refers so
often that it would grow without end, is cut off by a schema that allows everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NotRequired, TypedDict, Union

DEEPEST = 40
MOST_NODES = 20_000
PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


def inlined(schema: Any, root: Any = None) -> dict[str, Any]:
    """A schema without `$ref`, `$defs` and `definitions`; what a reference named becomes the title of its copy.

    Args:
        schema: Part of `root`.
        root: The document that local references (`#/...`) point into; by default the schema itself. A reference to
            another document, or to nothing, allows everything.
    """
    return _Inliner(schema if root is None else root).copy(schema)


class _Inliner:
    def __init__(self, root: Any) -> None:
        self.root = root
        self.nodes = 0
        self.open: list[str] = []

    def copy(self, schema: Any, depth: int = 0) -> dict[str, Any]:
        self.nodes += 1
        if not isinstance(schema, Mapping):
            return {"not": {}} if schema is False else {}
        if depth > DEEPEST or self.nodes > MOST_NODES:
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._referred(reference, schema, depth)
        copied = {key: self._part(key, value, depth + 1) for key, value in schema.items() if key not in DROPPED}
        if isinstance(schema.get("items"), list):
            copied["prefixItems"] = [self.copy(inner, depth + 1) for inner in copied.pop("items")]
        return copied

    def _referred(self, reference: str, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if reference in self.open:
            return {}
        self.open.append(reference)
        found = self.copy(at_pointer(self.root, reference), depth + 1)
        self.open.pop()
        if found and "title" not in found:
            found["title"] = reference.rpartition("/")[2]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return found | self.copy(beside, depth)

    def _part(self, key: str, value: Any, depth: int) -> Any:
        if key in ("properties", "patternProperties", "dependentSchemas") and isinstance(value, Mapping):
            return {str(name): self.copy(inner, depth) for name, inner in value.items()}
        if key in ("allOf", "anyOf", "oneOf", "prefixItems") and isinstance(value, list):
            return [self.copy(inner, depth) for inner in value]
        if key in SUBSCHEMAS and isinstance(value, Mapping):
            return self.copy(value, depth)
        return value


DROPPED = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$comment"})
SUBSCHEMAS = frozenset(
    {"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedProperties"}
)


def untitled(schema: Any) -> Any:
    """A schema without titles; they say nothing to a model that the names do not."""
    if isinstance(schema, list):
        return [untitled(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    names = ("properties", "patternProperties", "dependentSchemas")
    return {
        key: {name: untitled(inner) for name, inner in value.items()}
        if key in names and isinstance(value, Mapping)
        else value
        if key in ("enum", "const", "default", "examples")
        else untitled(value)
        for key, value in schema.items()
        if key != "title"
    }


def at_pointer(root: Any, reference: str) -> Any:
    """What a local JSON pointer (`#/a/b`) points at, or None."""
    if not reference.startswith("#"):
        return None
    found = root
    for part in filter(None, reference.removeprefix("#").split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def annotation_of(schema: Mapping[str, Any], name: str = "Value") -> Any:
    """The Python type of what fits a schema without references, for stubs and messages.

    An object with named properties is a TypedDict, called by the schema's title or else by `name`.
    """
    if "const" in schema:
        return _literal([schema["const"]])
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return _literal(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return _union([annotation_of(one, name) for one in schema[key]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([annotation_of({**schema, "type": one}, name) for one in kind])
    if isinstance(schema.get("allOf"), list) and schema["allOf"] and (kind in (None, "object")):
        return annotation_of(merged(schema), name)
    if kind == "array":
        return list[annotation_of(schema.get("items") or {}, f"{name}Item")]  # type: ignore[misc]
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, name)
    return PLAIN.get(str(kind), Any)


def merged(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object schema with the properties of all parts of its `allOf` as its own."""
    own = {key: value for key, value in schema.items() if key != "allOf"}
    parts = [*map(merged, schema.get("allOf", [])), own]
    result: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    needed: dict[str, None] = {}
    for part in parts:
        result |= part
        properties |= part.get("properties", {})
        needed |= dict.fromkeys(part.get("required", []))
    if properties and len(parts) > 1:
        result |= {"type": "object", "properties": properties, "required": list(needed)}
    return result


def identifier(text: str, taken: Callable[[str], bool] = lambda name: False) -> str:
    """A name that Python and every LLM server accept (letters, digits, _; at most 60), made from any text.

    Args:
        taken: Whether a name is used already; then the text gets a number.
    """
    import keyword

    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")[:56] if not _proper(text) else text
    if not name or name[0].isdecimal():
        name = f"n_{name}".rstrip("_")
    if keyword.iskeyword(name):
        name += "_"
    number = 2
    unique = name
    while taken(unique):
        unique, number = f"{name}_{number}", number + 1
    return unique


def _proper(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][0-9A-Za-z_]{0,59}", text) is not None


def _literal(values: list[Any]) -> Any:
    plain = [value for value in values if value is None or isinstance(value, str | int | bool)]
    return Literal[tuple(plain)] if len(plain) == len(values) else Any


def _union(kinds: list[Any]) -> Any:
    return Union[tuple(kinds)] if Any not in kinds else Any  # noqa: UP007  made at run time


def _object(schema: Mapping[str, Any], name: str) -> Any:
    properties = schema.get("properties")
    if not properties:
        values = schema.get("additionalProperties")
        return dict[str, annotation_of(values, name) if isinstance(values, Mapping) else Any]  # type: ignore[misc]
    words = re.findall("[0-9A-Za-z]+", str(schema.get("title") or name)) or ["Value"]
    title = "".join(word[0].upper() + word[1:] for word in words)
    needed = schema.get("required", [])
    fields = {}
    for key, inner in properties.items():
        hint = annotation_of(inner, f"{title}{key[:1].upper()}{key[1:]}")
        fields[key] = hint if key in needed else NotRequired[hint]
    return TypedDict(title, fields)  # type: ignore[operator]
