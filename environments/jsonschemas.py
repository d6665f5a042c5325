"""JSON schemas: references replaced by what they refer to, old dialects brought up to date, and types as text.

A stranger's schema comes from a server or a file, so its size is bounded. One that contains itself is cut off, where it
comes round again, by a schema that allows everything.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from r_eval.text import printable

DEEPEST = 50
MOST_NODES = 3_000
DROPPED = frozenset(
    {"$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$comment"}
    | {"discriminator", "example", "externalDocs", "nullable", "xml"}
)
"""Keywords that say nothing of a value once references are gone and `nullable` is part of the type."""
VALUES = frozenset({"enum", "const", "default", "examples"})
"""Keywords that hold values, not schemas."""
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
ALTERNATIVES = ("anyOf", "oneOf")
TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
FORMATS = {
    "date": "date, YYYY-MM-DD",
    "date-time": "date-time, YYYY-MM-DDTHH:MM:SS",
    "time": "time, HH:MM:SS",
    "duration": "ISO 8601 duration, such as P1DT2H30M",
    "uuid": "UUID",
}
"""How a model reads the formats of text; any other is shown by its name."""
LONGEST_FORMAT = 40
LONGEST_PATTERN = 200
"""Characters of a pattern that a description has."""


def inlined(schema: Any, root: Any = None, notes: list[str] | None = None) -> dict[str, Any]:
    """A schema of JSON Schema 2020-12 without `$ref`, `$defs` and `definitions`; what a reference named becomes the
    title of its copy.

    What draft 4 and OpenAPI 3.0 wrote otherwise is rewritten: `nullable`, a boolean `exclusiveMinimum`, a list as
    `items`, numbers in an `enum` of strings. A keyword that is null counts as absent.

    Args:
        schema: Part of `root`.
        root: The document that local references (`#/...`) point into; by default the schema itself.
        notes: Receives what the schema allows that it did not, such as anything in place of a reference to nowhere.

    Raises:
        ValueError: It is nested too deeply, or too large.
    """
    root, notes, entered, nodes = schema if root is None else root, [] if notes is None else notes, [], [0]

    def copy(part: Any, depth: int) -> Any:
        nodes[0] += 1
        if depth > DEEPEST:
            raise ValueError(f"the schema is nested deeper than {DEEPEST} levels")
        if nodes[0] > MOST_NODES:
            raise ValueError(f"the schema has more than {MOST_NODES:,} parts")
        if not isinstance(part, Mapping):
            return {"not": {}} if part is False else {}
        if isinstance(part.get("$ref"), str):
            return resolved(part["$ref"], part, depth)
        return _modern({str(key): value_of(key, value, depth + 1) for key, value in part.items()}, part)

    def value_of(key: Any, value: Any, depth: int) -> Any:
        if key in NAMED and isinstance(value, Mapping):
            return {str(name): copy(inner, depth) for name, inner in value.items()}
        if isinstance(value, list) and (key in LISTED or key == "items"):
            return [copy(inner, depth) for inner in value]
        return copy(value, depth) if isinstance(value, Mapping) and key not in VALUES else value

    def resolved(reference: str, part: Mapping[str, Any], depth: int) -> dict[str, Any]:
        if reference in entered:
            return {}
        target = at_reference(root, reference)
        if target is None:
            notes.append(f"anything is allowed in place of the unknown {reference[:80]}")
        entered.append(reference)
        found: dict[str, Any] = copy(target, depth + 1)
        entered.pop()
        if found:
            found.setdefault("title", reference.rpartition("/")[2])
        found |= copy({key: value for key, value in part.items() if key != "$ref"}, depth)
        return found

    made: dict[str, Any] = copy(schema, 0)
    return made


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


def _modern(made: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a schema in today's words; `schema` is what it was."""
    made = {key: value for key, value in made.items() if key not in DROPPED and (value is not None or key in VALUES)}
    if isinstance(made.get("items"), list):
        made["prefixItems"] = made.pop("items")
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.title()}"
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and bound in made:
            made[exclusive] = made.pop(bound)
    if made.get("type") == "string":
        made |= {key: _as_text(made[key]) for key in ("const", "default") if key in made}
        if isinstance(made.get("enum"), list):
            made["enum"] = [_as_text(one) for one in made["enum"]]
    if schema.get("nullable") is True:
        if isinstance(made.get("type"), str):
            made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
    return made


def _as_text(value: Any) -> Any:
    """A value of a schema of strings, which YAML and careless writers leave unquoted."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def for_models(schema: Any) -> Any:
    """A schema as LLM servers take it: without titles, and with patterns, which their engines may refuse, as words."""
    if isinstance(schema, list):
        return [for_models(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in NAMED and isinstance(value, Mapping):
            made[key] = {name: for_models(inner) for name, inner in value.items()}
        elif key not in ("title", "pattern"):
            made[key] = value if key in VALUES else for_models(value)
    if "pattern" in schema:
        rule = f"Pattern: {schema['pattern']}"[:LONGEST_PATTERN]
        made["description"] = f"{made.get('description', '')} {rule}".strip()
    return made


def merged(schema: Mapping[str, Any], keys: Sequence[str] = ("allOf",)) -> dict[str, Any]:
    """An object schema with the properties of all parts of its `allOf` as its own; one that differs between parts may
    be any of them.

    Args:
        keys: Whose parts become its own. Those of `anyOf` and `oneOf` are not required then: such a schema allows more
            than `schema` does, and is for showing, since many LLM servers refuse alternatives at the root.
    """
    own = {key: value for key, value in schema.items() if key not in keys}
    parts = [(key == "allOf", merged(one, keys)) for key in keys for one in schema.get(key) or []]
    result: dict[str, Any] = {}
    found: dict[str, list[Any]] = {}
    needed: dict[str, None] = {}
    for is_needed, part in [*parts, (True, own)]:
        if is_needed:
            result |= part
            needed |= dict.fromkeys(part.get("required", []))
        for name, inner in part.get("properties", {}).items():
            if inner not in found.setdefault(name, []):
                found[name].append(inner)
    if found and parts:
        properties = {name: kinds[0] if len(kinds) == 1 else {"anyOf": kinds} for name, kinds in found.items()}
        result |= {"type": "object", "properties": properties, "required": list(needed)}
    return result


def alternatives(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The schemas of which a value fits one; none where there is but one type."""
    for key in ALTERNATIVES:
        if schema.get(key):
            return list(schema[key])
    kind = schema.get("type")
    return [{**schema, "type": one} for one in kind] if isinstance(kind, list) else []


def constants(schema: Mapping[str, Any]) -> list[Any]:
    """The values that a schema lists; none where it lists none."""
    return [schema["const"]] if "const" in schema else list(schema.get("enum") or [])


def allows_null(schema: Mapping[str, Any]) -> bool:
    """Whether null fits."""
    if values := constants(schema):
        return None in values
    if branches := alternatives(schema):
        return any(map(allows_null, branches))
    is_object = "properties" in schema or "allOf" in schema
    return bool(schema.get("type", "object" if is_object else "null") == "null")


def without_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """Plain data without the nulls that models write for a field which they leave out: those that a schema neither
    requires nor allows to be null.
    """
    if any(key in schema for key in ("allOf", *ALTERNATIVES)):
        schema = merged(schema, ("allOf", *ALTERNATIVES))
    fields, items = schema.get("properties", {}), schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [without_nulls(item, items) for item in value]
    if not isinstance(value, dict) or not fields:
        return value
    kept = {*schema.get("required", []), *(key for key in value if allows_null(fields.get(key, {})))}
    return {
        key: without_nulls(inner, fields.get(key, {}))
        for key, inner in value.items()
        if inner is not None or key in kept
    }


def type_name(schema: Mapping[str, Any], name: str = "Value", formats: bool = False) -> str:
    """A schema without references as a person writes a Python type: `str | None`, `list[Person]`.

    An object with named properties is called by its title, or else by `name`.

    Args:
        formats: Add the format of text, which Python types do not have: `str (date, YYYY-MM-DD)`.
    """
    schema = merged(schema)
    if values := constants(schema):
        is_plain = all(value is None or isinstance(value, str | int | bool) for value in values)
        return f"Literal[{', '.join(map(repr, values))}]" if is_plain else "Any"
    if branches := alternatives(schema):
        names = dict.fromkeys(type_name(one, name, formats) for one in branches)
        return "Any" if "Any" in names else " | ".join(names)
    if schema.get("properties"):
        return _title(schema, name)
    if schema.get("type") == "array":
        if "items" not in schema and isinstance(places := schema.get("prefixItems"), list):
            return f"tuple[{', '.join(type_name(_schema(place), f'{name}Item', formats) for place in places)}]"
        return f"list[{type_name(_schema(schema.get('items')), f'{name}Item', formats)}]"
    if schema.get("type") == "object":
        return f"dict[str, {type_name(_schema(schema.get('additionalProperties')), name, formats)}]"
    form = text_format(schema) if formats else ""
    return TYPES.get(str(schema.get("type")), "Any") + (f" ({form})" if form else "")


def text_format(schema: Mapping[str, Any]) -> str:
    """The format of a text, for a model to read; "" where the schema names none."""
    form = schema.get("format")
    is_text = schema.get("type") == "string" and isinstance(form, str)
    return FORMATS.get(str(form), printable(str(form))[:LONGEST_FORMAT]) if is_text else ""


def shapes_in(schema: Mapping[str, Any], name: str = "Value") -> dict[str, str]:
    """The fields of all objects in a schema, `{"name": str, "age"?: int}`, where ? marks what may be missing, by the
    objects' names, what is inside an object before the object itself.
    """
    schema, found = merged(schema), dict[str, str]()
    title, fields = _title(schema, name), schema.get("properties") or {}
    inside = [(inner, _inner(title, key)) for key, inner in fields.items()]
    inside += [(one, name) for key in ALTERNATIVES for one in schema.get(key, [])]
    inside += [(one, f"{name}Item") for one in (schema.get("items"), *(schema.get("prefixItems") or ()))]
    inside += [(schema.get("additionalProperties"), name)]
    for part, called in inside:
        for key, text in (shapes_in(part, called) if isinstance(part, Mapping) else {}).items():
            found.setdefault(key, text)
    if fields:
        needed = schema.get("required", [])
        texts = [
            f'"{key}"{"" if key in needed else "?"}: {type_name(inner, _inner(title, key), True)}'
            for key, inner in fields.items()
        ]
        found.setdefault(title, f"{{{', '.join(texts)}}}")
    return found


def _schema(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _inner(title: str, key: str) -> str:
    return f"{title}{key[:1].upper()}{key[1:]}"


def _title(schema: Mapping[str, Any], name: str) -> str:
    words = re.findall("[0-9A-Za-z]+", str(schema.get("title") or name)) or ["Value"]
    return "".join(word[0].upper() + word[1:] for word in words)


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
