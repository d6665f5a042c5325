"""Whether a text contains a phrase: on whole words, without regard to case, width and punctuation."""

from __future__ import annotations

import re
import unicodedata

from rapidfuzz import fuzz

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words."""
_WORD = re.compile(rf"[{_UNSPACED}]|\d+(?:[.,]\d+)+(?!\w)|[^\W_{_UNSPACED}]+")
SIMILAR = 80
"""Similarity (0 to 100) at which a text counts as naming an entity, for example in another inflection."""
SHORTEST = 4
"""Minimum length of a name for fuzzy matching; shorter names match anything."""


def words(text: str) -> list[str]:
    """The words of a text in lower case; "1,234.5" is one word, as is each character of a script without spaces."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether a text contains the words of a phrase in sequence.

    >>> contains_phrase("Is it in Nigeria?", "Niger"), contains_phrase("the Niger's source", "niger")
    (False, True)
    """
    target = " ".join(words(phrase))
    return bool(target) and f" {target} " in f" {' '.join(words(text))} "


def names(text: str, entity: str) -> bool:
    """Whether a text names an entity, exactly or approximately; numbers must match exactly."""
    if contains_phrase(text, entity):
        return True
    numbers = [word for word in words(entity) if any(c.isdigit() for c in word)]
    return all(contains_phrase(text, word) for word in numbers) and likeness(entity, text) >= SIMILAR


def likeness(entity: str, text: str) -> float:
    """Similarity of an entity and the closest part of a text, 0 to 100 (partial ratio); 0 for very short entities."""
    entity, text = " ".join(words(entity)), " ".join(words(text))
    return float(fuzz.partial_ratio(entity, text)) if SHORTEST <= len(entity) <= len(text) else 0.0
