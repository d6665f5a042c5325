"""What a reader of a bibliography gives: papers, affiliations, and records that cannot be used.

Real dumps hold anything anywhere, so every field is taken through the functions below, which give text without control
characters, or a number within bounds, for whatever stands there.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from ..matching import words
from ..source import ID

MOST_AUTHORS = 5000
MOST_TOPICS = 50
MOST_REFERENCES = 10_000
_MOST_TEXT = 2000
_MOST_CITED = 10**9
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Mention:
    """A scholar as an author of one paper.

    Attributes:
        key: The scholar's id; the same for everything that the source takes for one person.
        name: As the paper has it.
        organization: As the paper has it; empty if it is not known.
    """

    key: str
    name: str
    organization: str


@dataclass(slots=True)
class Paper:
    """A publication.

    Attributes:
        key: Its id.
        title, abstract, venue: Texts; only the title is never empty.
        year: 0 if it is not known.
        cited: Citations as the source counts them; None if it does not.
        references: Ids of the papers that it cites.
        authors: In order, nobody twice.
        topics: Weights of what it is about.
        gaps: What was missing or could not be read.
    """

    key: str
    title: str
    abstract: str = ""
    venue: str = ""
    year: int = 0
    cited: int | None = None
    references: list[str] = field(default_factory=list)
    authors: list[Mention] = field(default_factory=list)
    topics: dict[str, float] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Affiliation:
    """Where a scholar works, told apart from any paper."""

    key: str
    organization: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that cannot be used, and the kind of reason."""

    reason: str


Record = Paper | Affiliation | Broken


def text(value: Any, most: int = _MOST_TEXT) -> str:
    """One line of text, at most so many characters; empty for what is no text."""
    if not isinstance(value, str):
        return ""
    if not value.isprintable():
        value = _UNFIT.sub(" ", value[: 2 * most])
    return " ".join(value.split())[:most].strip()


def texts(value: Any) -> list[str]:
    """The texts of a list, or of one text whose parts are split by commas or semicolons."""
    if isinstance(value, str):
        value = re.split("[;,]", value)
    if not isinstance(value, list):
        return []
    return [found for item in value if (found := text(item))]


def identifier(value: Any) -> str:
    """An id; empty for what can be none. Numbers and MongoDB's `{"$oid": id}` are ids too."""
    if isinstance(value, dict):
        value = value.get("$oid")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        value = str(value)
    return value if isinstance(value, str) and ID.fullmatch(value) else ""


def number(value: Any) -> int | None:
    """A whole number from 0 to a thousand million, also from text or a decimal; None for anything else."""
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"\s*[0-9]{1,10}\s*", value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_CITED:
        return None
    return int(value)


def year(value: Any) -> int:
    """A year; 0 for what is none. In a text the first four digits count."""
    if isinstance(value, str):
        match = re.search(r"(?<!\d)\d{4}(?!\d)", value[:100], re.ASCII)
        value = match[0] if match else None
    found = number(value)
    return found if found is not None and 1000 <= found <= 2200 else 0


def made_id(*parts: str) -> str:
    """An id, in the form of AMiner's own, for what has none: the same for the same parts."""
    return hashlib.blake2b("\x00".join(parts).encode(), digest_size=12).hexdigest()


def scholar_id(name: str, organization: str) -> str:
    """The id of a scholar of whom only a name and an organisation are known, however these are written."""
    return made_id("scholar", " ".join(words(name)) or name, " ".join(words(organization)) or organization)
