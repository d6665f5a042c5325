"""Conditions and expressions of a template, worked out over many sets of records at once in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.tasks.templates.wording import Row

BLOCK = 1000
"""Sets of records that one program of the sandbox sees."""
VALUES = 100
"""The same, where every set gives a value of any size."""


class Conditions:
    """Works out Python text of a template file, which only the sandbox ever carries out."""

    def __init__(self, environment: Environment, sandbox: Sandbox) -> None:
        self._environment, self._sandbox = environment, sandbox

    async def hold(self, condition: str, names: Sequence[str], rows: Sequence[Row]) -> list[bool]:
        """For which rows of records a condition holds.

        Raises:
            UserError: It fails for one of them.
        """
        return [bool(value) for value in await self._over(f"bool({condition})", condition, names, rows, BLOCK)]

    async def values(self, expression: str, names: Sequence[str], rows: Sequence[Row]) -> list[Any]:
        """What an expression gives for each row of records.

        Raises:
            UserError: It fails for one of them.
        """
        simple = _field(expression)
        if simple is None or simple[0] not in names:
            return await self._over(expression, expression, names, rows, VALUES)
        place, field = names.index(simple[0]), simple[1]
        try:
            return [row[place][field] for row in rows]
        except KeyError as error:
            raise UserError(f"no field {error}") from None

    async def _over(self, code: str, written: str, names: Sequence[str], rows: Sequence[Row], block: int) -> list[Any]:
        if not rows:
            return []
        seen = fields_of(written, names)
        each = f"({', '.join(seen)},)" if seen else "_"
        code = f"answer = [{code.strip()} for {each} in _records]"
        parts = [(names.index(name), _Trimmed(fields)) for name, fields in seen.items()]
        given = [tuple([trimmed.of(row[place]) for place, trimmed in parts]) for row in rows]
        keys = [tuple(map(id, row)) for row in given]
        different = dict(zip(keys, given, strict=True))
        asked = list(different.values())
        found: list[Any] = []
        for start in range(0, len(asked), block):
            found += await self._run(code, asked[start : start + block])
        values = dict(zip(different, found, strict=True))
        return [values[key] for key in keys]

    async def _run(self, code: str, rows: list[Row]) -> list[Any]:
        session = Session(self._environment, self._sandbox)
        try:
            result = await session.run_program(code, {"_records": rows})
        finally:
            session.close()
        if result.error is not None:
            raise UserError(result.error.message)
        if not isinstance(result.answer, list) or len(result.answer) != len(rows):
            raise UserError("it is not one expression")
        return result.answer


def fields_of(expression: str, names: Sequence[str]) -> dict[str, frozenset[str] | None]:
    """The records that an expression sees, with the fields of each; None where it takes a record whole.

    Of a text that cannot be parsed, all of them whole.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return dict.fromkeys(names)
    fields: dict[str, set[str]] = {}
    inner: set[int] = set()
    for node in ast.walk(tree):
        if (found := _field_of(node)) is not None and isinstance(node, ast.Subscript):
            fields.setdefault(found[0], set()).add(found[1])
            inner.add(id(node.value))
    named = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    whole = {n.id for n in named if id(n) not in inner}
    used = {n.id for n in named}
    return {n: None if n in whole else frozenset(fields[n]) for n in names if n in used}


def equalities(condition: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Parts of a condition that an index over a field of `name` answers, as field, kind and the other side's text.

    The kind is "equals", "holds" (the field is a list that holds the other side) or "among" (the other side is a list
    that holds the field). All of them have to hold for the condition to hold.
    """
    try:
        tree = ast.parse(condition.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    for part in parts:
        if not isinstance(part, ast.Compare) or len(part.ops) != 1:
            continue
        left, right = part.left, part.comparators[0]
        kinds = {ast.Eq: ("equals", "equals"), ast.In: ("among", "holds")}.get(type(part.ops[0]))
        if kinds is None:
            continue
        for mine, other, kind in ((left, right, kinds[0]), (right, left, kinds[1])):
            found = _field_of(mine)
            if found is not None and found[0] == name and not _names(other) & {name}:
                yield found[1], kind, ast.unparse(other)
                break


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _field(expression: str) -> tuple[str, str] | None:
    try:
        return _field_of(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _field_of(node: ast.AST) -> tuple[str, str] | None:
    """The name and field of `person["name"]`; None for anything else."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return (node.value.id, key) if isinstance(key, str) else None


class _Trimmed:
    """Records with the fields that an expression sees alone; those in which it sees the same become one."""

    def __init__(self, fields: frozenset[str] | None) -> None:
        self._fields = sorted(fields) if fields is not None else None
        self._known: dict[int, dict[str, Any]] = {}
        self._different: dict[str, dict[str, Any]] = {}

    def of(self, record: dict[str, Any]) -> dict[str, Any]:
        if self._fields is None:
            return record
        key = id(record)
        if key not in self._known:
            seen = {field: record[field] for field in self._fields if field in record}
            self._known[key] = self._different.setdefault(repr(seen), seen)
        return self._known[key]
