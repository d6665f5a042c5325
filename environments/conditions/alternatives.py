"""What may replace a value: another one of the same kind, from the same domain.

A number or a date becomes another of the same form and similar size. For a name, the kind is read off the environment:
the relations of its graph in which the name is an object, the fields of its records that contain it. Others that
share the most of these come first.
"""

from __future__ import annotations

import datetime
import itertools
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from r_eval.environments.base import Environment

from .replacing import as_date, dated, is_number, normal, tokens

KINDS = ("person", "publication")
"""Kinds of records that are looked at where an environment has them and is no graph."""
LEAST_NUMBER = 10
"""Smaller numbers are everywhere, and mostly mean something else."""
QUANTITY = 6
"""Words of a number with its unit, signs of Han among them."""
LONGEST = 300
"""Characters of a name; what is longer is a passage."""
MANY = 200
"""Candidates that are offered for a value, of those that are alike to the same degree."""
YEARS = range(1000, 2101)
DAYS = (200, 5000)
TRUTH = frozenset({"yes", "no", "true", "false"})
_FIGURE = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_ID = re.compile(r"[0-9a-f-]{16,}|https?://.*|.*(?:[a-z][0-9]|[0-9][a-z]|[0-9]-[0-9]).*", re.IGNORECASE)
"""Identifiers, addresses and codes."""


def replaceable(value: str) -> bool:
    """Whether a value is a name, a number or a date that can be told from other text.

    So can a number with its unit. Truth values, numbers below 10, identifiers, passages and the shortest of words
    ("He", "s", "M") cannot.
    """
    value = normal(value)
    if is_number(value):
        return float(value.replace(",", "")) >= LEAST_NUMBER
    if as_date(value) or _is_quantity(value):
        return True
    letters = [sign for sign in value if sign.isalpha()]
    if not letters or len(value) > LONGEST or value.casefold() in TRUTH | {"none", "unknown"} or _ID.fullmatch(value):
        return False
    if not (value[0].isalnum() and (value[-1].isalnum() or value[-1] in ".!?)")):
        return False
    return len(letters) > 2 or (len(letters) == 2 and (value.isupper() or not value.isascii()))


class Alternatives:
    """The values of a domain by kind.

    Args:
        environment: Its triples are read; where there are none, its records of `kinds`.
        kinds: The kinds of records.
    """

    def __init__(self, environment: Environment, kinds: Sequence[str] = KINDS) -> None:
        self._kinds: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for kind, text in _values(environment, kinds):
            value = normal(text)
            self._kinds[value].add(kind)
            self._members[kind][value] = None

    def of(self, value: str, draw: random.Random) -> Iterator[str]:
        """What may replace a value, the most alike first and otherwise in random order; nothing where none is known."""
        value = normal(value)
        if date := as_date(value):
            yield from (_near_date(*date, draw) for _ in range(MANY))
        elif is_number(value):
            yield from (near_number(value, draw) for _ in range(MANY))
        elif value in self._kinds:
            alike = {one for kind in self._kinds[value] for one in self._members[kind] if _alike(one, value)} - {value}
            ranked = sorted(alike, key=lambda one: (-self.nearness(value, one), one))
            for _, group in itertools.groupby(ranked, key=lambda one: self.nearness(value, one)):
                others = list(group)
                yield from draw.sample(others, min(len(others), MANY))
        elif _is_quantity(value):
            yield from (_FIGURE.sub(lambda figure: near_number(figure[0], draw), value) for _ in range(MANY))

    def longer(self, value: str) -> list[str]:
        """The names of a value's kinds that contain it: "Papua New Guinea" for "Guinea"."""
        value = normal(value)
        inner = f" {' '.join(tokens(value))} "
        others = {one for kind in self._kinds.get(value, ()) for one in self._members[kind]} - {value}
        return [one for one in others if value in one and inner in f" {' '.join(tokens(one))} "]

    def nearness(self, value: str, other: str) -> float:
        """By how much two names are alike: the share of their kinds that they have in common."""
        one, two = self._kinds.get(normal(value), set()), self._kinds.get(normal(other), set())
        return len(one & two) / len(one | two) if one and two else 0.0


def _is_quantity(value: str) -> bool:
    """Whether a value is a number of at least 10, or with decimals, with a few words around it, such as its unit."""
    large = any("." in one or float(one.replace(",", "")) >= LEAST_NUMBER for one in _FIGURE.findall(value))
    return large and value[0].isalnum() and not _ID.fullmatch(value) and len(tokens(value)) <= QUANTITY


def _alike(other: str, value: str) -> bool:
    """Whether a name is written as another one is: a number or a date never replaces a name."""
    is_name = replaceable(other) and not is_number(other) and as_date(other) is None
    return is_name and value[:1].isupper() == other[:1].isupper()


def _values(environment: Environment, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The kind and the text of every value of a domain."""
    triples = list(environment.triples())
    yield from ((relation, value) for _, relation, value in triples)
    for kind in () if triples else kinds:
        try:
            records = environment.records(kind)
        except KeyError:
            continue
        for field, value in itertools.chain.from_iterable(record.items() for record in records):
            texts = value if isinstance(value, list) else [value]
            yield from ((f"{kind}.{field}", one) for one in texts if isinstance(one, str) and 0 < len(one) <= LONGEST)


def near_number(value: str, draw: random.Random) -> str:
    """Another number with as many digits, by at most 30 % larger or smaller; of a year, by at most 15."""
    digits = "".join(filter(str.isdigit, value))
    number = int(digits)
    least = 1 if digits[0] == "0" else 10 ** (len(digits) - 1)
    near = 15 if value == digits and len(digits) == 4 and number in YEARS else max(3, number * 3 // 10)
    new = str(draw.randint(max(least, number - near), min(10 ** len(digits) - 1, number + near)))
    signs = iter(new.zfill(len(digits)))
    return "".join(next(signs) if sign.isdigit() else sign for sign in value)


def _near_date(date: datetime.date, form: str, draw: random.Random) -> str:
    """Another date, between half a year and 14 years away."""
    days = draw.randint(*DAYS) * draw.choice((-1, 1))
    try:
        return dated(date + datetime.timedelta(days), form)
    except OverflowError:
        return dated(date - datetime.timedelta(days), form)
