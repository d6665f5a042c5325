"""PRGB's records: questions whose documents hold placeholders, asked in several variants with other values in them.

Each variant of a record is a question, `<record>#<variant>`, counted from 1 as the record has them; what they share is
`meta.document`. The documents come with the question, under names that tell nothing but their place. The gold is an
expression for `covered_match`; what a system must have seen are the values that stand in the right documents, whose ids
are those of the environment `documents`.

The older form is CSV, with the columns `placeholder` (each placeholder with its values) and `answer` in place of
`placeholder_item`, and with lists written as JSON or as Python writes them.

Of a sample whole records are taken, so that what is asked of a record is asked in all its variants.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import itertools
import json
import random
import re
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationError
from rapidfuzz import fuzz

from r_eval.languages import Language, language_of
from r_eval.records import Document, Level, Question
from r_eval.seeds import Seeds
from r_eval.tasks.loaders.base import Broken, Format, Item, LeftOut, Remark, Settings, complaint, mostly
from r_eval.tasks.loaders.hub import HUB, hub_records
from r_eval.tasks.loaders.reading import Fault, csv_records, first_character, json_records
from r_eval.tasks.loaders.reading import Record as Read
from r_eval.tasks.placeholders.record import Kind, Record, held
from r_eval.tasks.placeholders.variants import LEVELS, Noise, Sampling, Variant, variants
from r_eval.tasks.questions import place_in_order

Count = Annotated[int, Field(ge=0, le=1000)]

OF_KIND: Mapping[Kind, Level] = {"filtering": "KS", "combination": "KU", "reasoning": "KA"}
NAMES: Mapping[Language, str] = {"en": "Document {}", "zh": "文档{}"}
"""What a document is called, since it has no title."""

SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
ALIKE = 55
"""Likeness of two sentences, 0 to 100, from which on one may answer what the other does."""
TRANSPOSED = frozenset({"placeholder", "answer"})
"""The keys of the older form in place of `placeholder_item`."""
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
        seed: Of what is drawn; the grid's where none is given.
    """

    task: Kind | None = None
    language: Language | None = None
    variants: Annotated[int, Field(ge=1, le=1000)] | Literal["all"] = 3
    noise: dict[Noise, Count] = {"weak": 4, "moderate": 4, "hard": 1}
    library: bool = False
    resample: bool = False
    seed: int | None = None


class Prgb(Format):
    name = "prgb"
    expects = f"PRGB: JSON Lines with id, query, golden_doc, {', '.join(LEVELS.values())} and placeholder_item"
    Settings: ClassVar[type[Settings]] = PrgbSettings

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        return 5 if mostly(_alike, first) else 0

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        sampling = self._sampling(seed)
        digest = hashlib.blake2b(f"{self.settings}{sampling.seed}".encode(), digest_size=8)
        self.seen = 0
        found: dict[str, Record] = {}
        for read in _records(source):
            self.seen += 1
            item = self._record(read, digest)
            if not isinstance(item, Record):
                yield item
            elif found.setdefault(item.id, item) is not item:
                yield LeftOut(TWICE)
        self.version = digest.hexdigest()
        if self.settings.library:
            found = _with_library(found, self.settings.noise.get("weak", 0), sampling.seed)
        for record in _whole(found, sampling, size, seed) if size else found.values():
            yield from self._questions(record, sampling)

    def _sampling(self, seed: int) -> Sampling:
        settings: PrgbSettings = self.settings
        return Sampling(
            variants=None if settings.variants == "all" else settings.variants,
            noise=settings.noise,
            resample=settings.resample,
            seed=seed if settings.seed is None else settings.seed,
        )

    def _record(self, read: Read | Fault, digest: Any) -> Record | LeftOut | Fault:
        """A record that is to be asked.

        Args:
            digest: Of all that is asked; takes it in.
        """
        if isinstance(read, Fault):
            return read
        try:
            data = from_cells(read.data)
            record = Record.model_validate(data)
        except ValidationError as error:
            return Fault(_place(read), complaint(error, Record))
        except Broken as error:
            return Fault(_place(read), str(error))
        settings: PrgbSettings = self.settings
        if settings.task not in (None, record.kind):
            return LeftOut(OTHER_TASK)
        if settings.language not in (None, language_of(record.query)):
            return LeftOut(OTHER_LANGUAGE)
        digest.update(record.model_dump_json().encode())
        return record

    def _questions(self, record: Record, sampling: Sampling) -> Iterator[Item]:
        """The questions of a record, and what is odd about it."""
        made = variants(record, sampling)
        yield from (Remark(what) for what in record.oddities())
        if len(made) < (sampling.variants or 0):
            yield Remark(LESS_VARIANTS)
        if any(made[0].noise[level] < count for level, count in sampling.noise.items()):
            yield Remark(LESS_NOISE)
        language = language_of(record.query)
        yield from (self._question(record, variant, language) for variant in made)

    def _question(self, record: Record, variant: Variant, language: Language) -> Question:
        names = [NAMES[language].format(place) for place in range(1, len(variant.documents) + 1)]
        return Question(
            id=f"{record.id}#{variant.number}",
            question=record.query,
            answers=[variant.answer],
            level=self.level_of_all or OF_KIND[record.kind],
            evidence=list(variant.used),
            entities=list(variant.used),
            context=[Document(title=name, text=text) for name, text in zip(names, variant.documents, strict=True)],
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


def _alike(record: Mapping[str, Any]) -> bool:
    """Whether a record has the keys of one of the two forms."""
    keys = record.keys()
    return {"query", "golden_doc"} <= keys and ("placeholder_item" in keys or keys >= TRANSPOSED)


def _records(source: str) -> Iterator[Read | Fault]:
    if source.startswith(HUB):
        return hub_records(source)
    path = Path(source)
    return json_records(path) if first_character(path) in ("[", "{") else csv_records(path)


def _place(read: Read) -> str:
    """Where a record stands, with its id where it has one."""
    id = read.data.get("id") if isinstance(read.data, Mapping) else None
    return f"{read.place}: record {id}" if isinstance(id, str | int) and str(id).strip() else read.place


def _whole(found: Mapping[str, Record], sampling: Sampling, size: int, seed: int) -> list[Record]:
    """The records that come first in a seed's order and whose variants are no more than `size`; one at least."""
    taken: set[str] = set()
    total = 0
    for id in sorted(found, key=lambda id: place_in_order(id, seed)):
        there = len(found[id].placeholder_item.answer)
        total += there if sampling.variants is None else min(there, sampling.variants)
        if taken and total > size:
            break
        taken.add(id)
    return [record for id, record in found.items() if id in taken]


def _with_library(found: Mapping[str, Record], wanted: int, seed: int) -> dict[str, Record]:
    """The records with weak noise out of the noise of all of them, `wanted` documents at most besides their own."""
    texts = (text for record in found.values() for level in LEVELS.values() for text in getattr(record, level))
    library = list(dict.fromkeys(texts))
    changed = {}
    for id, record in found.items():
        tokens = record.tokens()
        answering = [s for text in record.golden_doc for s in SENTENCES.split(text) if held(s, tokens)]
        close = [record.query, *answering]
        drawn = random.Random(Seeds(seed, id, 0).of("library")).sample(library, len(library))
        apart = (text for text in drawn if not any(_alike_in(text, one) for one in close))
        weak = [*record.noise_doc_level1, *itertools.islice(apart, wanted)]
        changed[id] = record.model_copy(update={LEVELS["weak"]: weak})
    return changed


def _alike_in(text: str, other: str) -> bool:
    """Whether a sentence of a text is worded like another one."""
    return any(fuzz.ratio(sentence, other) >= ALIKE for sentence in SENTENCES.split(text) if sentence)


def from_cells(data: Any) -> Any:
    """A record of the older form, whose cells hold lists and mappings as JSON or as Python writes them, in the newer
    one; one that is in it already, or is something else, as it stands.

    Raises:
        Broken: A cell cannot be read, or the placeholders have different numbers of values.
    """
    if not isinstance(data, Mapping) or ("placeholder_item" not in data and not data.keys() >= TRANSPOSED):
        return data
    row = dict(data)
    for key in ("golden_doc", *LEVELS.values(), "placeholder_item", *TRANSPOSED):
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
    variants = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    row["placeholder_item"] = {"placeholders": variants, "answer": row.pop("answer")}
    return row


def _cell(key: str, cell: str) -> Any:
    """What a cell holds; an empty one, nothing."""
    if not cell.strip():
        return []
    wrong = (ValueError, SyntaxError, RecursionError, MemoryError, TypeError, tokenize.TokenError)
    for read in (json.loads, _python_literal):
        with contextlib.suppress(*wrong):
            return read(cell.strip())
    raise Broken(f"{key}: is neither JSON nor a list as Python writes it: {' '.join(cell.split())[:60]!r}")


def _python_literal(cell: str) -> Any:
    """A literal of Python's, of which only plain data is known.

    Raises:
        ValueError: It is none, or texts stand in it without commas between, as numpy prints them.
    """
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(cell).readline)]
    if (tokenize.STRING, tokenize.STRING) in itertools.pairwise(kinds):
        raise ValueError("texts without a comma between")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about "\\d" and the like
        value = ast.literal_eval(cell)
    return list(value) if isinstance(value, tuple) else value
