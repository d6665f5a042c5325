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

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationError

from r_eval.languages import Language, language_of
from r_eval.records import Document, Level, Question
from r_eval.tasks.loaders.base import Broken, Format, Item, LeftOut, Remark, Settings, complaint, mostly
from r_eval.tasks.loaders.hub import HUB, hub_records
from r_eval.tasks.loaders.prgb_cells import TRANSPOSED, from_cells
from r_eval.tasks.loaders.reading import Fault, csv_records, first_character, json_records
from r_eval.tasks.loaders.reading import Record as Read
from r_eval.tasks.loaders.sampling import Sample
from r_eval.tasks.placeholders.record import Kind, Record
from r_eval.tasks.placeholders.variants import LEVELS, Noise, Sampling, Variant, variants
from r_eval.tasks.questions import place_in_order

Count = Annotated[int, Field(ge=0, le=1000)]

OF_KIND: Mapping[Kind, Level] = {"filtering": "KS", "combination": "KU", "reasoning": "KA"}
NAMES: Mapping[Language, str] = {"en": "Document {}", "zh": "文档{}"}
"""What a document is called, since it has no title."""

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
        resample: Whether each variant has noise and order of its own, as the published code does.
        seed: Of what is drawn; the grid's where none is given.
    """

    task: Kind | None = None
    language: Language | None = None
    variants: Annotated[int, Field(ge=1, le=1000)] | Literal["all"] = 3
    noise: dict[Noise, Count] = {"weak": 4, "moderate": 4, "hard": 1}
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
        known: set[str] = set()
        chosen = Sample[Record](size, seed)
        for read in _records(source):
            self.seen += 1
            item = self._record(read, digest)
            if not isinstance(item, Record):
                yield item
            elif item.id in known:
                yield LeftOut(TWICE)
            elif size:
                known.add(item.id)
                chosen.offer(item.id, item)
            else:  # all of them, or only to be counted
                known.add(item.id)
                yield from self._questions(item, sampling)
        self.version = digest.hexdigest()
        for record in _whole(chosen.kept(), sampling, size or 0, seed):
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


def _whole(kept: Mapping[str, Record], sampling: Sampling, size: int, seed: int) -> list[Record]:
    """The records that come first in a seed's order and whose variants are no more than `size`; one at least."""
    taken: set[str] = set()
    total = 0
    for id in sorted(kept, key=lambda id: place_in_order(id, seed)):
        there = len(kept[id].placeholder_item.answer)
        total += there if sampling.variants is None else min(there, sampling.variants)
        if taken and total > size:
            break
        taken.add(id)
    return [record for id, record in kept.items() if id in taken]
