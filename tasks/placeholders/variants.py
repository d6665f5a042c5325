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
class Sampling:
    """How variants are made.

    Attributes:
        variants: How many of a record's are taken; all of them where it has fewer, or with None.
        noise: Documents wanted of each level.
        resample: Whether each variant draws noise and order of its own, as the published code does. Else they are the
            same for all, so that nothing but the values differs.
        seed: Of everything that is drawn.
    """

    variants: int | None = 3
    noise: Mapping[Noise, int] = dataclasses.field(default_factory=lambda: {"weak": 4, "moderate": 4, "hard": 1})
    resample: bool = False
    seed: int = 0


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


def variants(record: Record, sampling: Sampling) -> list[Variant]:
    """The variants that are taken of a record, in the record's order.

    Which they are depends on the seed and the record's id alone; more of them keep those that were there.
    """
    seeds = Seeds(run=sampling.seed, question=record.id, epoch=0)
    numbers = list(range(1, len(record.placeholder_item.answer) + 1))
    random.Random(seeds.of("variants")).shuffle(numbers)
    return [_variant(record, number, sampling, seeds) for number in sorted(numbers[: sampling.variants])]


def _variant(record: Record, number: int, sampling: Sampling, seeds: Seeds) -> Variant:
    stream = str(number) if sampling.resample else ""
    noise = drawn(record, sampling.noise, seeds, stream)
    right = dict.fromkeys(record.golden_doc)
    # Ordered before values are filled in: those must not move a document.
    order = shuffled([*right, *(text for texts in noise.values() for text in texts)], seeds.of(f"order {stream}"))
    values = record.placeholder_item.placeholders[number - 1]
    tokens = frozenset(values)
    standing = set[str]().union(*(held(text, tokens) for text in right))
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

    def place(text: str) -> bytes:
        return hashlib.blake2b(f"{seed}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()

    return sorted(texts, key=place)
