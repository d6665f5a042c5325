"""How a search argument becomes a full-text query.

Names, organisations, interests and titles are folded to plain lower-case words on both sides: once when a
snapshot is written, and again for every search. Only such words ever reach SQLite, each in quotes, so nothing
that a model writes can be read as query syntax.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Protocol

_PLAIN = re.compile("[a-z0-9]+")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_SMALL = frozenset(
    ["a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "under", "via", "with"]
)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_LONGEST = 32
"""Letters of a word beyond which no typing error is looked for."""


class Vocabulary(Protocol):
    """The words that the texts of one field hold."""

    def __contains__(self, word: str) -> bool: ...

    def among(self, candidates: Collection[str]) -> Iterable[str]:
        """Those of the candidates that are words of the field."""


def words(text: str) -> list[str]:
    """The words of a text, without case, accents and punctuation.

    >>> words("Łukasz O'Brien-Müller, Ph.D.")
    ['lukasz', 'o', 'brien', 'muller', 'ph', 'd']
    """
    if text.isascii():
        return _PLAIN.findall(text.lower())
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    plain = "".join(
        character if character.isalnum() else " " for character in folded if not unicodedata.combining(character)
    )
    return plain.split()


def telling(found: Iterable[str]) -> list[str]:
    """The different words without the small ones ("of", "the"), or all of them if there are only small
    ones."""
    unique = list(dict.fromkeys(found))
    return [word for word in unique if word not in _SMALL] or unique


def key(found: Iterable[str]) -> str:
    """One token that stands for exactly these words in this order; no word of a text looks like it."""
    return "_" + hashlib.blake2b(" ".join(found).encode("utf-8"), digest_size=9).hexdigest()


def name_key(found: Iterable[str]) -> str:
    """The `key` of a person's name, whose words may come in any order."""
    return key(sorted(found))


def quote(token: str) -> str:
    """Query: this word or key."""
    return f'"{token}"'


def all_words(found: list[str]) -> str:
    """Query: these words, perhaps among others."""
    return " AND ".join(map(quote, found))


def any_word(found: list[str]) -> str:
    """Query: one of these words."""
    return f"({' OR '.join(map(quote, found))})"


def initials(found: list[str]) -> str:
    """Query: as `all_words`, a single letter standing for a word that begins with it."""
    return " AND ".join(quote(word) + ("*" if len(word) == 1 else "") for word in found)


def prefixes(found: list[str]) -> str:
    """Query: words that begin like these."""
    return " AND ".join(quote(word) + "*" for word in found)


def corrected(found: list[str], known: Vocabulary) -> str:
    """Query: as `prefixes`, a word that no text holds standing for the words one typing error away."""
    groups = []
    for word in found:
        near = [] if word in known else near_words(word, known)
        groups.append(any_word(near) if near else quote(word) + "*")
    return " AND ".join(groups)


def near_words(word: str, known: Vocabulary) -> list[str]:
    """Known words that differ by one letter left out, added, changed, or two neighbours swapped."""
    if not 3 < len(word) <= _LONGEST:
        return []
    pairs = [(word[:cut], word[cut:]) for cut in range(len(word) + 1)]
    near = {head + tail[1:] for head, tail in pairs if tail}
    near.update(head + tail[1] + tail[0] + tail[2:] for head, tail in pairs if len(tail) > 1)
    for letter in _ALPHABET:
        near.update(head + letter + tail for head, tail in pairs)
        near.update(head + letter + tail[1:] for head, tail in pairs if tail)
    return sorted(known.among(near))
