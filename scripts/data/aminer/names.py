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
_LISTS = ("qualities", "methods", "settings", "systems", "series", "place_starts", "place_ends", "place_prefixes")
QUALITIES, METHODS, SETTINGS, SYSTEMS, SERIES, PLACE_STARTS, PLACE_ENDS, PLACE_PREFIXES = (
    tuple[str, ...](_TOPICS[name]) for name in _LISTS
)
ORGANISATIONS: tuple[tuple[str, str, str], ...] = tuple(map(tuple, _TOPICS["organisations"]))
"""Each a pattern of names, the kind, and a label of the mail domain."""
