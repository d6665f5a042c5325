"""Whether a text contains a phrase: on whole words, without regard to case, width and punctuation."""

from __future__ import annotations

import re
import unicodedata

from rapidfuzz import fuzz

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words."""
_WORD = re.compile(rf"[{_UNSPACED}]|\d+(?:[.,]\d+)+(?!\w)|[^\W_{_UNSPACED}]+")
SIMILAR = 80
"""From which likeness (0 to 100) a text counts as naming an entity, in another inflection for example."""
SHORTEST = 4
"""Characters that a name must have to be looked for by likeness: shorter ones are like anything."""


def words(text: str) -> list[str]:
    """The words of a text in lower case; each character of a script without spaces is one, and so is "1,234.5"."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether all words of a phrase stand in a text, one after the other.

    >>> contains_phrase("Is it in Nigeria?", "Niger"), contains_phrase("the Niger's source", "niger")
    (False, True)
    """
    found = " ".join(words(phrase))
    return bool(found) and f" {found} " in f" {' '.join(words(text))} "


def names(text: str, entity: str) -> bool:
    """Whether a text names an entity, in these words or nearly; its numbers only exactly."""
    if contains_phrase(text, entity):
        return True
    numbers = [word for word in words(entity) if any(c.isdigit() for c in word)]
    return all(contains_phrase(text, word) for word in numbers) and likeness(entity, text) >= SIMILAR


def likeness(entity: str, text: str) -> float:
    """How like an entity is the closest part of a text, 0 to 100 (partial ratio); 0 for very short entities."""
    entity, text = " ".join(words(entity)), " ".join(words(text))
    return float(fuzz.partial_ratio(entity, text)) if SHORTEST <= len(entity) <= len(text) else 0.0
