"""What a source of wiki pages is, and what it answers with.

A source opens a page under the title that was asked for, under a title that redirects to it, or under one that differs
in case, accents, punctuation and spaces alone (`folding.title_key`) where only one page has it. It never opens a page
that is merely similar: whoever asked decides.
"""

from __future__ import annotations

import difflib
import heapq
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..folding import title_key
from ..snapshot import Choice

MOST_SIMILAR = 10
LONGEST_TITLE = 300
"""Characters; a longer request matches no title, and no similar ones are looked for."""
_UNSPOKEN = ("Cc", "Cs", "Zl", "Zp")


@dataclass(frozen=True, slots=True)
class Page:
    """An article under its own title. Among its paragraphs stand its headings, each as "== Heading =="."""

    title: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A title that several pages could have, and those pages."""

    name: str
    choices: tuple[Choice, ...]


def spoken(text: str) -> str:
    """A text with single spaces and without what neither a title nor a request can hold: control characters and
    halves of characters. Invisible marks of a script stay."""
    if text.isprintable():
        return " ".join(text.split())
    return " ".join("".join(" " if unicodedata.category(c) in _UNSPOKEN else c for c in text).split())


class Source(Protocol):
    """Pages by title. It is shared by all sessions and their threads, and can be pickled."""

    @property
    def version(self) -> str:
        """What changes when its pages may have changed."""
        ...

    def find(self, title: str) -> Page | Ambiguous | None:
        """What has this title; None where nothing has. Any text is safe.

        Raises:
            EnvironmentFailure: The source could not be read.
        """
        ...

    def similar(self, text: str) -> list[str]:
        """Titles close to a text, best first, at most `MOST_SIMILAR`. Any text is safe.

        Raises:
            EnvironmentFailure: The source could not be read.
        """
        ...


def closest(text: str, candidates: Iterable[tuple[str, str, Any]]) -> list[str]:
    """The titles closest to a text, best first, at most `MOST_SIMILAR`.

    Titles that hold all words of the text, or of which it holds all words, come first; then those with the likest
    letters; then those of the highest rank.

    Args:
        text: What was asked for.
        candidates: Keys (`title_key`), the titles to which they lead, and the titles' ranks.
    """
    key = title_key(text)
    words = set(key.split())
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(key)
    bounded = []
    for name, title, rank in candidates:
        matcher.set_seq1(name)
        own = set(name.split())
        bonus = (words <= own) + (own <= words)
        bounded.append((matcher.quick_ratio() + bonus, bonus, name, title, rank))
    bounded.sort(key=lambda candidate: candidate[0], reverse=True)
    scored: dict[str, tuple[float, Any]] = {}
    least = -1.0
    for bound, bonus, name, title, rank in bounded:
        if bound < least:
            break  # no further one can be among the best: comparing letters is slow, and most are never compared
        matcher.set_seq1(name)
        score = (matcher.ratio() + bonus, rank)
        scored[title] = max(scored.get(title, score), score)
        if score[0] >= least and len(scored) >= MOST_SIMILAR:
            least = heapq.nlargest(MOST_SIMILAR, scored.values())[-1][0]
    return heapq.nlargest(MOST_SIMILAR, scored, key=scored.__getitem__)
