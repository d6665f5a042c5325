"""Names as a reference list writes them, so that one thing has one name across documents.

The list is never added to: what a name becomes depends on nothing but the name and the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rapidfuzz import fuzz, process

from r_eval.errors import UserError
from r_eval.files import read_text
from r_eval.tasks.graphs.store import number
from r_eval.tasks.questions import folded

CLOSE = 90.0
"""From which likeness (0 to 100) a name is taken for a listed one."""
SHORTEST = 4
"""Characters that a name must have to be compared by likeness."""


class Names:
    """A reference list.

    Args:
        names: Each with its other spellings after it. A spelling that stands for several names stands for none.
    """

    def __init__(self, names: Iterable[Sequence[str]]) -> None:
        self._exact: dict[str, set[str]] = {}
        for name, *others in names:
            for spelling in (name, *others):
                self._exact.setdefault(folded(spelling), set()).add(name)
        self._exact.pop("", None)
        self._spellings = [key for key in sorted(self._exact) if len(key) >= SHORTEST and number(key) is None]
        self._found: dict[str, str] = {}

    def normalised(self, raw: str) -> str:
        """The listed name: the same but for case, width and spaces, else the one most like it, if it is close.

        A name that is like none, or equally like several, stays as it is.
        """
        key = folded(raw)
        exact = self._exact.get(key)
        if exact is not None:
            return next(iter(exact)) if len(exact) == 1 else raw
        if len(key) < SHORTEST or number(key) is not None or not self._spellings:
            return raw
        if key not in self._found:
            close = self._closest(key)
            self._found[key] = close.pop() if len(close) == 1 else ""
        return self._found[key] or raw

    def _closest(self, key: str) -> set[str]:
        """The names of the spellings that are most like a text."""
        found = process.extract(key, self._spellings, scorer=fuzz.ratio, score_cutoff=CLOSE, limit=None)
        best = max((score for _, score, _ in found), default=0.0)
        return {name for spelling, score, _ in found if score == best for name in self._exact[spelling]}


def read_names(path: Path) -> Names:
    """A list from a file: a name a line, and after tabs its other spellings.

    Raises:
        UserError: It cannot be read, or holds no name.
    """
    lines = read_text(path, "list of names").split("\n")
    spellings = [[part.strip() for part in line.split("\t") if part.strip()] for line in lines]
    if not any(spellings):
        raise UserError(f"{path}: holds no name")
    return Names(parts for parts in spellings if parts)
