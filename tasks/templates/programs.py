"""A template's code with the records' values in it, so that it stands by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def with_values(program: str, records: Mapping[str, Any]) -> str:
    """A template's program with the records' values in it, so that it stands by itself.

    `person["name"]` becomes the value; what is used in any other way, such as `person.get("name")`, is assigned first.

    Raises:
        KeyError: A record has no such field.
        SyntaxError: It is no program.
    """
    lines = [line.encode() for line in re.split("\r\n?|\n", program)]  # as Python counts them
    for first, last, text in sorted(_edits(ast.parse(program), records), reverse=True):
        end = lines[last[0] - 1][last[1] :]
        lines[first[0] - 1 : last[0]] = [lines[first[0] - 1][: first[1]] + text.encode() + end]
    filled = b"\n".join(lines).decode()
    used = {node.id for node in ast.walk(ast.parse(filled)) if isinstance(node, ast.Name)}
    return "\n".join([*(f"{name} = {value!r}" for name, value in records.items() if name in used), filled])


_Place = tuple[int, int]
"""A line, from 1, and a byte of it, from 0."""


def _edits(node: ast.AST, records: Mapping[str, Any]) -> Iterator[tuple[_Place, _Place, str]]:
    """The parts of a program that name a record's field, from where to where, and what they become.

    Everything else stays as it is written, comments too. An f-string is written anew as a whole.
    """
    known = _value(node, records)
    if known is not None or (isinstance(node, ast.JoinedStr) and _names(node) & records.keys()):
        text = known or ast.unparse(_Fill(records).visit(node))
        found = cast(ast.expr, node)
        yield (found.lineno, found.col_offset), (found.end_lineno or 0, found.end_col_offset or 0), text
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
    found = records[node.id][path[0]]
    try:
        for key in path[1:]:
            found = found[key]
    except (KeyError, IndexError, TypeError):  # the program itself is to say so
        return None
    text = repr(found)
    return f"({text})" if text.startswith("-") else text


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def with_values_in(expression: str, records: Mapping[str, Any]) -> str:
    """An expression over a program with the records' values in it, whole ones too. As `with_values`."""
    return ast.unparse(_Whole(records).visit(_Fill(records).visit(ast.parse(expression, mode="eval"))))


class _Whole(ast.NodeTransformer):
    def __init__(self, records: Mapping[str, Any]) -> None:
        self.records = records

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.records or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.parse(repr(self.records[node.id]), mode="eval").body, node)


class _Fill(ast.NodeTransformer):
    def __init__(self, records: Mapping[str, Any]) -> None:
        self.records = records

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        known = _value(node, self.records)
        if known is None:
            self.generic_visit(node)
        return node if known is None else ast.copy_location(ast.parse(known, mode="eval").body, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Values become plain text in an f-string, since its braces cannot hold every quote and backslash."""
        self.generic_visit(node)
        parts: list[ast.expr] = []
        known = ""
        for part in node.values:
            text = _text(part)
            if text is None:
                parts += [ast.Constant(known), part]
                known = ""
            else:
                known += text
        return ast.copy_location(ast.JoinedStr([*parts, ast.Constant(known)]), node)


def _text(part: ast.expr) -> str | None:
    """A part of an f-string as text; None where only the running program knows it."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    if not isinstance(part, ast.FormattedValue):
        return None
    pieces = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
    form = [str(piece.value) for piece in pieces if isinstance(piece, ast.Constant)]
    try:
        value = ast.literal_eval(part.value)
        shown = CONVERSIONS[part.conversion](value) if part.conversion in CONVERSIONS else value
        return format(shown, "".join(form)) if len(form) == len(pieces) else None
    except (ValueError, TypeError):
        return None


def canonical(program: str, records: Sequence[str] = ()) -> str:
    """A program with its own variables and its records under names that say nothing, for telling whether two are alike.

    A text that is no program stays as it is.
    """
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return program
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = [*records, *(node.id for node in named if isinstance(node.ctx, ast.Store) and node.id != "answer")]
    new: dict[str, str] = {}
    for node in named:
        if node.id in own:
            node.id = new.setdefault(node.id, f"v{len(new)}")
    return ast.unparse(tree)
