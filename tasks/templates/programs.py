"""A template's code with the records' values in it, so that it stands by itself; and what code looks at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from r_eval.errors import UserError

BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `ast.parse` raises for a text that is no Python."""
Records = dict[str, dict[str, Any]]


def with_values(program: str, records: Mapping[str, Any]) -> str:
    """A program with the records' values in it.

    `person["name"]` becomes the value; a record that is used in any other way, such as `person.get("name")` or within
    an f-string, is assigned first, with no more fields than the program looks at. Everything else stays as it is
    written, comments too.

    Raises:
        UserError: A record has no such field.
        SyntaxError: It is no program.
    """
    lines = [line.encode() for line in re.split("\r\n?|\n", program)]  # as Python counts them
    edits = sorted(_edits(ast.parse(program), records), key=lambda e: (e[0].lineno, e[0].col_offset), reverse=True)
    for node, text in edits:
        first, last, end = node.lineno - 1, (node.end_lineno or 0) - 1, node.end_col_offset or 0
        lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + lines[last][end:]]
    filled = b"\n".join(lines).decode()
    return "\n".join([*(f"{name} = {value!r}" for name, value in _used(filled, records).items()), filled])


def with_values_in(expression: str, records: Mapping[str, Any]) -> str:
    """An expression with records as literals, with no more fields than it looks at. As `with_values`."""
    values = _used(expression.strip(), records)
    return ast.unparse(_Literals(values).visit(ast.parse(expression.strip(), mode="eval")))


class _Literals(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.values or not isinstance(node.ctx, ast.Load):
            return node
        return ast.parse(repr(self.values[node.id]), mode="eval").body


def _used(code: str, records: Mapping[str, Any]) -> dict[str, Any]:
    """The records that code names, with the fields that it looks at."""
    fields = fields_of(code, list(records))
    return {name: project(records[name], seen) for name, seen in fields.items()}


def no_field(field: Any, record: Any) -> UserError:
    """The error for a field that a record does not have."""
    close = get_close_matches(str(field), map(str, record)) if isinstance(record, dict) else []
    return UserError(f"no field '{field}'" + (f"; did you mean '{close[0]}'?" if close else ""))


def project(record: Any, fields: Iterable[str] | None) -> Any:
    """A record with some of its fields; all of it where they are None.

    Raises:
        UserError: It has no such field.
    """
    if fields is None:
        return record
    if missing := [field for field in sorted(fields) if field not in record]:
        raise no_field(missing[0], record)
    return {field: record[field] for field in sorted(fields)}


def _edits(node: ast.AST, records: Mapping[str, Any]) -> Iterator[tuple[ast.expr, str]]:
    """The parts of a program that name a record's field, and what they become."""
    if isinstance(node, ast.JoinedStr):  # its braces cannot hold every quote and backslash
        return
    if (known := _value(node, records)) is not None:
        yield cast(ast.expr, node), known
        return
    for child in ast.iter_child_nodes(node):
        yield from _edits(child, records)


def _value(node: ast.AST, records: Mapping[str, Any]) -> str | None:
    """The code of the value of `person["name"]` or `person["interests"][0]`; None for what is anything else."""
    path: list[Any] = []
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load):
        path.insert(0, node.slice.value)
        node = node.value
    if not path or not isinstance(node, ast.Name) or node.id not in records:
        return None
    if path[0] not in (record := records[node.id]):
        raise no_field(path[0], record)
    found = record[path[0]]
    try:
        for key in path[1:]:
            found = found[key]
    except (KeyError, IndexError, TypeError):  # the program itself is to say so
        return None
    text = repr(found)
    return f"({text})" if text.startswith("-") else text


def fields_of(code: str, names: Sequence[str]) -> dict[str, frozenset[str] | None]:
    """The records that code sees, with the fields of each; None where it takes a record whole.

    Of a text that cannot be parsed, all of them whole.
    """
    try:
        nodes = list(ast.walk(ast.parse(code.strip())))
    except BROKEN:
        return dict.fromkeys(names)
    found = {id(node.value): field for node in nodes if isinstance(node, ast.Subscript) and (field := field_of(node))}
    fields: dict[str, set[str]] = {}
    for name, key in found.values():
        fields.setdefault(name, set()).add(key)
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    whole = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in found}
    return {name: None if name in whole else frozenset(fields[name]) for name in names if name in used}


def field_of(node: ast.AST) -> tuple[str, str] | None:
    """The name and field of `person["name"]`; None for anything else."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return (node.value.id, key) if isinstance(key, str) else None


def canonical(program: str, records: Sequence[str] = ()) -> str:
    """A program with its own variables and its records under names that say nothing, for telling whether two are alike.

    A text that is no program stays as it is.
    """
    try:
        tree = ast.parse(program)
    except BROKEN:
        return program
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = [*records, *(node.id for node in named if isinstance(node.ctx, ast.Store) and node.id != "answer")]
    new: dict[str, str] = {}
    for node in named:
        if node.id in own:
            node.id = new.setdefault(node.id, f"v{len(new)}")
    return ast.unparse(tree)
