"""What a source of wiki pages is, and what it answers with.

A source opens a page under the title that was asked for, under a title that redirects to it, or under one that differs
in case, accents, punctuation and spaces alone (`folding.title_key`) where only one page has it. It never opens a page
that is merely similar: whoever asked decides.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from rapidfuzz import fuzz

from ..folding import title_key

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
class Choice:
    """A line of a disambiguation page: the title that it offers, and what that is."""

    title: str
    description: str


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
    scored: dict[str, tuple[float, Any]] = {}
    for name, title, rank in candidates:
        own = set(name.split())
        score = fuzz.ratio(key, name) / 100 + (words <= own) + (own <= words), rank
        scored[title] = max(scored.get(title, score), score)
    return heapq.nlargest(MOST_SIMILAR, scored, key=scored.__getitem__)
