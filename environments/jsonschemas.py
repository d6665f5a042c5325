"""JSON schemas of others: references replaced by what they refer to, and old dialects brought up to date.

Such a schema comes from a server or a file, so its size is bounded. A schema that contains itself is cut off, where it
comes round again, by one that allows everything.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any

DEEPEST = 50
MOST_NODES = 3_000
KINDS = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})
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
ALTERNATIVES = ("anyOf", "oneOf")
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
        target = at_reference(self.root, reference)
        if target is None:
            self.notes.append(f"anything is allowed in place of the unknown {reference[:80]}")
        self.open.append(reference)
        found = self.copy(target, depth + 1)
        self.open.pop()
        if found and "title" not in found:
            found["title"] = reference.rpartition("/")[2]
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return found | self.copy(siblings, depth)

    def _part(self, key: str, value: Any, depth: int) -> Any:
        if key in NAMED and isinstance(value, Mapping):
            return {str(name): self.copy(inner, depth) for name, inner in value.items()}
        if key in LISTED and isinstance(value, list):
            return [self.copy(inner, depth) for inner in value]
        return self.copy(value, depth) if key in SINGLE and isinstance(value, Mapping) else value


def at_reference(root: Any, reference: str) -> Any:
    """What a local reference (`#/a/b`) points at; None where there is nothing, or it leads out of the document."""
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable

    if not reference.startswith("#"):
        return None
    try:
        return Registry().with_resource("", Resource.opaque(root)).resolver().lookup(reference).contents
    except (Unresolvable, LookupError, TypeError, ValueError):  # the last three for pointers into text and numbers
        return None


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
        made |= {key: _as_text(made[key]) for key in ("const", "default") if key in made}
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
    return without(schema, lambda key, value: key == "title")


def without(schema: Any, is_dropped: Callable[[str, Any], bool]) -> Any:
    """A copy of a schema, and of all schemas in it, without some keywords.

    Args:
        is_dropped: Whether a keyword with a value is left out.
    """
    if isinstance(schema, list):
        return [without(one, is_dropped) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    copied = {}
    for key, value in schema.items():
        if key in NAMED and isinstance(value, Mapping):
            copied[key] = {name: without(inner, is_dropped) for name, inner in value.items()}
        elif not is_dropped(key, value):
            copied[key] = value if key in VALUES else without(value, is_dropped)
    return copied


def merged(schema: Mapping[str, Any], with_alternatives: bool = False) -> dict[str, Any]:
    """An object schema with the properties of all parts of its `allOf` as its own.

    Args:
        with_alternatives: Whether those of its `anyOf` and `oneOf` become its own, too: those required that every
            alternative requires, and one that differs between alternatives may be any of them. Such a schema allows
            more than `schema` does, and is for showing: many LLM servers refuse alternatives at the root.
    """
    own = {key: value for key, value in schema.items() if key != "allOf"}
    parts = [*(merged(one, with_alternatives) for one in schema.get("allOf", [])), own]
    if with_alternatives:
        listed = [schema[key] for key in ALTERNATIVES if schema.get(key)]
        parts = [*(_either([merged(one, True) for one in branches]) for branches in listed), *parts]
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


def _either(branches: list[dict[str, Any]]) -> dict[str, Any]:
    """An object schema that allows what any of some object schemas allows."""
    found: dict[str, list[Any]] = {}
    for name, inner in ((name, inner) for one in branches for name, inner in one.get("properties", {}).items()):
        if inner not in found.setdefault(name, []):
            found[name].append(inner)
    joined = {name: kinds[0] if len(kinds) == 1 else {"anyOf": kinds} for name, kinds in found.items()}
    return {"properties": joined, "required": [n for n in found if all(n in b.get("required", []) for b in branches)]}


def identifier(text: str, is_used: Callable[[str], bool] = lambda name: False) -> str:
    """A name that Python and every LLM server accept (letters, digits, _; at most 60), made from any text.

    Args:
        is_used: Whether a name is used already; then the text gets a number.
    """
    is_name = re.fullmatch(r"[A-Za-z][0-9A-Za-z_]{0,59}", text) is not None
    name = text if is_name else re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")[:56]
    if not name or name[0].isdecimal():
        name = f"n_{name}".rstrip("_")
    if keyword.iskeyword(name):
        name += "_"
    number, unique = 2, name
    while is_used(unique):
        unique, number = f"{name}_{number}", number + 1
    return unique
