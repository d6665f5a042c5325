"""What a reader of a wiki's dump gives: pages, disambiguation pages, and records that cannot be used.

Dumps hold anything anywhere, so that every field is taken through the functions below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..folding import title_key
from ..snapshot import Article, Choice
from ..sources.base import LONGEST_TITLE, spoken

KIND = "page"
"""The kind of all imported pages."""
MOST_CHOICES = 200
_MOST_REDIRECTS = 5000
_MOST_POPULARITY = 2**62
_LONG = 160
"""Characters of a description."""
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_BLANK_LINE = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Entry:
    """A page, and what a disambiguation page may say of it."""

    article: Article
    description: str


@dataclass(frozen=True, slots=True)
class Disambiguation:
    """A title that several pages could have."""

    name: str
    choices: tuple[Choice, ...]
    redirects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A further title of a page or of a disambiguation page, told apart from it."""

    name: str
    target: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that cannot be used, and the kind of reason."""

    reason: str


Record = Entry | Disambiguation | Redirect | Broken


def made(
    title: str,
    paragraphs: Iterable[str],
    redirects: tuple[str, ...] = (),
    popularity: int = 0,
    description: str = "",
) -> Record:
    """A page of checked parts; its title, where it stands alone above the text, is no paragraph."""
    texts = [text for text in paragraphs if text]
    if not title:
        return Broken(f"no usable title (1 to {LONGEST_TITLE} characters)")
    if texts and texts[0] == title:
        del texts[0]
    if not texts:
        return Broken("no text")
    article = Article(title, KIND, "\n\n".join(texts), popularity, redirects)
    return Entry(article, description or _short(texts[0]))


def title(value: Any) -> str:
    """A page's title; empty for what can be none."""
    found = spoken(value.replace("_", " ")) if isinstance(value, str) else ""
    return found if len(found) <= LONGEST_TITLE and title_key(found) else ""


def titles(value: Any) -> tuple[str, ...]:
    """Titles from a list of texts or of objects with a `title`, nothing twice."""
    items = value[:_MOST_REDIRECTS] if isinstance(value, list) else []
    found = (title(item.get("title") if isinstance(item, dict) else item) for item in items)
    return tuple(name for name in dict.fromkeys(found) if name)


def line(value: Any) -> str:
    """One line of text; empty for what is no text."""
    return " ".join(_UNFIT.sub(" ", value).split()) if isinstance(value, str) else ""


def popularity(value: Any) -> int:
    """A whole number from 0; 0 for what is none."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MOST_POPULARITY
    return int(value) if fits else 0


def blocks(text: str) -> list[str]:
    """The paragraphs of a text: what stands apart by blank lines or, where there are none, its lines."""
    plain = text.replace("\r\n", "\n").strip()
    parts = _BLANK_LINE.split(plain) if _BLANK_LINE.search(plain) else plain.split("\n")
    return [line(part) for part in parts]


def pieces(text: str, most: int) -> list[str]:
    """The lines of a text, those that are too long parted between sentences.

    Args:
        text: Any.
        most: Characters; only a single sentence may have more.
    """
    found: list[str] = []
    for part in text.split("\n"):
        begun = ""
        for sentence in _SENTENCE.split(line(part)):
            if begun and len(begun) + len(sentence) >= most:
                found.append(begun)
                begun = sentence
            else:
                begun = f"{begun} {sentence}" if begun else sentence
        found.append(begun)
    return [part for part in found if part]


def _short(text: str) -> str:
    """The first sentence, or what fits of it."""
    first = _SENTENCE.split(text[: 4 * _LONG], maxsplit=1)[0]
    return first if len(first) <= _LONG else first[:_LONG].rpartition(" ")[0] + " ..."
