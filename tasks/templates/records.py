"""Which records fill a template: the first ones, those sampled with them, and those joined to them."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import RootModel

from r_eval.environments.base import Environment
from r_eval.environments.json_lines import read_records
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.tasks.templates.programs import BROKEN, field_of, fields_of, no_field
from r_eval.tasks.templates.render import Phrasing
from r_eval.tasks.templates.schema import Join, Template

COMBINATIONS = 300_000
"""Sets of records that one template may have."""
PAIRS = 1_000_000
"""Pairs that the condition of one join may be tried on."""
LOOKALIKES = 20
"""Records that are tried in place of a sampled one because a question shows the same of them."""
UNSEEN = 3
"""The same, where a question shows nothing of them: an answer that depends on them differs soon."""
BLOCK, VALUES = 1000, 100
"""Sets of records that one program of the sandbox sees; fewer where every set gives a value of any size."""

Record = dict[str, Any]
Row = tuple[Record, ...]
"""Records, in the order of names that are kept elsewhere."""


class KnownRecords:
    """An environment's records, each kind read once: records are told apart by their places in memory.

    Args:
        files: By kind, a file of records in place of the environment's own.
    """

    def __init__(self, environment: Environment, files: Mapping[str, Path] | None = None) -> None:
        self._environment, self._files = environment, files or {}
        self._kinds: dict[str, list[Record]] = {}

    def of(self, kind: str) -> list[Record]:
        """All records of a kind.

        Raises:
            KeyError: The kind is unknown.
            UserError: A line of its file is no JSON object; names the line.
        """
        if kind not in self._kinds:
            own = kind not in self._files
            self._kinds[kind] = self._environment.records(kind) if own else _read_file(self._files[kind])
        return self._kinds[kind]


def _read_file(path: Path) -> list[Record]:
    return [record.root for _, record in read_records(path, lambda _: RootModel[Record])]


class Expressions:
    """Works out Python text of a template file over many rows of records, which only the sandbox ever runs."""

    def __init__(self, environment: Environment, sandbox: Sandbox) -> None:
        self._environment, self._sandbox = environment, sandbox

    async def hold(self, condition: str, names: Sequence[str], rows: Sequence[Row], place: str) -> list[bool]:
        """For which rows a condition holds.

        Args:
            place: Where it is in the template, for messages.

        Raises:
            UserError: It fails for one of them.
        """
        return [bool(value) for value in await self._over(f"bool({condition})", condition, names, rows, BLOCK, place)]

    async def values(self, expression: str, names: Sequence[str], rows: Sequence[Row], place: str) -> list[Any]:
        """What an expression gives for each row. As `hold`."""
        try:
            simple = field_of(ast.parse(expression.strip(), mode="eval").body)
        except BROKEN:
            simple = None
        if simple is None or simple[0] not in names:
            return await self._over(expression, expression, names, rows, VALUES, place)
        at, field = names.index(simple[0]), simple[1]
        if (missing := next((row[at] for row in rows if field not in row[at]), None)) is not None:
            raise UserError(f"{place}: {no_field(field, missing)}")
        return [row[at][field] for row in rows]

    async def _over(
        self, code: str, expression: str, names: Sequence[str], rows: Sequence[Row], block: int, place: str
    ) -> list[Any]:
        """Run code over the different rows that the expression sees, many at a time."""
        seen = fields_of(expression, names)
        target = f"({', '.join(seen)},)" if seen else "_"
        code = f"answer = [{code.strip()} for {target} in _records]"
        views = [(names.index(name), _View(fields)) for name, fields in seen.items()]
        viewed = [tuple(view.of(row[at]) for at, view in views) for row in rows]
        different = {tuple(map(id, row)): row for row in viewed}
        values: list[Any] = []
        for start in range(0, len(different), block):
            part = list(different.values())[start : start + block]
            session = Session(self._environment, self._sandbox)
            try:
                result = await session.run_program(code, {"_records": part})
            finally:
                session.close()
            if result.error is not None:
                raise UserError(f"{place}: {result.error.message}")
            if not isinstance(result.answer, list) or len(result.answer) != len(part):
                raise UserError(f"{place}: it is not one expression")
            values += result.answer
        by_key = dict(zip(different, values, strict=True))
        return [by_key[tuple(map(id, row))] for row in viewed]


class _View:
    """Records with those fields alone that an expression looks at; records that look the same become one."""

    def __init__(self, fields: frozenset[str] | None) -> None:
        self._fields = fields
        self._known: dict[int, Record] = {}
        self._different: dict[str, Record] = {}

    def of(self, record: Record) -> Record:
        if self._fields is None:
            return record
        if id(record) not in self._known:
            seen = {field: record[field] for field in sorted(self._fields) if field in record}
            self._known[id(record)] = self._different.setdefault(repr(seen), seen)
        return self._known[id(record)]


class Combination(NamedTuple):
    """A set of records that fills the template.

    Attributes:
        row: The records, in the order of the chooser's `names`.
        root: Place of the first record that it was made for.
        own: Whether it may become a question; others only tell whether a question has a second answer.
    """

    row: Row
    root: int
    own: bool


class Chooser:
    """Chooses records for one template.

    Args:
        kinds: Gives the records of a kind; see `Environment.records`.
        phrasings: All that the question may be written as.

    Attributes:
        names: Of the records in a row: the first one, those sampled, those joined.

    Raises:
        UserError: The environment has no records of a kind.
    """

    def __init__(
        self,
        template: Template,
        kinds: Callable[[str], Sequence[Record]],
        expressions: Expressions,
        seed: int,
        phrasings: Sequence[Phrasing],
    ) -> None:
        self._template, self._expressions, self._seed, self._phrasings = template, expressions, seed, phrasings
        self._lookalikes: dict[str, _Lookalikes] = {}
        self.names = [template.source, *(name for name, part in template.let.items() if isinstance(part, str))]
        try:
            self._kinds = {name: kinds(kind) for name, kind in template.kinds.items()}
        except KeyError as error:
            raise UserError(f"the environment has no records of kind {error}") from None
        for name in template.let:
            if not self._kinds[name]:
                raise UserError(f"let: the environment has no record of kind '{template.kinds[name]}'")

    async def choose(self) -> tuple[list[Combination], int]:
        """The sets of records, in the order in which they are to be used, and how many `where` refused.

        Every first record gives one set before any gives a second.

        Raises:
            UserError: A condition fails, or there are too many sets.
        """
        found = self._sampled()
        for name, part in self._template.let.items():
            if isinstance(part, Join):
                found = await self._joined(found, name, part)
        refused = 0
        if (where := self._template.where) is not None:
            keep = await self._expressions.hold(where, self.names, [one.row for one in found], "where")
            refused = sum(one.own and not k for one, k in zip(found, keep, strict=True))
            found = list(itertools.compress(found, keep))
        turns: dict[int, int] = {}
        order = []
        for place, one in enumerate(found):
            turns[one.root] = turns.get(one.root, -1) + one.own
            order.append((turns[one.root], place))
        return [found[place] for _, place in sorted(order)], refused

    def _sampled(self) -> list[Combination]:
        """Every first record with those sampled for it, and the sets that a question may show as the same."""
        chance = random.Random(f"{self._seed}/{self._template.id}")
        source, *names = self.names
        first = list(self._kinds[source])
        chance.shuffle(first)
        rows = [(record, *[chance.choice(self._kinds[name]) for name in names]) for record in first]
        if not names:
            return [Combination(row, root, True) for root, row in enumerate(rows)]
        self._lookalikes = {name: _Lookalikes(name, self._kinds[name], self._phrasings) for name in self.names}
        found = []
        for root, row in enumerate(rows):
            alike = [self._lookalikes[name].of(record) for name, record in zip(self.names, row, strict=True)]
            same = itertools.islice(itertools.product(*alike), LOOKALIKES + 1)
            found += [Combination(one, root, place == 0) for place, one in enumerate(same)]
        return found

    async def _joined(self, rows: list[Combination], name: str, join: Join) -> list[Combination]:
        """Every set with every record that goes with it, in an order that the seed decides."""
        place, records = f"let.{name}", self._kinds[name]
        order = list(range(len(records)))
        random.Random(f"{self._seed}/{self._template.id}/{name}").shuffle(order)
        candidates = [order] * len(rows)
        for field, expression in join.match.items():
            values = await self._expressions.values(
                expression, self.names, [one.row for one in rows], f"{place}.match.{field}"
            )
            if (missing := next((record for record in records if field not in record), None)) is not None:
                raise UserError(f"{place}.match: {no_field(field, missing)}")
            index = _index(field, records, order)
            for at, value in enumerate(values):
                fitting = _lookup(index, value) if value is not None else []
                before = candidates[at]
                known = set(before)
                candidates[at] = fitting if before is order else [number for number in fitting if number in known]
        _check_size(place, sum(map(len, candidates)), COMBINATIONS if join.where is None else PAIRS)
        pairs = [
            Combination((*one.row, records[number]), one.root, one.own)
            for one, numbers in zip(rows, candidates, strict=True)
            for number in numbers
        ]
        self.names.append(name)
        if join.where is not None:
            keep = await self._expressions.hold(join.where, self.names, [one.row for one in pairs], f"{place}.where")
            pairs = list(itertools.compress(pairs, keep))
            _check_size(place, len(pairs), COMBINATIONS)
        return pairs


def _check_size(place: str, number: int, most: int) -> None:
    if number > most:
        raise UserError(f"{place}: {number:,} sets of records, more than {most:,}; narrow it with match: or where:")


class _Lookalikes:
    """The records of a kind by those fields of them that each phrasing looks at."""

    def __init__(self, name: str, records: Sequence[Record], phrasings: Sequence[Phrasing]) -> None:
        self._known: dict[int, list[Record]] = {}
        self._groups: dict[frozenset[str] | None, dict[str, list[Record]]] = {}
        for fields in dict.fromkeys(phrasing.fields.get(name, frozenset()) for phrasing in phrasings):
            groups = self._groups.setdefault(fields, {})
            for record in records:
                groups.setdefault(_seen(record, fields), []).append(record)

    def of(self, record: Record) -> list[Record]:
        """The record itself, and others of which some phrasing shows the same."""
        if id(record) not in self._known:
            found = {id(record): record}
            for fields, groups in self._groups.items():
                alike = groups[_seen(record, fields)][: UNSEEN if fields == frozenset() else LOOKALIKES + 1]
                found.update({id(other): other for other in alike})
            self._known[id(record)] = list(found.values())
        return self._known[id(record)]


def _seen(record: Record, fields: Iterable[str] | None) -> str:
    """What some fields of a record hold; all of it where they are None."""
    return repr(record if fields is None else [record.get(field) for field in sorted(fields)])


def _index(field: str, records: Sequence[Record], order: Sequence[int]) -> dict[Hashable, list[int]]:
    """The places of records by a field's value, or by each of its values where it is a list."""
    found: dict[Hashable, list[int]] = {}
    for number in order:
        for key in _keys(records[number][field]):
            found.setdefault(key, []).append(number)
    return found


def _lookup(index: dict[Hashable, list[int]], value: Any) -> list[int]:
    """The places of those records whose field equals the value, or shares a value with it."""
    keys = _keys(value)
    if len(keys) == 1:
        return index.get(keys[0], [])
    return list(dict.fromkeys(number for key in keys for number in index.get(key, [])))


def _keys(value: Any) -> list[Hashable]:
    """What a value is found by; an empty list by itself."""
    values = value if isinstance(value, list | tuple) else [value]
    keys = [repr(one) if isinstance(one, dict | list | tuple) else one for one in values]
    return list(dict.fromkeys(keys)) or [()]
