"""Makes the variants of a record: which are taken, which documents come with each, in which order, and the answer.

Noise, documents that do not answer the question, is of three levels. What is drawn depends on a seed and on the record
alone. More noise of a level adds documents and keeps those that were there; noise of one level changes nothing in
another; no document changes its place among the others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Literal

from r_eval.seeds import Seeds
from r_eval.tasks.placeholders.expressions import literals, mapped, parse, written
from r_eval.tasks.placeholders.record import Record, held, substituted

Noise = Literal["weak", "moderate", "hard"]

LEVELS: Mapping[Noise, str] = {"weak": "noise_doc_level1", "moderate": "noise_doc_level2", "hard": "noise_doc_level3"}
"""The levels from far to near, each with the part of a record that holds its documents."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """A record with one set of values in its placeholders.

    Attributes:
        number: Its place in the record, from 1.
        values: Of the placeholders.
        documents: What is shown, in order.
        golden: The places of the right ones among them, from 0.
        noise: How many documents of each level are among them.
        answer: An expression that `covered_match` reads.
        used: The values that stand in the right documents.
    """

    number: int
    values: Mapping[str, str]
    documents: tuple[str, ...]
    golden: tuple[int, ...]
    noise: Mapping[Noise, int]
    answer: str
    used: tuple[str, ...]


def variants(
    record: Record, number: int | None, noise: Mapping[Noise, int], resample: bool = False, seed: int = 0
) -> list[Variant]:
    """The variants that are taken of a record, in the record's order; more of them keep those that were there.

    Args:
        number: How many; all of them where the record has fewer, or with None.
        noise: Documents wanted of each level.
        resample: Whether each variant draws noise and order of its own, as the published code does. Else they are the
            same for all, so that nothing but the values differs.
        seed: Of everything that is drawn.
    """
    seeds = Seeds(run=seed, question=record.id, epoch=0)
    places = list(range(1, len(record.placeholder_item.answer) + 1))
    random.Random(seeds.of("variants")).shuffle(places)
    return [_variant(record, at, noise, str(at) if resample else "", seeds) for at in sorted(places[:number])]


def _variant(record: Record, number: int, counts: Mapping[Noise, int], stream: str, seeds: Seeds) -> Variant:
    noise: dict[Noise, list[str]] = {}
    right = dict.fromkeys(record.golden_doc)
    known = set(right)
    for level, part in LEVELS.items():  # a document that stands in two levels is of the first of them
        there = [text for text in dict.fromkeys(getattr(record, part)) if text not in known]
        known.update(there)
        noise[level] = shuffled(there, seeds.of(f"noise {level} {stream}"))[: counts.get(level, 0)]
    # Ordered before values are filled in: those must not move a document.
    order = shuffled([*right, *(text for texts in noise.values() for text in texts)], seeds.of(f"order {stream}"))
    values = record.placeholder_item.placeholders[number - 1]
    standing = set[str]().union(*(held(text, frozenset(values)) for text in right))
    return Variant(
        number=number,
        values=values,
        documents=tuple(substituted(text, values) if text in right else text for text in order),
        golden=tuple(place for place, text in enumerate(order) if text in right),
        noise={level: len(texts) for level, texts in noise.items()},
        answer=_answer(record.placeholder_item.answer[number - 1], values),
        used=tuple(dict.fromkeys(value for token, value in values.items() if token in standing)),
    )


def _answer(text: str, values: Mapping[str, str]) -> str:
    """The answer with its placeholders filled; as it stands where it holds none."""
    tree = parse(text)
    filled = mapped(tree, lambda literal: substituted(literal, values))
    return text if list(literals(filled)) == list(literals(tree)) else written(filled)


def shuffled(texts: Sequence[str], seed: int) -> list[str]:
    """The texts in the order of their hashes under a seed: a text more or less leaves the order of the rest alone."""

    def place(text: str) -> bytes:
        return hashlib.blake2b(f"{seed}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()

    return sorted(texts, key=place)
