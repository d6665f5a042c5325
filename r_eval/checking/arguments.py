"""Arguments with which a query API is tried: what the environment itself has shown, and what a model may come up with.

A value is taken for a parameter for its name: from fields of records and of other calls' results, from the calls of
gold programs, from the values of an enum or literal, from the default. Values that nothing is likely to have come
last, since a model will write such too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from r_eval.environments.schema import ApiSpec

Row = Mapping[str, Any]
VALUES = 5
"""Values tried for a parameter."""
ROWS = 4
"""Records whose fields are tried together."""
ODD: dict[str, list[Any]] = {"string": ["", "no such thing"], "integer": [0, -1], "number": [-1.0], "array": [[]]}
"""By JSON type, what a model may write though it fits nothing."""


class Known:
    """What is known of an environment's values: rows, each of fields that belong together, and example calls."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._seen: set[str] = set()
        self._examples: dict[str, list[dict[str, Any]]] = {}

    def add(self, value: Any, kind: str = "") -> None:
        """Learn from plain data: a record, or the result of a call; lists in it are looked into.

        Args:
            kind: What the records are called; a field `id` of kind `dish` is then a `dish_id` too, and its name or
                title a `dish`.
        """
        if isinstance(value, str):
            value = {kind or "text": value}
        if isinstance(value, list):
            for item in value[:20]:
                self.add(item, kind)
        elif isinstance(value, dict):
            row = dict(_fields(value, kind))
            text = key_of(row)
            if row and text not in self._seen:
                self._seen.add(text)
                self._rows.append(row)
            for name, inner in value.items():
                if isinstance(inner, dict | list):
                    self.add(inner, _singular(str(name)))

    def add_call(self, api: str, arguments: dict[str, Any]) -> None:
        """Learn from a call that a gold program makes."""
        self._examples.setdefault(api, []).append(arguments)

    def has_examples(self, api: str) -> bool:
        """Whether as many calls of an API are known from programs as are ever tried."""
        return len(self._examples.get(api, [])) >= ROWS

    def calls(self, spec: ApiSpec, odd: bool) -> Iterator[dict[str, Any]]:
        """Arguments to try, the likeliest first; some may not fit the types.

        Args:
            odd: Whether those come too that fit nothing.
        """
        schema = spec.json_schema()["properties"]
        options = {p.name: self._values(p.name, schema[p.name]) for p in spec.parameters}
        required = [p.name for p in spec.parameters if p.required]
        optional = [p.name for p in spec.parameters if not p.required]
        yield from self._examples.get(spec.name, [])[:ROWS]
        if not any(not options[name] for name in required):
            yield from self._together(required, optional)
            for i in range(VALUES if required else 1):
                yield {name: options[name][i % len(options[name])] for name in required}
            base = {name: options[name][0] for name in required}
            for name in optional:
                yield from ({**base, name: value} for value in options[name])
        if odd:
            yield from self._odd(spec, schema, options)

    def missing(self, spec: ApiSpec) -> list[str]:
        """Required parameters for which no value is known."""
        schema = spec.json_schema()["properties"]
        return [p.name for p in spec.parameters if p.required and not self._values(p.name, schema[p.name])]

    def _together(self, required: list[str], optional: list[str]) -> Iterator[dict[str, Any]]:
        """Arguments from the fields of one row each."""
        rows = [row for row in self._rows if all(name in row for name in required)] if required else []
        for row in rows[:ROWS]:
            yield {name: row[name] for name in required}
            extra = [name for name in optional if name in row]
            if extra:
                yield {name: row[name] for name in [*required, *extra]}

    def _values(self, name: str, schema: Row) -> list[Any]:
        """Values for one parameter, of its own name where there are any."""
        fixed = [*_allowed(schema), *([schema["default"]] if schema.get("default") is not None else [])]
        if fixed:
            return _distinct(fixed)[: max(VALUES, len(_allowed(schema)))]
        own = _distinct(row[name] for row in self._rows if name in row)
        if not own and "string" in _types(schema):
            own = _distinct(
                value
                for row in self._rows
                for field, value in row.items()
                if isinstance(value, str) and 0 < len(value) <= 80 and _alike(field, name)
            ) or _distinct(v for row in self._rows for v in row.values() if isinstance(v, str) and 0 < len(v) <= 40)
        return own[:VALUES]

    def _odd(self, spec: ApiSpec, schema: Row, options: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
        base = {p.name: options[p.name][0] for p in spec.parameters if p.required and options[p.name]}
        for p in spec.parameters:
            if _allowed(schema[p.name]):
                continue
            for kind in _types(schema[p.name]):
                for value in ODD.get(kind, []):
                    yield {**base, p.name: value}


def key_of(value: Any) -> str:
    """Text that is the same for the same data."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _fields(value: dict[str, Any], kind: str) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if inner is None or isinstance(inner, dict):
            continue
        if isinstance(inner, list):
            if inner and all(isinstance(item, str | int | float) for item in inner):
                yield _singular(name), inner[0]
                yield name, inner
            continue
        yield name, inner
        if kind and name == "id":
            yield f"{kind}_id", inner
        if kind and name in ("name", "title"):
            yield kind, inner


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and len(name) > 3 else name


def _alike(field: str, name: str) -> bool:
    """Whether a field's name says that its values are of a parameter's kind: `name` for `dish_name`, `title`."""
    field, name = field.casefold(), name.casefold()
    return field in name or name in field


def _branches(schema: Row) -> Iterator[Row]:
    yield schema
    for key in ("anyOf", "oneOf"):
        for inner in schema.get(key, ()):
            yield from _branches(inner)


def _allowed(schema: Row) -> list[Any]:
    """The only values that a schema allows; [] where there are too many to list."""
    found: list[Any] = []
    for branch in _branches(schema):
        found += branch.get("enum", [])
        found += [branch["const"]] if "const" in branch else []
        found += [True, False] if branch.get("type") == "boolean" else []
    return [value for value in found if value is not None]


def _types(schema: Row) -> list[str]:
    found: list[str] = []
    for branch in _branches(schema):
        kind = branch.get("type", [])
        found += [kind] if isinstance(kind, str) else kind
    return found


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for value in values:
        found.setdefault(key_of(value), value)
    return list(found.values())
