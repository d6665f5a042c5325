"""What a source of wiki pages answers with, and how titles are compared.

A source opens a page under the title that was asked for, under a title that redirects to it, or under one that differs
in case, accents, punctuation and spaces alone (`folding.title_key`) where only one page has it. It never opens a page
that is merely similar: whoever asked decides.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from rapidfuzz import fuzz

from .folding import title_key

MOST_SIMILAR = 10
LONGEST_TITLE = 300
"""Characters; a longer request matches no title, and no similar ones are looked for."""


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


class Source(Protocol):
    """Pages by title: a file of pages, a ZIM file, a MediaWiki. Shared by all sessions and their threads; pickles.

    Every method takes any text, and raises `EnvironmentFailure` if the source cannot be read.
    """

    @property
    def version(self) -> str:
        """What changes when its pages may have changed."""

    def find(self, title: str) -> Page | Ambiguous | None:
        """What has this title; None where nothing has."""

    def similar(self, text: str) -> list[str]:
        """Titles close to a text, best first, at most `MOST_SIMILAR`."""


def closest(text: str, candidates: Iterable[tuple[str, str, Any]]) -> list[str]:
    """The titles closest to a text, best first, at most `MOST_SIMILAR`.

    Titles that hold all words of the text, or of which it holds all words, come first; then those with the most similar
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
