"""Documents that do not answer the question, in three levels, and the order in which all documents are shown.

What is drawn depends on a seed and on the record alone. More noise of a level adds documents and keeps those that were
there; noise of one level changes nothing in another; no document changes its place among the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from r_eval.seeds import Seeds
from r_eval.tasks.placeholders.record import Record

Noise = Literal["weak", "moderate", "hard"]

LEVELS: Mapping[Noise, str] = {"weak": "noise_doc_level1", "moderate": "noise_doc_level2", "hard": "noise_doc_level3"}
"""The levels from far to near, each with the part of a record that holds its documents."""


def drawn(record: Record, counts: Mapping[Noise, int], seeds: Seeds, stream: str = "") -> dict[Noise, list[str]]:
    """As many documents of each level as are wanted, or as there are.

    A document that stands twice, among the right ones or in two levels, is one, and of the first of them.

    Args:
        counts: Documents wanted; none of a level that is not named.
        stream: Told apart where variants are to have noise of their own.
    """
    found: dict[Noise, list[str]] = {}
    known = set(record.golden_doc)
    for level, part in LEVELS.items():
        there = [text for text in dict.fromkeys(getattr(record, part)) if text not in known]
        known.update(there)
        found[level] = shuffled(there, seeds.of(f"noise {level} {stream}"))[: counts.get(level, 0)]
    return found


def shuffled(texts: Sequence[str], seed: int) -> list[str]:
    """The texts in the order of their hashes under a seed: a text more or less leaves the order of the rest alone."""
    return sorted(texts, key=lambda text: _place(text, seed))


def _place(text: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
