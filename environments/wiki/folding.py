"""How titles and texts are folded, so that case, accents and typography never decide whether something is found."""

from __future__ import annotations

import re
import unicodedata

from r_eval.environments.json_lines import strip_control_chars

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "½": " 1/2"}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bb\u02bc\u02bd\u00b4`", "'")
    | dict.fromkeys("\u201c\u201d", '"')
)
_OTHERS = re.compile("[^A-Za-z0-9+#]+")


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
    if text.isascii():
        words = _OTHERS.sub(" ", text)
    else:
        words = "".join(char if char.isalnum() or char in "+#" else " " for char in text)
    return " ".join(words.split()) or one_line(plain(title))


def one_line(text: str) -> str:
    """A text with single spaces and without control characters, as a title or a line of a message has it."""
    return " ".join(strip_control_chars(text).split())


def quoted(text: str, characters: int = 100) -> str:
    """A text of anybody's as it may stand in a message: printable, encodable, and not long."""
    head = text[:characters] + ("..." if len(text) > characters else "")
    return "".join(char if char.isprintable() else " " for char in head)
