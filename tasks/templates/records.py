"""Selects the records of a template: first records, and those sampled with or joined to them."""

from __future__ import annotations

import collections
import itertools
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import RootModel
from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment
from r_eval.environments.json_lines import read_records
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.tasks.templates.programs import dotted_field, fields_of, no_field
from r_eval.tasks.templates.render import Phrasing
from r_eval.tasks.templates.schema import Join, Template

COMBINATIONS = 300_000
"""Maximum combinations of records per template."""
PAIRS = 1_000_000
"""Maximum pairs for the condition of one join."""
LOOKALIKES = 20
"""Maximum lookalikes of a sampled record of which a question shows the same."""
UNSEEN = 3
"""Maximum lookalikes if the question shows nothing of them; a dependent answer then differs soon."""
BLOCK = 500
"""Combinations of records per sandbox program."""

Record = dict[str, Any]
Row = tuple[Record, ...]
"""Records in the order of a separate list of names."""


class KnownRecords:
    """An environment's records, each kind read once, since records are identified by object identity.

    Args:
        files: By kind, a file of records that replaces the environment's.
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
            if kind in self._files:
                records = [record.root for _, record in read_records(self._files[kind], lambda _: RootModel[Record])]
            else:
                records = [_plain(record) for record in self._environment.records(kind)]
            if wrong := next((record for record in records if not isinstance(record, dict)), None):
                raise UserError(f"a record of kind '{kind}' must be a mapping of fields to values, not {wrong!r:.80}")
            fields = dict.fromkeys(field for record in records for field in record)
            self._kinds[kind] = [{**fields, **record} for record in records]  # one may lack what others have
        return self._kinds[kind]


def _plain(value: Any) -> Any:
    """A value as programs can write it: dates as texts, numbers of numpy as numbers, NaN as None, sets sorted."""
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=str)
    if isinstance(value, float | date) and value != value:  # NaN, and the date that pandas has for none
        return None
    plain = to_jsonable_python(value, fallback=lambda other: getattr(other, "tolist", other.__repr__)())
    return None if plain != plain else plain


class Expressions:
    """Evaluates Python expressions of a template file over rows of records, in the sandbox only."""

    def __init__(self, environment: Environment, sandbox: Sandbox) -> None:
        self._environment, self._sandbox = environment, sandbox

    async def hold(self, condition: str, names: Sequence[str], rows: Sequence[Row], place: str) -> list[bool]:
        """Whether a condition is true for each row; see `values`."""
        return [bool(value) for value in await self.values(f"bool({condition.strip()})", names, rows, place)]

    async def values(self, expression: str, names: Sequence[str], rows: Sequence[Row], place: str) -> list[Any]:
        """The value of an expression for each row, evaluated once for rows that it sees as equal.

        Args:
            place: Its key in the template, for messages.

        Raises:
            UserError: The expression fails for a row.
        """
        fields_read = fields_of(expression, names)
        views = [(names.index(name), _view(fields)) for name, fields in fields_read.items()]
        viewed = [tuple(view(row[at]) for at, view in views) for row in rows]
        different = list({tuple(map(id, row)): row for row in viewed}.values())
        target = f"({', '.join(fields_read)},)" if fields_read else "_"
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
                for name, fields in fields_read.items():
                    record = rows[0][names.index(name)]
                    for field in sorted(fields or ()):
                        if field not in record:
                            raise UserError(f"{place}: {no_field(field, record)}")
                reason = dotted_field(expression, dict(zip(names, rows[0], strict=True))) or result.error.message
                raise UserError(f"{place}: {reason}")
            if not isinstance(result.answer, list) or len(result.answer) != len(part):
                raise UserError(f"{place}: it is not one expression")
            values += result.answer
        by_key = {tuple(map(id, row)): value for row, value in zip(different, values, strict=True)}
        return [by_key[tuple(map(id, row))] for row in viewed]


def _view(fields: frozenset[str] | None) -> Callable[[Record], Record]:
    """A function that restricts records to some fields; equal results are one object."""
    views_by_id: dict[int, Record] = {}
    different: dict[str, Record] = {}

    def view(record: Record) -> Record:
        if fields is None:
            return record
        if id(record) not in views_by_id:
            visible = {field: record[field] for field in sorted(fields) if field in record}
            views_by_id[id(record)] = different.setdefault(repr(visible), visible)
        return views_by_id[id(record)]

    return view


class Combination(NamedTuple):
    """A combination of records that fills the template.

    Attributes:
        row: The records.
        root: Index of its first record.
        own: Whether it may become a question; others only show whether a question is ambiguous.
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
    """The names of the records in a row, the combinations of records in the order of their use, and the number for
    which `where` is false. Every first record gives one combination before any gives a second.

    Args:
        kinds: Returns the records of a kind; see `Environment.records`.
        phrasings: All phrasings of the question.

    Raises:
        UserError: The environment has no records of a kind, a condition fails, or there are too many sets.
    """
    names = [template.source, *(name for name, part in template.let.items() if isinstance(part, str))]
    try:
        records = {name: kinds(kind) for name, kind in template.kinds.items()}
    except KeyError as error:
        kind, *known = error.args
        close = get_close_matches(str(kind), known)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise UserError(f"the environment has no records of kind '{kind}'{hint}") from None
    for name in template.let:
        if not records[name]:
            raise UserError(f"let: the environment has no record of kind '{template.kinds[name]}'")
    combinations = _sampled(names, records, f"{seed}/{template.id}", phrasings)
    for name, part in template.let.items():
        if isinstance(part, Join):
            order = list(range(len(records[name])))
            random.Random(f"{seed}/{template.id}/{name}").shuffle(order)
            combinations = await _join_records(
                combinations, names, name, part, [records[name][place] for place in order], expressions
            )
            names.append(name)
    refused = 0
    if template.where is not None:
        keep = await expressions.hold(template.where, names, [one.row for one in combinations], "where")
        refused = sum(one.own and not k for one, k in zip(combinations, keep, strict=True))
        combinations = list(itertools.compress(combinations, keep))
    turns: dict[int, int] = {}
    order_of = []
    for place, one in enumerate(combinations):
        turns[one.root] = turns.get(one.root, -1) + one.own
        order_of.append((turns[one.root], place))
    return names, [combinations[place] for _, place in sorted(order_of)], refused


def _sampled(
    names: Sequence[str], records: Mapping[str, list[Record]], seed: str, phrasings: Sequence[Phrasing]
) -> list[Combination]:
    """Every first record with its sampled records, and their lookalikes."""
    chance = random.Random(seed)
    first = list(records[names[0]])
    chance.shuffle(first)
    rows = [(record, *[chance.choice(records[name]) for name in names[1:]]) for record in first]
    if len(names) == 1:
        return [Combination(row, root, True) for root, row in enumerate(rows)]
    lookalikes = [_lookalikes(name, records[name], phrasings) for name in names]
    combinations = []
    for root, row in enumerate(rows):
        similar = [of(record) for of, record in zip(lookalikes, row, strict=True)]
        same = itertools.islice(itertools.product(*similar), LOOKALIKES + 1)
        combinations += [Combination(one, root, place == 0) for place, one in enumerate(same)]
    return combinations


def _lookalikes(
    name: str, records: Sequence[Record], phrasings: Sequence[Phrasing]
) -> Callable[[Record], list[Record]]:
    """A function that returns a record with others of which some phrasing shows the same."""

    def visible_fields(record: Record, fields: frozenset[str] | None) -> str:
        return repr(record if fields is None else [record.get(field) for field in sorted(fields)])

    similar: dict[frozenset[str] | None, dict[str, list[Record]]] = {}
    for fields in dict.fromkeys(phrasing.fields.get(name, frozenset()) for phrasing in phrasings):
        similar[fields] = collections.defaultdict(list)
        for record in records:
            similar[fields][visible_fields(record, fields)].append(record)

    def of(record: Record) -> list[Record]:
        similar_records = {id(record): record}
        for fields, groups in similar.items():
            most = UNSEEN if fields == frozenset() else LOOKALIKES + 1
            similar_records.update({id(other): other for other in groups[visible_fields(record, fields)][:most]})
        return list(similar_records.values())

    return of


async def _join_records(
    rows: list[Combination],
    names: Sequence[str],
    name: str,
    join: Join,
    records: Sequence[Record],
    expressions: Expressions,
) -> list[Combination]:
    """Join records to every combination, in the order of the records."""
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
            previous = set(candidates[at])
            candidates[at] = fitting if candidates[at] is every else [n for n in fitting if n in previous]
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
    """The index keys of a value: the members of a list, or the value itself."""
    values = value if isinstance(value, list | tuple) else [value]
    keys = [repr(one) if isinstance(one, dict | list | tuple) else one for one in values]
    return list(dict.fromkeys(keys)) or [()]
