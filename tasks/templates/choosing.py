"""Which records fill a template: the first ones, those sampled beside them, and those joined to them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from r_eval.errors import UserError
from r_eval.tasks.templates.conditions import Conditions, equalities
from r_eval.tasks.templates.schema import Join, Template
from r_eval.tasks.templates.wording import Phrasing, Row

COMBINATIONS = 300_000
"""Sets of records that one template may have."""
PAIRS = 1_000_000
"""Pairs that the condition of one join may be asked of."""
TWINS = 20
"""Records that are tried in place of a sampled one because a question shows the same of them."""
UNSEEN = 3
"""The same, where a question shows nothing of them: an answer that depends on them differs soon."""


class Chosen(NamedTuple):
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
    """

    def __init__(
        self,
        template: Template,
        kinds: Callable[[str], Sequence[dict[str, Any]]],
        conditions: Conditions,
        seed: int,
        phrasings: Sequence[Phrasing],
    ) -> None:
        self._template, self._conditions, self._seed, self._phrasings = template, conditions, seed, phrasings
        self._twins: dict[str, _Twins] = {}
        sampled = [name for name, part in template.let.items() if isinstance(part, str)]
        self.names = [template.source, *sampled]
        try:
            self._kinds = {name: kinds(kind) for name, kind in template.kinds.items()}
        except KeyError as error:
            raise UserError(f"the environment has no records of kind {error}") from None
        for name in template.let:
            if not self._kinds[name]:
                raise UserError(f"let: the environment has no record of kind '{template.kinds[name]}'")

    async def choose(self) -> tuple[list[Chosen], int]:
        """The sets of records, in the order in which they are to be used, and how many `where` refused.

        Every first record gives one set before any gives a second.

        Raises:
            UserError: A condition fails, or there are too many sets.
        """
        chosen = self._sampled()
        for name, part in self._template.let.items():
            if isinstance(part, Join):
                chosen = await self._joined(chosen, name, part)
        refused = 0
        if (where := self._template.where) is not None:
            keep = await self._asked("where", where, [c.row for c in chosen])
            refused = sum(c.own and not k for c, k in zip(chosen, keep, strict=True))
            chosen = [c for c, k in zip(chosen, keep, strict=True) if k]
        turns: dict[int, int] = {}
        order = []
        for place, one in enumerate(chosen):
            turns[one.root] = turns.get(one.root, -1) + one.own
            order.append((turns[one.root], place))
        return [chosen[place] for _, place in sorted(order)], refused

    def _sampled(self) -> list[Chosen]:
        """Every first record with those sampled beside it, and the sets that a question may show as the same."""
        chance = random.Random(f"{self._seed}/{self._template.id}")
        source, *names = self.names
        first = list(self._kinds[source])
        chance.shuffle(first)
        drawn = [(record, *[chance.choice(self._kinds[name]) for name in names]) for record in first]
        if not names:
            return [Chosen(row, root, True) for root, row in enumerate(drawn)]
        chosen = []
        for root, row in enumerate(drawn):
            others = itertools.product(*map(self._alike, self.names, row))
            chosen += [Chosen(r, root, place == 0) for place, r in enumerate(itertools.islice(others, TWINS + 1))]
        return chosen

    def _alike(self, name: str, record: dict[str, Any]) -> list[dict[str, Any]]:
        """A record, and others of its kind of which some phrasing shows the same."""
        if name not in self._twins:
            self._twins[name] = _Twins(name, self._kinds[name], self._phrasings)
        return self._twins[name].of(record)

    async def _joined(self, chosen: list[Chosen], name: str, join: Join) -> list[Chosen]:
        """Every set with every record that goes with it, in an order that the seed decides."""
        place, found = f"let.{name}", self._kinds[name]
        order = list(range(len(found)))
        random.Random(f"{self._seed}/{self._template.id}/{name}").shuffle(order)
        candidates = await self._candidates(place, name, join, [c.row for c in chosen], order)
        tried = sum(map(len, candidates))
        self._bounded(place, tried, COMBINATIONS if join.where is None else PAIRS)
        pairs = [
            Chosen((*one.row, found[number]), one.root, one.own)
            for one, numbers in zip(chosen, candidates, strict=True)
            for number in numbers
        ]
        self.names.append(name)
        if join.where is None:
            return pairs
        keep = await self._asked(f"{place}.where", join.where, [pair.row for pair in pairs])
        pairs = [pair for pair, kept in zip(pairs, keep, strict=True) if kept]
        self._bounded(place, len(pairs))
        return pairs

    async def _candidates(
        self, place: str, name: str, join: Join, rows: list[Row], order: list[int]
    ) -> list[list[int]]:
        """For each set, the places of the records that may go with it; the join's condition has still to be asked."""
        found = self._kinds[name]
        candidates = [order] * len(rows)
        for field, expression in join.match.items():
            try:
                values = await self._conditions.values(expression, self.names, rows)
            except UserError as error:
                raise UserError(f"{place}.match.{field}: {error}") from None
            if any(field not in record for record in found):
                raise UserError(f"{place}.match: no field '{field}'")
            index = _Index(field, found, order)
            candidates = _both(candidates, [index.of(v) if v is not None else [] for v in values], order)
        for field, kind, expression in equalities(join.where or "", name):
            if any(field not in record for record in found):
                continue
            try:
                values = await self._conditions.values(expression, self.names, rows)
            except UserError:  # what the condition itself may never come to
                continue
            if all(_fits(kind, record[field]) for record in found) and (kind != "among" or all(map(_listed, values))):
                index = _Index(field, found, order)
                candidates = _both(candidates, [index.of(value) for value in values], order)
        return candidates

    async def _asked(self, place: str, condition: str, rows: Sequence[Row]) -> list[bool]:
        try:
            return await self._conditions.hold(condition, self.names, rows)
        except UserError as error:
            raise UserError(f"{place}: {error}") from None

    @staticmethod
    def _bounded(place: str, number: int, most: int = COMBINATIONS) -> None:
        if number > most:
            raise UserError(f"{place}: {number:,} sets of records, more than {most:,}; narrow it with match: or where:")


class _Twins:
    """The records of a kind by those fields of them that each phrasing looks at."""

    def __init__(self, name: str, records: Sequence[dict[str, Any]], phrasings: Sequence[Phrasing]) -> None:
        self._known: dict[int, list[dict[str, Any]]] = {}
        self._alike: dict[frozenset[str] | None, dict[str, list[dict[str, Any]]]] = {}
        for fields in dict.fromkeys(phrasing.fields.get(name, frozenset()) for phrasing in phrasings):
            alike: dict[str, list[dict[str, Any]]] = {}
            for record in records:
                alike.setdefault(_seen(record, fields), []).append(record)
            self._alike[fields] = alike

    def of(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """The record itself first."""
        if id(record) in self._known:
            return self._known[id(record)]
        found = {id(record): record}
        for fields, groups in self._alike.items():
            alike = groups[_seen(record, fields)]
            found.update({id(other): other for other in alike[: UNSEEN if fields == frozenset() else TWINS + 1]})
        self._known[id(record)] = list(found.values())
        return self._known[id(record)]


def _seen(record: dict[str, Any], fields: frozenset[str] | None) -> str:
    """What stands in some fields of a record; in all of it where they are None."""
    return repr(record if fields is None else [record.get(field) for field in sorted(fields)])


class _Index:
    """The places of records by a field's value, or by each of its values where it is a list."""

    def __init__(self, field: str, records: Sequence[dict[str, Any]], order: Sequence[int]) -> None:
        self._places: dict[Hashable, list[int]] = {}
        for number in order:
            for key in _keys(records[number][field]):
                self._places.setdefault(key, []).append(number)

    def of(self, value: Any) -> list[int]:
        """Those whose field equals the value, or shares a value with it."""
        keys = _keys(value)
        if len(keys) == 1:
            return self._places.get(keys[0], [])
        return list(dict.fromkeys(number for key in keys for number in self._places.get(key, [])))


def _keys(value: Any) -> list[Hashable]:
    """What a value is found by; an empty list by itself."""
    if isinstance(value, list | tuple):
        return list(dict.fromkeys(_key(v) for v in value)) or [()]
    return [_key(value)]


def _key(value: Any) -> Hashable:
    return repr(value) if isinstance(value, dict | list | tuple) else value


def _fits(kind: str, value: Any) -> bool:
    """Whether an index over such a field finds all that the comparison accepts; `in` looks for parts of a text."""
    if kind == "holds":
        return isinstance(value, list)
    return not isinstance(value, dict) and not (isinstance(value, list) and any(_nested(v) for v in value))


def _nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _listed(value: Any) -> bool:
    return isinstance(value, list) and not any(_nested(v) for v in value)


def _both(one: list[list[int]], other: list[list[int]], every: list[int]) -> list[list[int]]:
    """What two lists of places share; `every` stands for all of them."""
    found = []
    for left, right in zip(one, other, strict=True):
        kept = set(left) if left is not every else None
        found.append(right if kept is None else [number for number in right if number in kept])
    return found
