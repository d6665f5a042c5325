"""Given and family names from which scholars are made, and words for what they work on and where (`*.json`).

The lists are ours: common names of fifteen cultures, combined at random. A combination that some living person also
bears is chance; nothing else about the scholar is taken from anyone. Names with accents are there on purpose, so that
a search has to fold them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple


class Culture(NamedTuple):
    """Names that go together; `initials` says whether a middle initial is usual."""

    male: tuple[str, ...]
    female: tuple[str, ...]
    family: tuple[str, ...]
    initials: bool


def _read(name: str) -> Any:
    return json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


CULTURES = tuple(
    Culture(*(tuple(row[key].split()) for key in ("male", "female", "family")), row["initials"])
    for row in _read("names.json")
)
_TOPICS: dict[str, Any] = _read("topics.json")
FIELDS: dict[str, tuple[str, ...]] = {field: tuple(topics) for field, topics in _TOPICS["fields"].items()}
_LISTS = ("qualities", "methods", "settings", "systems", "series", "place_starts", "place_ends")
QUALITIES, METHODS, SETTINGS, SYSTEMS, SERIES, PLACE_STARTS, PLACE_ENDS = (
    tuple[str, ...](_TOPICS[name]) for name in _LISTS
)
_PATTERNS: list[list[str]] = _TOPICS["organisations"]
"""Each a pattern of names, the kind, and a label of the mail domain."""
_STEP = 1009
"""Has no divisor in common with the number of places, so that each has its turn."""


class Organisation(NamedTuple):
    """An invented organisation: a university, a laboratory or a company.

    Attributes:
        domain: Mail domain, under the reserved `.example`.
    """

    name: str
    kind: str
    domain: str


def organisation(seed: int, number: int) -> Organisation:
    """The organisation with this number in the world of this seed; each number up to that of places has its own."""
    places = len(PLACE_STARTS) * len(PLACE_ENDS)
    start, end = divmod((number * _STEP + seed * 7919) % places, len(PLACE_ENDS))
    pattern, kind, label = _PATTERNS[number % len(_PATTERNS)]
    place = PLACE_STARTS[start] + PLACE_ENDS[end]
    return Organisation(pattern.format(place), kind, f"{label}.{place.lower().replace(' ', '-')}.example")
