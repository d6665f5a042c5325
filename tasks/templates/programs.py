"""A template's code with the records' values in it, so that it stands by itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from r_eval.tasks.templates.wording import Records

CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def with_values(program: str, records: Records) -> str:
    """A template's program with `person["name"]` replaced by the record's value, so that it stands by itself.

    Raises:
        KeyError: A record has no such field.
        SyntaxError: It is no program.
    """
    return ast.unparse(_Fill(records).visit(ast.parse(program)))


class _Fill(ast.NodeTransformer):
    def __init__(self, records: Records) -> None:
        self.records = records

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.records and isinstance(node.slice, ast.Constant):
            value = self.records[node.value.id][str(node.slice.value)]
            return ast.copy_location(ast.parse(repr(value), mode="eval").body, node)
        return node

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
