"""Which records fill a template: the first ones, those sampled with them, and those joined to them."""

from __future__ import annotations

import collections
import itertools
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import RootModel

from r_eval.environments.base import Environment
from r_eval.environments.json_lines import read_records
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.tasks.templates.programs import fields_of, no_field
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
BLOCK = 500
"""Sets of records that one program of the sandbox sees."""

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
        if kind in self._files and kind not in self._kinds:
            found = read_records(self._files[kind], lambda _: RootModel[Record])
            self._kinds[kind] = [record.root for _, record in found]
        if kind not in self._kinds:
            self._kinds[kind] = self._environment.records(kind)
        return self._kinds[kind]


class Expressions:
    """Works out Python text of a template file over many rows of records, which only the sandbox ever runs."""

    def __init__(self, environment: Environment, sandbox: Sandbox) -> None:
        self._environment, self._sandbox = environment, sandbox

    async def hold(self, condition: str, names: Sequence[str], rows: Sequence[Row], place: str) -> list[bool]:
        """For which rows a condition holds. As `values`."""
        return [bool(value) for value in await self.values(f"bool({condition.strip()})", names, rows, place)]

    async def values(self, expression: str, names: Sequence[str], rows: Sequence[Row], place: str) -> list[Any]:
        """What an expression gives for each row; it is worked out once for rows that look the same to it.

        Args:
            place: Where it is in the template, for messages.

        Raises:
            UserError: It fails for one of them.
        """
        seen = fields_of(expression, names)
        views = [(names.index(name), _view(fields)) for name, fields in seen.items()]
        viewed = [tuple(view(row[at]) for at, view in views) for row in rows]
        different = list({tuple(map(id, row)): row for row in viewed}.values())
        target = f"({', '.join(seen)},)" if seen else "_"
        code = f"answer = [{expression.strip()} for {target} in _records]"
        values: list[Any] = []
        for start in range(0, len(different), BLOCK):
            part = different[start : start + BLOCK]
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
        by_key = {tuple(map(id, row)): value for row, value in zip(different, values, strict=True)}
        return [by_key[tuple(map(id, row))] for row in viewed]


def _view(fields: frozenset[str] | None) -> Callable[[Record], Record]:
    """Gives records with some fields alone; records that look the same become one."""
    known: dict[int, Record] = {}
    different: dict[str, Record] = {}

    def view(record: Record) -> Record:
        if fields is None:
            return record
        if id(record) not in known:
            seen = {field: record[field] for field in sorted(fields) if field in record}
            known[id(record)] = different.setdefault(repr(seen), seen)
        return known[id(record)]

    return view


class Combination(NamedTuple):
    """A set of records that fills the template.

    Attributes:
        row: The records.
        root: Place of the first record that it was made for.
        own: Whether it may become a question; others only tell whether a question has a second answer.
    """

    row: Row
    root: int
    own: bool


async def choose(
    template: Template,
    kinds: Callable[[str], list[Record]],
    expressions: Expressions,
    seed: int,
    phrasings: Sequence[Phrasing],
) -> tuple[list[str], list[Combination], int]:
    """The names of the records in a row; the sets of records, in the order in which they are to be used; and how many
    `where` refused. Every first record gives one set before any gives a second.

    Args:
        kinds: Gives the records of a kind; see `Environment.records`.
        phrasings: All that the question may be written as.

    Raises:
        UserError: The environment has no records of a kind, a condition fails, or there are too many sets.
    """
    names = [template.source, *(name for name, part in template.let.items() if isinstance(part, str))]
    try:
        records = {name: kinds(kind) for name, kind in template.kinds.items()}
    except KeyError as error:
        raise UserError(f"the environment has no records of kind {error}") from None
    for name in template.let:
        if not records[name]:
            raise UserError(f"let: the environment has no record of kind '{template.kinds[name]}'")
    found = _sampled(names, records, f"{seed}/{template.id}", phrasings)
    for name, part in template.let.items():
        if isinstance(part, Join):
            order = list(range(len(records[name])))
            random.Random(f"{seed}/{template.id}/{name}").shuffle(order)
            found = await _joined(found, names, name, part, [records[name][place] for place in order], expressions)
            names.append(name)
    refused = 0
    if template.where is not None:
        keep = await expressions.hold(template.where, names, [one.row for one in found], "where")
        refused = sum(one.own and not k for one, k in zip(found, keep, strict=True))
        found = list(itertools.compress(found, keep))
    turns: dict[int, int] = {}
    order_of = []
    for place, one in enumerate(found):
        turns[one.root] = turns.get(one.root, -1) + one.own
        order_of.append((turns[one.root], place))
    return names, [found[place] for _, place in sorted(order_of)], refused


def _sampled(
    names: Sequence[str], records: Mapping[str, list[Record]], seed: str, phrasings: Sequence[Phrasing]
) -> list[Combination]:
    """Every first record with those sampled for it, and the sets that a question may show as the same."""
    chance = random.Random(seed)
    first = list(records[names[0]])
    chance.shuffle(first)
    rows = [(record, *[chance.choice(records[name]) for name in names[1:]]) for record in first]
    if len(names) == 1:
        return [Combination(row, root, True) for root, row in enumerate(rows)]
    lookalikes = [_lookalikes(name, records[name], phrasings) for name in names]
    found = []
    for root, row in enumerate(rows):
        alike = [of(record) for of, record in zip(lookalikes, row, strict=True)]
        same = itertools.islice(itertools.product(*alike), LOOKALIKES + 1)
        found += [Combination(one, root, place == 0) for place, one in enumerate(same)]
    return found


def _lookalikes(
    name: str, records: Sequence[Record], phrasings: Sequence[Phrasing]
) -> Callable[[Record], list[Record]]:
    """Gives, for a record of a kind, itself and others of which some phrasing shows the same."""

    def shown(record: Record, fields: frozenset[str] | None) -> str:
        return repr(record if fields is None else [record.get(field) for field in sorted(fields)])

    alike: dict[frozenset[str] | None, dict[str, list[Record]]] = {}
    for fields in dict.fromkeys(phrasing.fields.get(name, frozenset()) for phrasing in phrasings):
        alike[fields] = collections.defaultdict(list)
        for record in records:
            alike[fields][shown(record, fields)].append(record)

    def of(record: Record) -> list[Record]:
        found = {id(record): record}
        for fields, groups in alike.items():
            most = UNSEEN if fields == frozenset() else LOOKALIKES + 1
            found.update({id(other): other for other in groups[shown(record, fields)][:most]})
        return list(found.values())

    return of


async def _joined(
    rows: list[Combination],
    names: Sequence[str],
    name: str,
    join: Join,
    records: Sequence[Record],
    expressions: Expressions,
) -> list[Combination]:
    """Every set with every record that goes with it, in the order in which these come."""
    place, every = f"let.{name}", list(range(len(records)))
    candidates = [every] * len(rows)
    for field, expression in join.match.items():
        values = await expressions.values(expression, names, [one.row for one in rows], f"{place}.match.{field}")
        if (missing := next((record for record in records if field not in record), None)) is not None:
            raise UserError(f"{place}.match: {no_field(field, missing)}")
        index: dict[Hashable, list[int]] = {}
        for number, record in enumerate(records):
            for key in _keys(record[field]):
                index.setdefault(key, []).append(number)
        for at, value in enumerate(values):
            keys = [] if value is None else _keys(value)
            fitting = list(dict.fromkeys(number for key in keys for number in index.get(key, ())))
            known = set(candidates[at])
            candidates[at] = fitting if candidates[at] is every else [n for n in fitting if n in known]
    _check_size(place, sum(map(len, candidates)), COMBINATIONS if join.where is None else PAIRS)
    pairs = [
        Combination((*one.row, records[number]), one.root, one.own)
        for one, numbers in zip(rows, candidates, strict=True)
        for number in numbers
    ]
    if join.where is not None:
        keep = await expressions.hold(join.where, [*names, name], [one.row for one in pairs], f"{place}.where")
        pairs = list(itertools.compress(pairs, keep))
        _check_size(place, len(pairs), COMBINATIONS)
    return pairs


def _check_size(place: str, number: int, most: int) -> None:
    if number > most:
        raise UserError(f"{place}: {number:,} sets of records, more than {most:,}; narrow it with match: or where:")


def _keys(value: Any) -> list[Hashable]:
    """What a value is found by: each member of a list; an empty list by itself."""
    values = value if isinstance(value, list | tuple) else [value]
    keys = [repr(one) if isinstance(one, dict | list | tuple) else one for one in values]
    return list(dict.fromkeys(keys)) or [()]
