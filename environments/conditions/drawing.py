"""Draws which values of a question are replaced, and by what.

- What is read gets other values of its kind; so does what the question contains, if it quotes what it asks about.
- Where the answer is one of the things that the question names, a truth value or a number that the program computes,
  numbers and dates are drawn near to each other's, so that a comparison comes out another way; or a value takes the
  name of a thing that the question names, which gets one from elsewhere; or a thing that the question names gets a name
  from elsewhere, so that what was so is not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from r_eval.records import Question

from .alternatives import TRUTH, Alternatives, replaceable
from .replacing import Replacements, as_date, is_number, normal, overlap, same_kind, tokens

READ, OPEN, QUOTED = "read", "open", "quoted"
"""What becomes the answer: what is read; whatever the program then comes to; what is read in the question."""
LITERAL = re.compile(r"'[^'\\\n]*'|\"[^\"\\\n]*\"")


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
            moves += [self._removed] if self._named and self._is_computed else []
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

    def _removed(self) -> Replacements | None:
        return self._changes({self._draw.choice(self._named): ""})

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
