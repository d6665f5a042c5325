"""What a source of wiki pages answers with, and how titles are compared, so that case, accents and typography never
decide whether something is found.

A source opens a page under the title that was asked for, under a title that redirects to it, or under one with the same
`title_key` where only one page has it. It never opens a page that is merely similar: whoever asked decides.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from rapidfuzz import fuzz

from r_eval.text import printable

MOST_SIMILAR = 10
LONGEST_TITLE = 300
"""Characters; a longer request matches no title, and no similar ones are looked for."""
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "½": " 1/2"}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bb\u02bc\u02bd\u00b4`", "'")
    | dict.fromkeys("\u201c\u201d", '"')
)
_AMBIGUOUS = re.compile(r"[^\n]{1,200}\b(may|can|could) (also )?refer to:?\s*$|[^\n]{1,200}\bmay be:\s*$")


@dataclass(frozen=True, slots=True)
class Page:
    """A page under its own title.

    Attributes:
        paragraphs: Among them stand the headings, each as "== Heading ==".
        is_ambiguous: Whether it is a disambiguation page: a first line, and a line for each page that may be meant.
    """

    title: str
    paragraphs: tuple[str, ...]
    is_ambiguous: bool = False


class Source(Protocol):
    """Pages by title: a file of pages, a ZIM file, a MediaWiki. Shared by all sessions and their threads; pickles.

    Every method takes any text, and raises `EnvironmentFailure` if the source cannot be read.
    """

    @property
    def version(self) -> str:
        """What changes when its pages may have changed."""

    def find(self, title: str) -> Page | None:
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


def begins_ambiguous(texts: tuple[str, ...]) -> bool:
    """Whether the first paragraph, as the English Wikipedia words it, is that of a disambiguation page.

    >>> begins_ambiguous(("Mercury may refer to:",)), begins_ambiguous(("The treaty may refer to later laws.",))
    (True, False)
    """
    return bool(texts) and _AMBIGUOUS.fullmatch(texts[0]) is not None


def plain(text: str) -> str:
    """A text for looking keywords up in: no case, no accents, one sort of dash, apostrophe and space.

    >>> plain("Émile  Zola’s “Germinal”")
    'emile zola\\'s "germinal"'
    """
    folded = text.casefold().translate(_LETTERS)
    if not folded.isascii():
        decomposed = unicodedata.normalize("NFKD", folded)
        folded = "".join(char for char in decomposed if not unicodedata.combining(char)).translate(_LETTERS)
    return " ".join(folded.split())


def title_key(title: str) -> str:
    """The key under which a title is found: as `plain`, and only letters, digits, "+", "#" and single spaces.

    Apostrophes and full stops leave no gap, everything else that is left out does. A title of nothing but other
    characters keeps them, so that different titles rarely meet.

    >>> title_key("  J. R. R. Tolkien "), title_key("São Tomé"), title_key("Côte d’Ivoire"), title_key("Guinea–Bissau")
    ('j r r tolkien', 'sao tome', 'cote divoire', 'guinea bissau')
    """
    text = plain(title).replace("'", "").replace(".", "")
    words = "".join(char if char.isalnum() or char in "+#" else " " for char in text)
    return " ".join(words.split()) or one_line(plain(title))


def one_line(text: str) -> str:
    """A text with single spaces and without control characters, as a title or a line of a message has it."""
    return " ".join(printable(" ".join(text.split())).split())


def quoted(text: str, characters: int = 100) -> str:
    """A text of anybody's as it may stand in a message: printable, encodable, and not long."""
    head = text[:characters] + ("..." if len(text) > characters else "")
    return "".join(char if char.isprintable() else " " for char in head)
