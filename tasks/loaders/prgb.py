"""PRGB's records: questions whose documents hold placeholders, asked in several variants with other values in them.

Each variant of a record is a question, `<record>#<variant>`, counted from 1 as the record has them; what they share is
`meta.document`. The documents come with the question, under names that tell nothing but their place. The gold is an
expression for `covered_match`; what a system must have seen are the values that stand in the right documents, whose ids
are those of the environment `documents`.

The older form is CSV, with the columns `placeholder` (each placeholder with its values) and `answer` in place of
`placeholder_item`, and with lists written as JSON or as Python writes them.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import json
import random
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from rapidfuzz import fuzz

from r_eval.languages import Language, language_of
from r_eval.records import Document, Level, Question
from r_eval.seeds import Seeds
from r_eval.tasks.files import complaint
from r_eval.tasks.loaders.base import Broken, Item, LeftOut, Read, Remark, Settings, form
from r_eval.tasks.loaders.reading import Fault, records
from r_eval.tasks.placeholders.record import Kind, Record, held
from r_eval.tasks.placeholders.variants import LEVELS, Noise, Variant, variants

Count = Annotated[int, Field(ge=0, le=1000)]

OF_KIND: Mapping[Kind, Level] = {"filtering": "KS", "combination": "KU", "reasoning": "KA"}
NAMES: Mapping[Language, str] = {"en": "Document {}", "zh": "文档{}"}
"""What a document is called, since it has no title."""

SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
ALIKE = 55
"""Likeness of two sentences, 0 to 100, from which on one may answer what the other does."""
OTHER_TASK = "records of another task"
OTHER_LANGUAGE = "records in another language"
TWICE = "records whose id stands twice"
LESS_NOISE = "a record has less noise than is wanted"
LESS_VARIANTS = "a record has fewer variants than are wanted"


class PrgbSettings(Settings):
    """What is asked of the records, and with what around it.

    Attributes:
        task, language: Only the records of that task, or whose question is in that language.
        variants: Of each record; "all" or a number.
        noise: Documents wanted of each level; none of a level that is not named.
        library: Whether weak noise is taken from all records, as many as `noise` wants; nothing that is worded like
            the question or what answers it.
        resample: Whether each variant has noise and order of its own, as the published code does.
    """

    task: Kind | None = None
    language: Language | None = None
    variants: Annotated[int, Field(ge=1, le=1000)] | Literal["all"] = 3
    noise: dict[Noise, Count] = {"weak": 4, "moderate": 4, "hard": 1}
    library: bool = False
    resample: bool = False


@form(
    "prgb",
    f"PRGB: JSON Lines with id, query, golden_doc, {', '.join(LEVELS.values())} and placeholder_item",
    frozenset({"query", "golden_doc", "placeholder_item"}),
    frozenset({"query", "golden_doc", "placeholder", "answer"}),
    settings=PrgbSettings,
)
def prgb(source: str, settings: PrgbSettings, size: int | None, seed: int) -> Iterator[Item]:
    """The questions of all records."""
    seen = 0
    found: dict[str, Record] = {}
    for read in records(source):
        seen += 1
        if isinstance(read, Fault):
            yield read
            continue
        id = read.data.get("id") if isinstance(read.data, Mapping) else None
        place = f"{read.place}: record {id}" if isinstance(id, str | int) and str(id).strip() else read.place
        try:
            record = Record.model_validate(from_cells(read.data))
        except (ValidationError, Broken) as error:
            yield Fault(place, complaint(error, Record) if isinstance(error, ValidationError) else str(error))
            continue
        if settings.task not in (None, record.kind):
            yield LeftOut(OTHER_TASK)
        elif settings.language not in (None, language_of(record.query)):
            yield LeftOut(OTHER_LANGUAGE)
        elif found.setdefault(record.id, record) is not record:
            yield LeftOut(TWICE)
    if settings.library:
        found = with_library(found, settings.noise.get("weak", 0), seed)
    yield from questions(found.values(), settings, seed)
    yield Read(seen)


def with_library(found: Mapping[str, Record], wanted: int, seed: int) -> dict[str, Record]:
    """The records with weak noise out of the noise of all of them, `wanted` documents at most besides their own."""
    texts = (text for record in found.values() for level in LEVELS.values() for text in getattr(record, level))
    library = list(dict.fromkeys(texts))
    changed = {}
    for id, record in found.items():
        tokens = record.tokens()
        answering = [s for text in record.golden_doc for s in SENTENCES.split(text) if held(s, tokens)]
        close = [record.query, *answering]
        drawn = random.Random(Seeds(seed, id, 0).of("library")).sample(library, len(library))
        apart = (text for text in drawn if not any(_alike(text, one) for one in close))
        weak = [*record.noise_doc_level1, *itertools.islice(apart, wanted)]
        changed[id] = record.model_copy(update={LEVELS["weak"]: weak})
    return changed


def _alike(text: str, other: str) -> bool:
    """Whether a sentence of a text is worded like another one."""
    return any(fuzz.ratio(sentence, other) >= ALIKE for sentence in SENTENCES.split(text) if sentence)


def questions(found: Iterable[Record], settings: PrgbSettings, seed: int) -> Iterator[Question | Remark]:
    """The questions of records, and what is odd about these."""
    number = None if settings.variants == "all" else settings.variants
    for record in found:
        made = variants(record, number, settings.noise, settings.resample, seed)
        if len(made) < (number or 0):
            yield Remark(LESS_VARIANTS)
        if any(made[0].noise[level] < count for level, count in settings.noise.items()):
            yield Remark(LESS_NOISE)
        language = language_of(record.query)
        yield from (_question(record, variant, language) for variant in made)


def _question(record: Record, variant: Variant, language: Language) -> Question:
    return Question(
        id=f"{record.id}#{variant.number}",
        question=record.query,
        answers=[variant.answer],
        level=OF_KIND[record.kind],
        evidence=list(variant.used),
        entities=list(variant.used),
        context=[
            Document(title=NAMES[language].format(place), text=text) for place, text in enumerate(variant.documents, 1)
        ],
        meta={
            "document": record.id,
            "variant": variant.number,
            "task": record.kind,
            "subtask": record.subtask,
            "language": language,
            "noise": dict(variant.noise),
            "text_ids": [f"d{place + 1}" for place in variant.golden],
            "sources": [variant.documents[place] for place in variant.golden],
            "placeholders": dict(variant.values),
        },
    )


def from_cells(data: Any) -> Any:
    """A record of the older form in the newer one; anything else as it stands, but for cells that hold texts.

    Raises:
        Broken: A cell cannot be read, or the placeholders have different numbers of values.
    """
    if not isinstance(data, Mapping) or not ("placeholder_item" in data or {"placeholder", "answer"} <= data.keys()):
        return data
    row = dict(data)
    for key in ("golden_doc", *LEVELS.values(), "placeholder_item", "placeholder", "answer"):
        if isinstance(row.get(key), str):
            row[key] = _cell(key, row[key])
    if "placeholder_item" in row:
        return row
    row.setdefault("noise_doc_level3", [])  # the level came later than this form
    values = row.pop("placeholder")
    if not isinstance(values, Mapping) or not all(isinstance(value, list) for value in values.values()):
        raise Broken("placeholder: is no mapping of placeholders to lists of values")
    if len({len(value) for value in values.values()}) > 1:
        counts = ", ".join(f"{token} {len(value)}" for token, value in values.items())
        raise Broken(f"placeholder: different numbers of values ({counts[:200]})")
    made = [dict(zip(values, one, strict=True)) for one in zip(*values.values(), strict=True)]
    row["placeholder_item"] = {"placeholders": made, "answer": row.pop("answer")}
    return row


def _cell(key: str, cell: str) -> Any:
    """What a cell holds, as JSON or a literal of Python's; an empty one, nothing."""
    if not cell.strip():
        return []
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            with warnings.catch_warnings(action="ignore"):  # about "\\d" and the like
                value = read(cell.strip())
            return list(value) if isinstance(value, tuple) else value
    raise Broken(f"{key}: is neither JSON nor a list as Python writes it: {' '.join(cell.split())[:60]!r}")
