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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .alternatives import Alternatives
from .replacing import Replacements, as_date, is_number, normal, overlap, same_kind, tokens


class Drawing:
    """Draws for one question; each draw is None where it finds nothing.

    Args:
        known: What may stand for what.
        values: What may be replaced, and stands nowhere in the question.
        rests: All that the answer rests on, be it in the question; the answer itself first.
        named: Things that the question names and the program asks for or compares with, those of evidence first.
        read: All that was read so far; no new value is from there.
        figures: Numbers in the question.
    """

    def __init__(
        self,
        known: Alternatives,
        draw: random.Random,
        *,
        values: Sequence[str],
        rests: Sequence[str],
        named: Sequence[str],
        read: str,
        figures: Sequence[str] = (),
    ) -> None:
        self._known, self._draw = known, draw
        self.values, self._rests, self._named, self._figures = list(values), list(rests), list(named), list(figures)
        self._read = line(tokens(read))
        self._turn = 0

    def ways(self, *, choice: bool, truth: bool) -> Iterator[Replacements | None]:
        """One draw after the other, without end.

        Args:
            choice: The answer is one of the things that the question names, a truth value or a computed number.
            truth: It is one of the latter two, which may be that something is not so.
        """
        turns: list[Callable[[], Replacements | None]] = [self.replaced]
        if choice:  # other names for what is compared change nothing: what is equal stays so
            compared = any(is_number(value) or as_date(value) is not None for value in self.values)
            turns = [self.perturbed, self.perturbed] if compared else []
            turns += [self.renamed_to_option] if self._named else []
            turns += [self.removed] if self._named and truth else []
        while turns:
            yield from (turn() for turn in turns)
            self._turn += 1

    def in_question(self) -> Iterator[Replacements | None]:
        """The same for a question whose own text is read, and changes too."""
        while True:
            yield self.replaced() or self.swapped()

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
