"""How titles and texts are folded, so that case, accents and typography never decide whether something is found."""

from __future__ import annotations

import re
import unicodedata

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "½": " 1/2"}
)
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_QUOTES = re.compile("[\u2018\u2019\u02bb-\u02bd\u00b4`]")
_DROPPED = "'."
_OTHERS = re.compile("[^A-Za-z0-9+#]+")


def plain(text: str) -> str:
    """A text for looking keywords up in: no case, no accents, one sort of dash, apostrophe and space.

    >>> plain("Émile  Zola’s “Germinal”")
    'emile zola\\'s "germinal"'
    """
    if text.isascii():
        return " ".join(text.lower().replace("`", "'").split())
    folded = unicodedata.normalize("NFKD", _simple(text).casefold().translate(_LETTERS))
    kept = "".join(character for character in folded if not unicodedata.combining(character))
    return " ".join(_simple(kept).split())


def title_key(title: str) -> str:
    """The key under which a title is kept: as `plain`, and only letters, digits, "+", "#" and single spaces.

    Apostrophes and full stops leave no gap, everything else that is left out does. A title of nothing but other
    characters keeps them, so that different titles rarely meet.

    >>> title_key("  J. R. R. Tolkien "), title_key("São Tomé"), title_key("Côte d’Ivoire"), title_key("Guinea–Bissau")
    ('j r r tolkien', 'sao tome', 'cote divoire', 'guinea bissau')
    """
    text = plain(title)
    if text.isascii():
        words = _OTHERS.sub(" ", text.replace("'", "").replace(".", "")).split()
        return " ".join(words) or shown(text, len(text)).strip()
    spaced = "".join(
        character if character.isalnum() or character in "+#" else ("" if character in _DROPPED else " ")
        for character in text
    )
    return " ".join(spaced.split()) or shown(text, len(text)).strip()


def shown(text: str, characters: int = 100) -> str:
    """A text of anybody's as it may stand in a message: printable, encodable, and not long."""
    head = text[:characters] + ("..." if len(text) > characters else "")
    return "".join(character if character.isprintable() else " " for character in head)


def _simple(text: str) -> str:
    text = _QUOTES.sub("'", _DASHES.sub("-", text))
    return text.replace("\u201c", '"').replace("\u201d", '"')
