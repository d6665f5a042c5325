"""Draws which values of a question are replaced, and by what.

- What is read gets other values of its kind; so does what the question contains, if it quotes what it asks about.
- Where the answer is one of the things that the question names, a truth value or a number that the program computes,
  numbers and dates are drawn near to each other's, so that a comparison comes out another way; or a value takes the
  name of a thing that the question names, which gets one from elsewhere; or a thing that the question names gets a name
  from elsewhere, so that what was so is not.

A value is replaced by another one of the same kind, from the same domain. A number or a date becomes another of the
same form and similar size. For a name, the kind is read off the environment: the relations of its graph in which the
name is an object, the fields of its records that contain it. Others that share the most of these come first.
"""

from __future__ import annotations

import datetime
import itertools
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from r_eval.environments.base import Environment
from r_eval.records import Question

from .replacing import Replacements, as_date, dated, is_number, normal, overlap, same_kind, tokens

READ, OPEN, QUOTED = "read", "open", "quoted"
"""What becomes the answer: what is read; whatever the program then comes to; what is read in the question."""
LITERAL = re.compile(r"'[^'\\\n]*'|\"[^\"\\\n]*\"")
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


def aim_of(question: Question, golds: Sequence[str], seen: str) -> str:
    """How the answer comes about, as far as that decides what may be replaced.

    Args:
        question: The question.
        golds: Its answers, each item of a list alone.
        seen: All that the gold program saw.
    """
    if not question.program:
        return READ
    counted = all(map(is_number, golds)) and not (any(contains_each(seen, golds)) and any(map(replaceable, golds)))
    if are_truth(golds) or counted:
        return OPEN
    if not all(contains_each(question.question, golds)):
        return READ
    return OPEN if all(contains_each("\n".join(_literals(question)), golds)) else QUOTED


class Drawing:
    """Draws for one question; no new value occurs in anything that the gold program saw.

    Args:
        question, aim, golds, seen: See `aim_of`.
        known: What may replace what.
        draw: The source of chance.
    """

    def __init__(
        self, question: Question, aim: str, golds: Sequence[str], seen: str, known: Alternatives, draw: random.Random
    ) -> None:
        self._aim, self._known, self._draw = aim, known, draw
        self._rests = _rests_on(question, aim, golds)
        is_named = dict(zip(self._rests, contains_each(question.question, self._rests), strict=True))
        self._values = [value for value in self._rests if aim == QUOTED or not is_named[value]]
        literals = _literals(question) if aim == OPEN else ()
        self._named = [name for name in dict.fromkeys([*self._rests, *literals]) if is_named.get(name, True)]
        self._figures = [text for text in tokens(question.question) if is_number(text) and replaceable(text)]
        self._is_computed = are_truth(golds) or all(map(is_number, golds))
        self._read = line("\n".join([question.question, seen, *(one.text for one in question.context)]))

    def changes(self) -> Iterator[Replacements | None]:
        """One draw after the other, without end; None where one finds nothing."""
        moves = [self._replaced]
        if self._aim == OPEN:  # other names for what is compared change nothing: what is equal stays so
            compared = any(is_number(value) or as_date(value) is not None for value in self._values)
            moves = [self._perturbed, self._perturbed] if compared else []
            moves += [self._renamed_to_option] if self._named else []
            if self._named and self._is_computed:
                moves.append(lambda: self._changes({self._draw.choice(self._named): ""}))
        while moves:
            yield from (move() for move in moves)

    def _replaced(self) -> Replacements | None:
        return self._changes(dict.fromkeys(self._values, ""))

    def _perturbed(self) -> Replacements | None:
        like: dict[str, str] = {}
        for alike in (is_number, as_date):
            own = [value for value in self._values if alike(value)]
            like |= zip(own, self._draw.sample([*own, *filter(alike, self._figures)], len(own)), strict=True)
        return self._changes(dict.fromkeys(self._values, ""), like)

    def _renamed_to_option(self) -> Replacements | None:
        olds = [value for value in self._rests if any(self._nearness(value, name) for name in self._named)]
        if not olds:
            return None
        old = self._draw.choice(olds)
        near = {name: self._nearness(old, name) for name in self._named}
        new = self._draw.choice([name for name, share in near.items() if share >= max(near.values()) / 2])
        return self._changes({old: new, new: ""})

    def _nearness(self, old: str, new: str) -> float:
        """How well a value may be called as one that the question names; 0 for not at all."""
        return self._known.nearness(old, new) if same_kind(old, new) and not overlap(old, new) else 0

    def _changes(self, wanted: Mapping[str, str], like: Mapping[str, str] | None = None) -> Replacements | None:
        """The changes that are wanted, with a value drawn where there is none; None where that cannot be."""
        chosen = {old: new for old, new in wanted.items() if new}
        for old in wanted:
            if any(line(name) in self._read for name in self._known.longer(old) if name not in wanted):
                continue
            if old not in chosen and (new := self._other(old, (like or {}).get(old, old), wanted, chosen)):
                chosen[old] = new
        if not chosen or any(old not in chosen for old in wanted if old not in self._values):
            return None
        return Replacements(chosen)

    def _other(self, old: str, like: str, wanted: Mapping[str, str], chosen: Mapping[str, str]) -> str | None:
        """A replacement of a value: nothing that was read, and nothing that could make an old value again."""
        used = {line(new) for new in chosen.values()}
        for new in self._known.of(like, self._draw):
            apart = line(new) not in self._read and line(new) not in used and same_kind(old, new)
            if apart and tokens(new) and not any(overlap(one, new) for one in wanted):
                return new
        return None


def line(text: str) -> str:
    """The words of a text, in which those in a row are found as part of it."""
    return f" {' '.join(tokens(text))} "


def contains_each(text: str, values: Sequence[str]) -> list[bool]:
    """Whether a text contains each of some values."""
    words = line(text)
    return [line(value) in words for value in values]


def are_truth(values: Sequence[str]) -> bool:
    """Whether all values are truth values."""
    return all(value.casefold() in TRUTH for value in values)


def _rests_on(question: Question, aim: str, golds: Sequence[str]) -> list[str]:
    """The values that the answer rests on, each once: what the question names, else its answers and its evidence."""
    named = list(question.entities)
    if not named:
        pieces = sorted(question.evidence, key=len, reverse=True)
        made = re.compile("|".join(map(re.escape, pieces)) or "(?!)")
        # An answer that is nothing but several pieces of evidence changes with them.
        named = [gold for gold in golds if gold in pieces or tokens(made.sub(" ", gold))] + question.evidence
    named = [normal(value).strip() for value in named if aim != OPEN or not (value in golds and is_number(value))]
    return list(dict.fromkeys(value for value in named if replaceable(value)))


def _literals(question: Question) -> tuple[str, ...]:
    """The names in the literals of the program, each once."""
    texts = [text[1:-1] for text in LITERAL.findall(question.program or "")]
    return tuple(dict.fromkeys(normal(text) for text in texts if replaceable(text)))
