"""JSON schemas of others: references replaced by what they refer to, old dialects brought up to date, and the Python
type that stands for one.

Such a schema comes from a server or a file, so its size is bounded. A schema that contains itself is cut off, where it
comes round again, by one that allows everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NotRequired, TypedDict, Union

DEEPEST = 50
MOST_NODES = 10_000
PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
KINDS = frozenset({*PLAIN, "object", "array"})
DROPPED = frozenset(
    {"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$comment"}
    | {"discriminator", "example", "externalDocs", "nullable", "xml"}
)
"""Keywords that say nothing of a value once references are gone and `nullable` is part of the type."""
VALUES = frozenset({"enum", "const", "default", "examples"})
"""Keywords that hold values, not schemas."""
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLE = frozenset(
    {"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedProperties"}
)
BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))


def inlined(schema: Any, root: Any = None, notes: list[str] | None = None) -> dict[str, Any]:
    """A schema of JSON Schema 2020-12 without `$ref`, `$defs` and `definitions`; what a reference named becomes the
    title of its copy.

    What older drafts and OpenAPI 3.0 wrote otherwise is rewritten: `nullable`, a boolean `exclusiveMinimum` or
    `required`, a list as `items`, numbers in an `enum` of strings. A keyword that is null counts as absent.

    Args:
        schema: Part of `root`.
        root: The document that local references (`#/...`) point into; by default the schema itself.
        notes: Receives what the schema allows that it did not, such as anything in place of a reference to nowhere.

    Raises:
        ValueError: It is nested too deeply, or too large.
    """
    return _Inliner(schema if root is None else root, [] if notes is None else notes).copy(schema)


class _Inliner:
    def __init__(self, root: Any, notes: list[str]) -> None:
        self.root, self.notes = root, notes
        self.nodes = 0
        self.open: list[str] = []

    def copy(self, schema: Any, depth: int = 0) -> dict[str, Any]:
        self.nodes += 1
        if depth > DEEPEST:
            raise ValueError(f"the schema is nested deeper than {DEEPEST} levels")
        if self.nodes > MOST_NODES:
            raise ValueError(f"the schema has more than {MOST_NODES:,} parts")
        if not isinstance(schema, Mapping):
            return {"not": {}} if schema is False else {}
        if isinstance(schema.get("$ref"), str):
            return self._resolve(schema["$ref"], schema, depth)
        copied = {
            str(key): self._part(key, value, depth + 1)
            for key, value in schema.items()
            if key not in DROPPED and (value is not None or key in VALUES)
        }
        if isinstance(schema.get("items"), list):
            copied["prefixItems"] = [self.copy(inner, depth + 1) for inner in copied.pop("items")]
        _modernise(copied, schema)
        return copied

    def _resolve(self, reference: str, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if reference in self.open:
            return {}
        target = at_pointer(self.root, reference)
        if target is None:
            self.notes.append(f"anything is allowed in place of the unknown {reference[:80]}")
        self.open.append(reference)
        found = self.copy(target, depth + 1)
        self.open.pop()
        if found and "title" not in found:
            found["title"] = reference.rpartition("/")[2]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return found | self.copy(beside, depth)

    def _part(self, key: str, value: Any, depth: int) -> Any:
        if key in NAMED and isinstance(value, Mapping):
            return {str(name): self.copy(inner, depth) for name, inner in value.items()}
        if key in LISTED and isinstance(value, list):
            return [self.copy(inner, depth) for inner in value]
        return self.copy(value, depth) if key in SINGLE and isinstance(value, Mapping) else value


def _modernise(made: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Rewrite what older drafts and OpenAPI 3.0 say in other words, in place.

    Args:
        made: The copy of a schema.
        schema: The schema as it was.
    """
    for bound, exclusive in BOUNDS:
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and bound in made:
            made[exclusive] = made.pop(bound)
    if isinstance(made.get("required"), bool):  # draft 3, which says it in the property itself
        del made["required"]
    inner = schema.get("properties")
    if isinstance(inner, Mapping) and isinstance(made.get("required", []), list):
        needed = [str(name) for name, one in inner.items() if isinstance(one, Mapping) and one.get("required") is True]
        if needed:
            made["required"] = [*made.get("required", []), *needed]
    kind = made.get("type")
    if kind == "any":
        del made["type"]
    elif isinstance(kind, str) and kind.lower() in KINDS:
        made["type"] = kind.lower()
    if made.get("type") == "string":
        for key in ("const", "default"):
            if key in made:
                made[key] = _as_text(made[key])
        if isinstance(made.get("enum"), list):
            made["enum"] = [_as_text(one) for one in made["enum"]]
    if schema.get("nullable") is True:
        if isinstance(made.get("type"), str):
            made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]


def _as_text(value: Any) -> Any:
    """A value of a schema of strings, which YAML and careless writers leave unquoted."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def untitled(schema: Any) -> Any:
    """A schema without titles; they say nothing to a model that the names do not."""
    if isinstance(schema, list):
        return [untitled(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: {name: untitled(inner) for name, inner in value.items()}
        if key in NAMED and isinstance(value, Mapping)
        else value
        if key in VALUES
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


def alternatives_merged(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object schema with the properties of all parts of its `allOf`, `anyOf` and `oneOf` as its own, those required
    that every alternative requires; a property that differs between alternatives may be any of them.

    It allows more than `schema` does, and is for showing: many LLM servers refuse alternatives at the root.
    """
    result = merged(schema)
    for key in ("anyOf", "oneOf"):
        listed = result.get(key)
        branches = [alternatives_merged(one) for one in listed if isinstance(one, Mapping)] if listed else []
        found: dict[str, list[Any]] = {}
        for name, inner in ((name, inner) for one in branches for name, inner in one.get("properties", {}).items()):
            if inner not in found.setdefault(name, []):
                found[name].append(inner)
        if found:
            joined = {name: kinds[0] if len(kinds) == 1 else {"anyOf": kinds} for name, kinds in found.items()}
            shared = [n for n in found if all(n in one.get("required", []) for one in branches)]
            needed = dict.fromkeys([*result.get("required", []), *shared])
            result |= {"properties": {**joined, **result.get("properties", {})}, "required": list(needed)}
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
