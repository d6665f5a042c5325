"""Russian text: which words are Russian, and how Snowball's Russian stemmer cuts their endings off."""

from __future__ import annotations

import re
from functools import lru_cache

from r_eval.errors import MissingExtra

RUSSIAN = "\u0400-\u04ff"
"""Cyrillic letters, as the inside of a class of a regular expression."""

_RUSSIAN_WORD = re.compile("[\u0430-\u044f]+")
"""In lower case, ё being е. Many words of the script's other alphabets (Ukrainian, Serbian) have letters besides."""
_LONGEST = 100
"""Characters of the longest word that is stemmed; no word of a language is longer."""


def one_letter(text: str) -> str:
    """The text with е for every ё: the dots are left out in print as often as not.

    >>> one_letter("Королёв, ЁЛКА")
    'Королев, ЕЛКА'
    """
    return text.replace("ё", "е").replace("Ё", "Е")


def is_russian_word(word: str) -> bool:
    """Whether a word in lower case is spelt in Russian letters alone; for е for ё see `one_letter`."""
    return _RUSSIAN_WORD.fullmatch(word) is not None and len(word) <= _LONGEST


def stem(word: str, extra: str = "metrics") -> str:
    """A word in lower case without its ending, by Snowball's Russian stemmer; any other word as it is.

    >>> stem("москве"), stem("москвой"), stem("paris")
    ('москв', 'москв', 'paris')

    Args:
        extra: Which extra of R-Eval brings the stemmer where it is needed.

    Raises:
        MissingExtra: snowballstemmer is not installed.
    """
    word = one_letter(word)
    if not is_russian_word(word):
        return word
    try:
        return _stem(word)
    except ImportError:
        raise MissingExtra("snowballstemmer", extra, "stemming Russian words") from None


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """A new stemmer a word, since it holds the word that it is at, and threads may search at once."""
    from snowballstemmer.russian_stemmer import RussianStemmer  # type: ignore[import-untyped]

    found: str = RussianStemmer().stemWord(word)
    return found
