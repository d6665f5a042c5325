"""Selects the variants of a record, with the documents of each, their order and the answer.

Noise (documents that do not answer the question) has three levels. The sample depends on the seed and the record alone.
More noise of a level only adds documents, levels are independent, and documents keep their relative order.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Literal

from r_eval.seeds import Seeds
from r_eval.tasks.placeholders.expressions import map_literals, parse, to_text
from r_eval.tasks.placeholders.record import PlaceholderRecord, placeholders_in, substitute

Noise = Literal["weak", "moderate", "hard"]

LEVELS: Mapping[Noise, str] = {"weak": "noise_doc_level1", "moderate": "noise_doc_level2", "hard": "noise_doc_level3"}
"""The levels from far to near, each with the key of its documents in a record."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """A record with one set of values in its placeholders.

    Attributes:
        number: Its position in the record, from 1.
        values: The values of the placeholders.
        documents: The documents in order.
        golden: Positions of the golden documents, from 0.
        noise: Number of documents per level.
        answer: An expression for `covered_match`.
        used: The values in the golden documents.
    """

    number: int
    values: Mapping[str, str]
    documents: tuple[str, ...]
    golden: tuple[int, ...]
    noise: Mapping[Noise, int]
    answer: str
    used: tuple[str, ...]


def variants(
    record: PlaceholderRecord, number: int | None, noise: Mapping[Noise, int], resample: bool = False, seed: int = 0
) -> list[Variant]:
    """Sample variants of a record, in the record's order; a larger number adds to a smaller sample.

    Args:
        number: Number of variants; None for all.
        noise: Number of documents per level.
        resample: Whether each variant samples its own noise and order, like the published code. Otherwise variants
            differ in their values only.
        seed: Seed of the samples.
    """
    seeds = Seeds(run=seed, question=record.id, epoch=0)
    places = list(range(1, len(record.placeholder_item.answer) + 1))
    random.Random(seeds.of("variants")).shuffle(places)
    return [_variant(record, at, noise, str(at) if resample else "", seeds) for at in sorted(places[:number])]


def _variant(record: PlaceholderRecord, number: int, counts: Mapping[Noise, int], stream: str, seeds: Seeds) -> Variant:
    noise: dict[Noise, list[str]] = {}
    golden = dict.fromkeys(record.golden_doc)
    seen = set(golden)
    for level, part in LEVELS.items():  # a document in two levels belongs to the first
        texts_of_level = [text for text in dict.fromkeys(getattr(record, part)) if text not in seen]
        seen.update(texts_of_level)
        noise[level] = shuffled(texts_of_level, seeds.of(f"noise {level} {stream}"))[: counts.get(level, 0)]
    # Sort before substitution, so that values do not affect the order.
    order = shuffled([*golden, *(text for texts in noise.values() for text in texts)], seeds.of(f"order {stream}"))
    values = record.placeholder_item.placeholders[number - 1]
    used_tokens = set[str]().union(*(placeholders_in(text, frozenset(values)) for text in golden))
    return Variant(
        number=number,
        values=values,
        documents=tuple(substitute(text, values) if text in golden else text for text in order),
        golden=tuple(place for place, text in enumerate(order) if text in golden),
        noise={level: len(texts) for level, texts in noise.items()},
        answer=_answer(record.placeholder_item.answer[number - 1], values),
        used=tuple(dict.fromkeys(value for token, value in values.items() if token in used_tokens)),
    )


def _answer(text: str, values: Mapping[str, str]) -> str:
    """The answer with its placeholders substituted; unchanged if it has none."""
    tree = parse(text)
    filled = map_literals(tree, lambda literal: substitute(literal, values))
    return text if filled == tree else to_text(filled)


def shuffled(texts: Sequence[str], seed: int) -> list[str]:
    """The texts in the order of their seeded hashes; adding or removing a text keeps the order of the rest."""

    def place(text: str) -> bytes:
        return hashlib.blake2b(f"{seed}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()

    return sorted(texts, key=place)
