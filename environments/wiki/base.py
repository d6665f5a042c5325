"""What a source of wiki pages answers with, and how titles are compared, so that case, accents and typography never
decide whether something is found.

A source (a file of pages, a ZIM file, a MediaWiki) is shared by all sessions and their threads, and pickles. It takes
any text, and raises `EnvironmentFailure` if it cannot be read. It opens a page under the title that was asked for,
under a title that redirects to it, or under one with the same `title_key` where only one page has it. It never opens a
page that is merely similar: whoever asked decides. No source is asked for a title of more than `LONGEST_TITLE`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from r_eval.environments.json_lines import most_similar, plain
from r_eval.text import printable

MOST_SIMILAR = 10
CANDIDATES = 50
LEAST_SIMILAR = 60.0
"""What a title must score of 100 to be similar."""
LONGEST_TITLE = 300
"""Characters; a longer request matches no title, and no similar ones are looked for."""
_AMBIGUOUS = re.compile(r"[^\n]{1,200}\b(may|can|could) (also )?refer to:?\s*$|[^\n]{1,200}\bmay be:\s*$")


@dataclass(frozen=True, slots=True)
class Page:
    """A page under its own title.

    Attributes:
        paragraphs: The headings are among them, each as "== Heading ==".
        is_ambiguous: Whether it is a disambiguation page: a first line, and a line for each page that may be meant.
    """

    title: str
    paragraphs: tuple[str, ...]
    is_ambiguous: bool = False


def closest(text: str, titles: Sequence[str], keys: Sequence[str] = ()) -> list[str]:
    """The titles that begin like a text, and those that are most similar; at most `MOST_SIMILAR`, in their order.

    Args:
        text: What was asked for.
        titles: A title may occur several times.
        keys: What the text is compared with; absent: each title's `title_key`.
    """
    key, keys = title_key(text), keys or [title_key(title) for title in titles]
    places = [place for place, name in enumerate(keys) if key and name.startswith(key)][:CANDIDATES]
    places += [place for _, place in most_similar(key, keys, fuzz.token_ratio, LEAST_SIMILAR, CANDIDATES)]
    return list(dict.fromkeys(titles[place] for place in places))[:MOST_SIMILAR]


def begins_ambiguous(texts: tuple[str, ...]) -> bool:
    """Whether the first paragraph, as the English Wikipedia words it, is that of a disambiguation page.

    >>> begins_ambiguous(("Mercury may refer to:",)), begins_ambiguous(("The treaty may refer to later laws.",))
    (True, False)
    """
    return bool(texts) and _AMBIGUOUS.fullmatch(texts[0]) is not None


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
    """A text of anybody's for a message: printable, encodable, and not long."""
    head = text[:characters] + ("..." if len(text) > characters else "")
    return "".join(char if char.isprintable() else " " for char in head)
