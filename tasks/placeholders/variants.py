"""The questions of a record with placeholders: one per variant, with its documents in a seeded order and the answer.

Noise (documents that do not answer the question) has three levels. The sample depends on the seed and the record alone.
More noise of a level only adds documents, levels are independent, and documents keep their relative order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal

from r_eval.languages import Language, language_of
from r_eval.records import Document, Level, Question
from r_eval.seeds import Seeds
from r_eval.tasks.placeholders.expressions import escaped
from r_eval.tasks.placeholders.record import Kind, PlaceholderRecord, placeholders_in, substitute
from r_eval.tasks.questions import place_in_order

Noise = Literal["weak", "moderate", "hard"]

LEVELS: Mapping[Noise, str] = {"weak": "noise_doc_level1", "moderate": "noise_doc_level2", "hard": "noise_doc_level3"}
"""The levels from far to near, each with the key of its documents in a record."""
OF_KIND: Mapping[Kind, Level] = {"filtering": "KS", "combination": "KU", "reasoning": "KA"}
NAMES: Mapping[Language, str] = {"en": "Document {}", "zh": "文档{}"}
"""Title of a document by position."""


def variants(
    record: PlaceholderRecord, number: int | None, noise: Mapping[Noise, int], resample: bool = False, seed: int = 0
) -> list[Question]:
    """The questions `<record>#<variant>` of a sample of variants, in the record's order.

    A larger number adds to a smaller sample. The evidence is the values in the golden documents, whose ids are those of
    the environment `documents`; the gold is an expression for `covered_match`.

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
    return [_question(record, at, noise, str(at) if resample else "", seeds) for at in sorted(places[:number])]


def _question(
    record: PlaceholderRecord, number: int, counts: Mapping[Noise, int], stream: str, seeds: Seeds
) -> Question:
    noise: dict[Noise, list[str]] = {}
    golden = dict.fromkeys(record.golden_doc)
    seen = set(golden)
    for level, part in LEVELS.items():  # a document in two levels belongs to the first
        texts = [text for text in dict.fromkeys(getattr(record, part)) if text not in seen]
        seen.update(texts)
        noise[level] = shuffled(texts, seeds.of(f"noise {level} {stream}"))[: counts.get(level, 0)]
    # Sort before substitution, so that values do not affect the order.
    order = shuffled([*golden, *(text for texts in noise.values() for text in texts)], seeds.of(f"order {stream}"))
    values = record.placeholder_item.placeholders[number - 1]
    documents = [substitute(text, values) if text in golden else text for text in order]
    places = [place for place, text in enumerate(order) if text in golden]
    tokens = set[str]().union(*(placeholders_in(text, frozenset(values)) for text in golden))
    used = list(dict.fromkeys(value for token, value in values.items() if token in tokens))
    literals = {token: escaped(value) for token, value in values.items()}
    language = language_of(record.query)
    return Question(
        id=f"{record.id}#{number}",
        question=record.query,
        answers=[substitute(record.placeholder_item.answer[number - 1], literals)],
        level=OF_KIND[record.kind],
        program=record.program,
        evidence=used,
        entities=used,
        context=[Document(title=NAMES[language].format(n), text=text) for n, text in enumerate(documents, 1)],
        meta={
            "document": record.id,
            "variant": number,
            "task": record.kind,
            "subtask": record.subtask,
            "language": language,
            "noise": {level: len(texts) for level, texts in noise.items()},
            "text_ids": [f"d{place + 1}" for place in places],
            "sources": [documents[place] for place in places],
            "placeholders": values,
        },
    )


def shuffled(texts: Sequence[str], seed: int) -> list[str]:
    """The texts in the order of their seeded hashes; adding or removing a text keeps the order of the rest."""
    return sorted(texts, key=lambda text: place_in_order(text, seed))
