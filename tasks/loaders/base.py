"""Formats: how the records of a published dataset become questions.

A format is a function `read(source, settings, data)` that yields questions and counts other records in `data`.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from r_eval.errors import UserError
from r_eval.records import Level, Question
from r_eval.tasks.files import Part, validation_message
from r_eval.tasks.loaders.reading import InvalidRecord, records

SHOWN = 3
"""Number of broken records that are named."""


class RecordError(NamedTuple):
    """A broken record."""

    place: str
    reason: str


@dataclasses.dataclass
class Data:
    """A dataset while and after it is loaded.

    Attributes:
        format: Name of its format.
        questions: All questions in the file's order, or the sample.
        records: Number of records.
        n_questions: Number of questions before sampling.
        n_broken: Number of broken records.
        faults: The first broken records.
        skipped: Number of valid records without a question by reason.
        remarks: Number of questions with a warning by message.
        levels: Number of questions by level.
        version: Hash of the whole dataset rather than the sample.
        samples, seed: Size and seed of the sample, for formats that cannot build all questions in bounded memory.
    """

    format: str
    questions: tuple[Question, ...] = ()
    records: int = 0
    n_questions: int = 0
    n_broken: int = 0
    faults: list[RecordError] = dataclasses.field(default_factory=list)
    skipped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    remarks: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    levels: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    version: str = ""
    samples: int | None = None
    seed: int = 0

    def add_fault(self, place: str, reason: object) -> None:
        """Count a broken record."""
        self.n_broken += 1
        if len(self.faults) < SHOWN:
            self.faults.append(RecordError(place, str(reason)))

    def notes(self) -> str:
        """One line on unusable records and warnings; "" for none."""
        broken = f"{self.n_broken:,} of {self.records:,} records are broken and not used, such as "
        return "; ".join([*([broken + ": ".join(self.faults[0])] if self.n_broken else []), *self.counts()])

    def counts(self) -> list[str]:
        """Skipped records and warnings with their numbers."""
        skipped = [f"{number:,} left out: {reason}" for reason, number in self.skipped.items()]
        return [*skipped, *(f"{number:,} used although {message}" for message, number in self.remarks.items())]


class Skipped(Exception):
    """A valid record without a question, such as an unanswerable one; the message says why."""


Reader = Callable[[str, Any, Data], Iterator[Question]]
Raw = dict[str, Any]
"""A published record; keys that the format does not name are ignored."""
Maker = Callable[[Raw], Question]
"""Builds the question of a record; raises `InvalidRecord` or `Skipped`, or KeyError or TypeError for missing or
mistyped parts.
"""


@dataclasses.dataclass(frozen=True)
class Format:
    """The format of a published dataset.

    Attributes:
        name: Name in a grid.
        expects: Description of a file for error messages.
        read: Yields the questions of a dataset.
        keys: The keys that identify a record, separated by spaces; one of several sets of them suffices.
        is_like: Recognises a file by its path and first records, if keys are not enough.
        general: Whether many datasets have this format, so that it may replace an installed task's own.
    """

    name: str
    expects: str
    read: Reader
    keys: Sequence[str] = ()
    settings: type[Part] = Part
    is_like: Callable[[Path, Sequence[Any]], bool] | None = None
    general: bool = False

    def read_settings(self, settings: Mapping[str, Any]) -> Any:
        """The validated settings.

        Raises:
            UserError: A setting is unknown or wrong.
        """
        try:
            return self.settings.model_validate(settings)
        except ValidationError as error:
            raise UserError(f"format '{self.name}': {validation_message(error, self.settings)}") from None

    def fits(self, path: Path, sample: Sequence[Any]) -> int:
        """How well a file with these first records matches the format, 0 for not at all; some may be invalid."""
        if self.is_like is not None and self.is_like(path, sample):
            return 4
        present = [record.keys() for record in sample if isinstance(record, dict)]
        wanted = [set(keys.split()) for keys in self.keys]
        fitting = [keys for keys in wanted if 2 * sum(keys <= names for names in present) >= len(sample) > 0]
        return max(map(len, fitting), default=0)


_FORMATS: dict[str, Format] = {}


@functools.cache
def formats() -> dict[str, Format]:
    """Every format, by name."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_FORMATS.items()))


def form(name: str, expects: str, *keys: str, **attributes: Any) -> Callable[[Reader], Reader]:
    """Decorator that registers a function as the reader of a format; see `Format`."""

    def register(read: Reader) -> Reader:
        _FORMATS[name] = Format(name, expects, read, keys, **attributes)
        return read

    return register


def record_form(name: str, expects: str, *keys: str) -> Callable[[Maker], Maker]:
    """Decorator that registers a function from record to question as a format without settings."""

    def register(make: Maker) -> Maker:
        form(name, expects, *keys)(lambda source, settings, data: convert_records(records(source), make, data))
        return make

    return register


def convert_records(items: Iterable[tuple[str, Any]], make: Maker, data: Data) -> Iterator[Question]:
    """The questions of records; invalid and skipped ones are counted in `data`."""
    for place, record in items:
        try:
            if isinstance(record, InvalidRecord):
                raise record
            if not isinstance(record, dict):
                raise InvalidRecord("is no JSON object")
            question = make(record)
        except Skipped as reason:
            data.skipped[str(reason)] += 1
        except InvalidRecord as error:
            data.add_fault(place, error)
        except ValidationError as error:
            data.add_fault(place, validation_message(error, Question))
        except KeyError as error:
            data.add_fault(place, f"the key {error.args[0]} is missing")
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            data.add_fault(place, f"a part of it is of another type: {str(error)[:120]}")
        else:
            yield question


def text_in(raw: Mapping[str, Any], key: str) -> str:
    """The stripped text under a key.

    Raises:
        KeyError: The key is missing.
        InvalidRecord: The text is empty.
    """
    value = raw[key]
    if not isinstance(value, str):
        raise InvalidRecord(f"{key}: must be a text, not {str(value)[:60]}")
    if not value.strip():
        raise InvalidRecord(f"{key}: is empty")
    return value.strip()


def question_of(id: str, question: str, answers: Iterable[str], level: Level = "KA", **fields: Any) -> Question:
    """A question without duplicate answers and without empty values in `meta`.

    Raises:
        InvalidRecord: There is no answer.
    """
    golds = list(dict.fromkeys(text for answer in answers if (text := answer.strip())))
    if not golds:
        raise InvalidRecord("has no answer")
    fields["meta"] = {key: value for key, value in fields.get("meta", {}).items() if value}
    return Question(id=id, question=question, answers=golds, level=level, **fields)


def content_id(*parts: str) -> str:
    """An id for a record without a unique one: a hash of its content, which new records do not change."""
    return hashlib.blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


BY_CHANCE = re.compile(r"yes|no|true|false|\d{1,2}", re.IGNORECASE)


def evidence_for(answer: str, titles: Sequence[str]) -> list[str]:
    """The evidence of a question over encyclopedia pages.

    For a phrase there is no evidence but the answer itself, since the supporting sentences differ between dumps. An
    answer that occurs in any text by chance (yes, no, a small number) has the titles of the pages as evidence, without
    "(film)" and the like: pages begin with their title, and a system must have seen all compared pages.
    """
    if not BY_CHANCE.fullmatch(answer.strip()):
        return []
    names = (re.sub(r"\s*\([^()]*\)$", "", title).strip() for title in titles)
    return [name for name in dict.fromkeys(names) if name]
