"""Inserts the values of records into a template's code, and analyses which records code uses."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from r_eval.errors import UserError

BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions of `ast.parse` for invalid Python."""


@functools.lru_cache(maxsize=64)
def _parsed(code: str) -> ast.Module | None:
    """The tree of code, for reading alone; None if it is invalid Python."""
    try:
        return ast.parse(code)
    except BROKEN:
        return None


def _nodes(code: str) -> list[ast.AST]:
    """The nodes of code; none if it is invalid Python."""
    tree = _parsed(code.strip())
    return [] if tree is None else list(ast.walk(tree))


def with_values(program: str, records: Mapping[str, Any]) -> str:
    """Insert the values of records into a program.

    `person["name"]` becomes the value; a record that is used in any other way, such as `person.get("name")` or in an
    f-string, is assigned at the start with the fields that the program uses. Everything else, comments included, stays
    unchanged, as does code that cannot be parsed, which the sandbox may still accept.

    Raises:
        UserError: A record has no such field, or the program writes it with a dot.
    """
    if (tree := _parsed(program)) is None:
        return program
    if reason := dotted_field(program, records):
        raise UserError(reason)
    lines = [line.encode() for line in re.split("\r\n?|\n", program)]  # as Python counts them
    edits = sorted(_edits(tree, records), key=lambda e: (e[0].lineno, e[0].col_offset), reverse=True)
    for node, text in edits:
        first, last, end = node.lineno - 1, (node.end_lineno or 0) - 1, node.end_col_offset or 0
        lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + lines[last][end:]]
    filled = b"\n".join(lines).decode()
    heads = []
    for name, fields in fields_of(filled, list(records)).items():
        record = records[name]
        if missing := [field for field in sorted(fields or ()) if field not in record]:
            raise no_field(missing[0], record)
        value = record if fields is None else {field: record[field] for field in sorted(fields)}
        heads.append(f"{name} = {value!r}")
    return "\n".join([*heads, filled])


def dotted_field(code: str, records: Mapping[str, Any]) -> str | None:
    """How to write a field that code has as `person.name`, as wording does; None where there is none.

    A name that the code itself gives to something else is no record.
    """
    nodes = _nodes(code)
    own = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=field) if name not in own and not hasattr(dict, field):
                if isinstance(records.get(name), dict):
                    return f'line {node.lineno}: {name}.{field} is written {name}["{field}"] in code'
    return None


def no_field(field: Any, record: Any) -> UserError:
    """The error for a field that a record does not have."""
    close = get_close_matches(str(field), map(str, record)) if isinstance(record, dict) else []
    return UserError(f"no field '{field}'" + (f"; did you mean '{close[0]}'?" if close else ""))


def _edits(node: ast.AST, records: Mapping[str, Any]) -> Iterator[tuple[ast.expr, str]]:
    """The expressions of a program that name a record's field, with their replacements."""
    if isinstance(node, ast.JoinedStr):  # its braces do not allow every quote and backslash
        return
    if (replacement := _value(node, records)) is not None:
        yield cast(ast.expr, node), replacement
        return
    for child in ast.iter_child_nodes(node):
        yield from _edits(child, records)


def _value(node: ast.AST, records: Mapping[str, Any]) -> str | None:
    """The code of the value of `person["name"]` or `person["interests"][0]`; None for any other code."""
    path: list[Any] = []
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load):
        path.insert(0, node.slice.value)
        node = node.value
    if not path or not isinstance(node, ast.Name) or node.id not in records:
        return None
    value = records[node.id]
    if path[0] not in value:
        raise no_field(path[0], value)
    try:
        for key in path:
            value = value[key]
    except (KeyError, IndexError, TypeError):  # left to the program to report
        return None
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def fields_of(code: str, names: Sequence[str]) -> dict[str, frozenset[str] | None]:
    """The records that code uses, with the fields of each, or None if it uses the whole record.

    For code that cannot be parsed, all records as a whole.
    """
    if not (nodes := _nodes(code)):
        return dict.fromkeys(names)
    inner: set[int] = set()
    fields: dict[str, set[str]] = {}
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=name) as record, slice=ast.Constant(value=str(field))):
                fields.setdefault(name, set()).add(field)
                inner.add(id(record))
    name_nodes = [node for node in nodes if isinstance(node, ast.Name)]
    whole = {node.id for node in name_nodes if id(node) not in inner}
    read_names = {node.id for node in name_nodes}
    return {name: None if name in whole else frozenset(fields[name]) for name in names if name in read_names}
