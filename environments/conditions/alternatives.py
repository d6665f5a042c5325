"""What may stand for a value: another one of the same kind, from the same domain.

A number or a date becomes another of the same form and similar size. For a name, the kind is read off the environment:
the relations of its graph in which the name is an object, the fields of its records in which it stands. Others that
stand in the most of these come first.
"""

from __future__ import annotations

import datetime
import itertools
import operator
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from r_eval.environments.base import Environment

from .replacing import MONTHS, as_date, dated, is_number, normal, tokens

KINDS = ("person", "publication")
"""Kinds of records that are looked at where an environment has them and is no graph."""
LEAST_NUMBER = 10
"""Smaller numbers stand everywhere, and mostly for something else."""
QUANTITY = 6
"""Words of a number with its unit, signs of Han among them."""
LONGEST = 300
"""Characters of a name; what is longer is a passage."""
MANY = 200
"""Candidates that are offered for a value, of those that are alike to the same degree."""
YEARS = range(1000, 2101)
DAYS = (200, 5000)
_FIGURE = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_MONTH = re.compile("|".join(MONTHS))
_DAY = re.compile(rf"[0-9]{{1,2}} (?:{_MONTH.pattern})|(?:{_MONTH.pattern}) [0-9]{{1,2}}\b|[0-9]+月[0-9]+日")
_CODE = re.compile(r"[a-z][0-9]|[0-9][a-z]|[0-9]-[0-9]", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f-]{16,}|https?://.*", re.IGNORECASE)
_TRUTH = frozenset({"yes", "no", "true", "false", "none", "unknown"})


def replaceable(value: str) -> bool:
    """Whether a value is a name, a number or a date that can be told from other text.

    So can a number with its unit, and a day of the year. Truth values, numbers below 10, identifiers, passages and the
    shortest of words ("He", "s", "M") cannot.
    """
    value = normal(value)
    if is_number(value):
        return float(value.replace(",", "")) >= LEAST_NUMBER
    if _is_quantity(value):
        return True
    letters = [sign for sign in value if sign.isalpha()]
    if not letters or len(value) > LONGEST or value.casefold() in _TRUTH or _ID.fullmatch(value):
        return False
    if not (value[0].isalnum() and (value[-1].isalnum() or value[-1] in ".!?)")):
        return False
    return len(letters) > 2 or (len(letters) == 2 and (value.isupper() or not value.isascii()))


class Alternatives:
    """The values of a domain by kind.

    Args:
        environment: Its triples are read; where there are none, its records of `kinds`.
        pool: Further values, all taken as of one kind.
    """

    def __init__(self, environment: Environment, kinds: Sequence[str] = KINDS, pool: Sequence[str] = ()) -> None:
        self._kinds: dict[str, set[str]] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._ranked: dict[str, list[tuple[float, str]]] = {}
        self._longer: dict[str, list[str]] = {}
        for kind, value in (*_values(environment, kinds), *(("pool", value) for value in pool)):
            value = normal(value)
            self._kinds.setdefault(value, set()).add(kind)
            self._members.setdefault(kind, {})[value] = None

    def of(self, value: str, draw: random.Random) -> Iterator[str]:
        """What may stand for a value, the most alike first and otherwise by chance; nothing where none is known."""
        value = normal(value)
        if date := as_date(value):
            yield from (_date(*date, draw) for _ in range(MANY))
        elif is_number(value):
            yield from (near_number(value, draw) for _ in range(MANY))
        elif value in self._kinds:
            yield from self._names(value, draw)
        elif _is_quantity(value):
            yield from (_quantity(value, draw) for _ in range(MANY))

    def nearness(self, value: str, other: str) -> float:
        """By how much two names are alike: the share of their kinds that they have in common."""
        one, two = self._kinds.get(normal(value), set()), self._kinds.get(normal(other), set())
        return len(one & two) / len(one | two) if one and two else 0.0

    def longer(self, value: str) -> list[str]:
        """The names of the kinds of a name within which it stands: "Assistant Professor" for "Professor"."""
        value = normal(value)
        if value not in self._longer:
            inner = f" {' '.join(tokens(value))} "
            others = {other for kind in self._kinds.get(value, ()) for other in self._members[kind]} - {value}
            self._longer[value] = sorted(
                other
                for other in others
                if value.casefold() in other.casefold() and inner in f" {' '.join(tokens(other))} "
            )
        return self._longer[value]

    def _names(self, value: str, draw: random.Random) -> Iterator[str]:
        """The other names that share a kind with a name, the most alike first and otherwise by chance."""
        if value not in self._ranked:
            others = {other for kind in self._kinds.get(value, ()) for other in self._members[kind]} - {value}
            self._ranked[value] = sorted((-self.nearness(value, one), one) for one in others if _alike(one, value))
        for _, pairs in itertools.groupby(self._ranked[value], key=operator.itemgetter(0)):
            group = [other for _, other in pairs]
            yield from draw.sample(group, min(len(group), MANY))


def _is_quantity(value: str) -> bool:
    """Whether a value is a number of at least 10, or with decimals, with a few words around it, such as its unit."""
    figures = _FIGURE.findall(value)
    large = [figure for figure in figures if "." in figure or float(figure.replace(",", "")) >= LEAST_NUMBER]
    ends = value[:1].isalnum() and (value[-1].isalnum() or value[-1] == "%")
    if not large or len(tokens(value)) > QUANTITY or not ends:
        return False
    return not (is_number(value) or as_date(value) is not None or _ID.fullmatch(value) or _CODE.search(value))


def _quantity(value: str, draw: random.Random) -> str:
    """The same words with other numbers, or another day of the year."""
    if _DAY.search(value) is not None:
        day, month = str(draw.randint(10, 28)), draw.choice(MONTHS)
        value = _MONTH.sub(month, value)
        if "月" in value:
            return re.sub("[0-9]+月[0-9]+日", f"{MONTHS.index(month) + 1}月{day}日", value)
        return _FIGURE.sub(day, value, count=1)
    return _FIGURE.sub(lambda figure: near_number(figure[0], draw), value)


def _alike(other: str, value: str) -> bool:
    """Whether a name is written as another one is: a number or a date never stands for a name."""
    if not replaceable(other) or is_number(other) or as_date(other) is not None:
        return False
    return value[:1].isupper() == other[:1].isupper()


def _values(environment: Environment, kinds: Iterable[str]) -> Iterator[tuple[str, str]]:
    graph = False
    for _, relation, value in environment.triples():
        graph = True
        yield relation, value
    for kind in () if graph else kinds:
        try:
            records = environment.records(kind)
        except KeyError:
            continue
        for record in records:
            for field, value in record.items():
                yield from ((f"{kind}.{field}", text) for text in _texts(value))


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text and len(text) <= LONGEST]


def near_number(value: str, draw: random.Random) -> str:
    """Another number with as many digits, by at most 30 % larger or smaller; of a year, by at most 15."""
    digits = "".join(filter(str.isdigit, value))
    number = int(digits)
    least = 1 if digits[0] == "0" else 10 ** (len(digits) - 1)
    near = 15 if value == digits and len(digits) == 4 and number in YEARS else max(3, number * 3 // 10)
    new = str(draw.randint(max(least, number - near), min(10 ** len(digits) - 1, number + near)))
    signs = iter(new.zfill(len(digits)))
    return "".join(next(signs) if sign.isdigit() else sign for sign in value)


def _date(date: datetime.date, form: str, draw: random.Random) -> str:
    """Another date, between half a year and 14 years away."""
    days = draw.randint(*DAYS) * draw.choice((-1, 1))
    try:
        return dated(date + datetime.timedelta(days), form)
    except OverflowError:
        return dated(date - datetime.timedelta(days), form)
