"""Draws which values of a question are replaced, and by what.

- `replaced`: values get others of their kind.
- `perturbed`: the same, with numbers and dates near to each other's, so that a comparison may come out another way.
- `renamed_to_option`: a value takes the name of a thing that the question names, which gets one from elsewhere: another
  one of the things to choose from becomes the right one, or what was not so becomes so.
- `removed`: a thing that the question names gets a name from elsewhere, so that what was so is not.
- `swapped`: two things that the question names change their names, where no other of the kind is known.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from r_eval.records import Question

from .alternatives import Alternatives, replaceable
from .replacing import Replacements, as_date, is_number, normal, overlap, same_kind, tokens

READ, CHOSEN, COMPUTED, QUOTED = "read", "chosen", "computed", "quoted"
"""What becomes the answer: what is read; one of the things in the question, or a truth value; what the program
computes; what is read in the question itself, which quotes it."""
TRUTH = frozenset({"yes", "no", "true", "false"})
LITERAL = re.compile(r"'[^'\\\n]*'|\"[^\"\\\n]*\"")


def aim_of(question: Question, golds: Sequence[str], seen: str) -> str:
    """How the answer comes about, as far as that decides what may be replaced.

    Args:
        seen: All that the gold program saw.
    """
    if not question.program:
        return READ
    if all(gold.casefold() in TRUTH for gold in golds):
        return CHOSEN
    if all(map(is_number, golds)) and (not any(stands(seen, golds)) or not any(map(replaceable, golds))):
        return COMPUTED
    if not all(stands(question.question, golds)):
        return READ
    return CHOSEN if all(stands("\n".join(_literals(question.program)), golds)) else QUOTED


class Drawing:
    """Draws for one question; each draw is None where it finds nothing.

    Args:
        golds: The answers, each item of a list alone.
        seen: All that the gold program saw: no new value is from there.
        known: What may stand for what.
    """

    def __init__(
        self, question: Question, aim: str, golds: Sequence[str], seen: str, known: Alternatives, draw: random.Random
    ) -> None:
        self._aim, self._known, self._draw = aim, known, draw
        self._rests = _rests_on(question, aim, golds)
        inside = [
            value for value, is_in in zip(self._rests, stands(question.question, self._rests), strict=True) if is_in
        ]
        named = _literals(question.program) if aim in (CHOSEN, COMPUTED) else ()
        self.values = [value for value in self._rests if aim == QUOTED or value not in inside]
        self._named = [*inside, *(text for text in named if text not in self._rests)]
        self._figures = [text for text in tokens(question.question) if is_number(text) and replaceable(text)]
        self._is_truth = aim == COMPUTED or all(gold.casefold() in TRUTH for gold in golds)
        self._read = line(tokens("\n".join([question.question, seen, *(one.text for one in question.context)])))
        self._turn = 0

    def changes(self) -> Iterator[Replacements | None]:
        """One draw after the other, without end."""
        turns: list[Callable[[], Replacements | None]] = [self.replaced]
        if self._aim == QUOTED:
            turns = [lambda: self.replaced() or self.swapped()]
        elif self._aim != READ:  # other names for what is compared change nothing: what is equal stays so
            compared = any(is_number(value) or as_date(value) is not None for value in self.values)
            turns = [self.perturbed, self.perturbed] if compared else []
            turns += [self.renamed_to_option] if self._named else []
            turns += [self.removed] if self._named and self._is_truth else []
        while turns:
            yield from (turn() for turn in turns)
            self._turn += 1

    def replaced(self) -> Replacements | None:
        """All values get others, as far as others are known of them."""
        return self._changes(dict.fromkeys(self.values, ""))

    def perturbed(self) -> Replacements | None:
        """The same, with numbers and dates near to each other's and to numbers in the question."""
        like = {value: value for value in self.values}
        for alike, more in ((is_number, self._figures), (lambda value: as_date(value) is not None, [])):
            own = [value for value in self.values if alike(value)]
            like |= zip(own, self._draw.sample([*own, *more], len(own)), strict=True)
        return self._changes(dict.fromkeys(self.values, ""), like)

    def renamed_to_option(self) -> Replacements | None:
        """One thing that the answer rests on is called as another one that the question names."""
        olds = [value for value in self._rests if any(self._fits(value, name) for name in self._named)]
        if not olds:
            return None
        old = olds[self._turn % len(olds)]
        near = {name: self._known.nearness(old, name) for name in self._named if self._fits(old, name)}
        new = self._draw.choice([name for name, share in near.items() if share >= max(near.values()) / 2])
        return self._changes({old: new, new: ""})

    def removed(self) -> Replacements | None:
        """A thing that the question names is called as none there."""
        return self._changes({self._named[self._turn % len(self._named)]: ""})

    def swapped(self) -> Replacements | None:
        """One value and one that the question names too change their names."""
        pairs = [(old, new) for old in self.values for new in self._known.of(old, self._draw) if self._was_read(new)]
        if not pairs:
            return None
        old, new = self._draw.choice(pairs)
        longer = {one for name in (old, new) for one in self._known.longer(name) if self._was_read(one)}
        return self._changes({old: new, new: old, **{one: one for one in sorted(longer - {old, new})}})

    def _was_read(self, value: str) -> bool:
        return bool(tokens(value)) and line(tokens(value)) in self._read

    def _fits(self, old: str, new: str) -> bool:
        """Whether a value may be called as one that the question names: one of its kind."""
        one, other = normal(old), normal(new)
        apart = same_kind(one, other) and not overlap(tokens(one), tokens(other))
        return apart and self._known.nearness(one, other) > 0

    def _changes(self, wanted: Mapping[str, str], like: Mapping[str, str] | None = None) -> Replacements | None:
        """The changes that are wanted, with a value drawn where there is none; None where that cannot be."""
        chosen = {old: new for old, new in wanted.items() if new}
        for old in (old for old, new in wanted.items() if not new):
            if any(self._was_read(longer) for longer in self._known.longer(old) if longer not in wanted):
                continue
            new = self._other(old, (like or {}).get(old, old), wanted, chosen.values())
            chosen |= {old: new} if new is not None else {}
        if not chosen or any(old not in chosen for old in wanted if old not in self.values):
            return None
        try:
            return Replacements(chosen)
        except ValueError:
            return None

    def _other(self, old: str, like: str, wanted: Mapping[str, str], used: Iterable[str]) -> str | None:
        """What may stand for a value: nothing that was read, and nothing that could make an old value again."""
        parts, lines = [tokens(one) for one in wanted], {line(tokens(new)) for new in used}
        for other in self._known.of(like, self._draw):
            new = tokens(other)
            if not new or line(new) in lines or self._was_read(other) or not same_kind(old, other):
                continue
            if not any(overlap(one, new) for one in parts):
                return other
        return None


def line(words: Sequence[str]) -> str:
    """Words in one text, in which those in a row are found as part of it."""
    return f" {' '.join(words)} "


def stands(text: str, values: Sequence[str]) -> list[bool]:
    """Of each value, whether it stands in a text."""
    words = line(tokens(text))
    return [line(tokens(value)) in words for value in values]


def _rests_on(question: Question, aim: str, golds: Sequence[str]) -> list[str]:
    """The values that the answer rests on, each once: what the question names, else its answers and its evidence."""
    named = list(question.entities)
    if not named:
        whole = [gold for gold in golds if gold in question.evidence or not _made_of(gold, question.evidence)]
        named = [*(whole if aim != COMPUTED else ()), *question.evidence]
    named = [normal(value).strip() for value in named if aim != COMPUTED or value not in golds]
    return list(dict.fromkeys(value for value in named if replaceable(value)))


def _made_of(gold: str, evidence: Sequence[str]) -> bool:
    """Whether an answer is nothing but several pieces of evidence."""
    for piece in sorted(evidence, key=len, reverse=True):
        gold = gold.replace(piece, " ")
    return not tokens(gold)


def _literals(program: str | None) -> tuple[str, ...]:
    """The names that stand in a program, each once."""
    texts = [text[1:-1] for text in LITERAL.findall(program or "")]
    return tuple(dict.fromkeys(normal(text) for text in texts if replaceable(text)))
