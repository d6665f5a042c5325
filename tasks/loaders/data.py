"""Loads a dataset or a sample of it, and counts unusable records."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from r_eval.errors import UserError
from r_eval.plugins import unknown
from r_eval.records import Level, Question
from r_eval.tasks.files import validation_message
from r_eval.tasks.loaders.base import Format, Item, RecordWarning, Skipped, formats
from r_eval.tasks.loaders.reading import (
    HUB,
    TABLES,
    DataRecord,
    NotThisForm,
    RecordError,
    first_character,
    forget,
    json_members,
    records,
)
from r_eval.tasks.questions import place_in_order, sample_id

BROKEN = 0.01
"""Default share of broken records above which a file is rejected."""
SHOWN = 3
"""Number of broken records in a message."""
ENOUGH = 20
"""Number of broken records, without a valid one, after which a file counts as another format."""
PEEKED = 3
"""Number of records that are read to detect a format."""
TWICE = "duplicate id"


@dataclasses.dataclass
class Data:
    """A loaded dataset.

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

    def notes(self) -> str:
        """One line on unusable records and warnings; "" for none."""
        broken = f"{self.n_broken:,} of {self.records:,} records are broken and not asked, such as "
        return "; ".join([*([f"{broken}{self.faults[0]}"] if self.n_broken else []), *self.counts()])

    def counts(self) -> list[str]:
        """Skipped records and warnings with their numbers."""
        skipped = [f"{number:,} left out: {reason}" for reason, number in self.skipped.items()]
        return [*skipped, *(f"{number:,} asked though {message}" for message, number in self.remarks.items())]


def load(
    source: str | Path,
    format: str | None = None,
    *,
    level: Level | None = None,
    settings: Mapping[str, Any] | None = None,
    samples: int | None = None,
    seed: int = 0,
    skip: Callable[[Question], bool] | None = None,
    broken: float = BROKEN,
) -> Data:
    """Load a dataset.

    Args:
        source: A file or folder, or `hf:ORGANISATION/NAME`.
        format: Name of the format; None detects it. A file with `columns` in its settings is a table.
        level: Level of the questions, instead of the format's.
        settings: Settings of the format.
        samples: Sample size; the sample is the start of a seeded order of ids, so that new questions do not reshuffle
            the rest.
        skip: Whether to leave out a question, such as one that is a demonstration.
        broken: The largest accepted share of broken records.

    Raises:
        UserError: The dataset cannot be read, has another format, or has too many broken records.
    """
    source = str(source)
    try:
        reader = format_by_name(format or _detect_format(source, settings or {}))
        try:
            reader_settings = reader.settings.model_validate(settings or {})
        except ValidationError as error:
            raise UserError(f"format '{reader.name}': {validation_message(error, reader.settings)}") from None
        data = Data(reader.name)
        try:
            items = reader.read(source, reader_settings, samples, seed)
            questions = (q for q in _count_items(items, data, reader, source, level) if not (skip and skip(q)))
            if samples is None:
                data.questions = tuple(questions)
            else:
                sample = heapq.nsmallest(
                    max(1, samples), enumerate(questions), key=lambda pair: place_in_order(sample_id(pair[1]), seed)
                )[:samples]
                data.questions = tuple(question for _, question in sorted(sample, key=lambda pair: pair[0]))
        except NotThisForm as error:
            if data.levels or data.skipped or data.n_broken:
                raise
            raise UserError(_mismatch(source, reader, error)) from None
        _check(data, reader, source, broken)
        return data
    finally:
        forget()


def _count_items(
    items: Iterator[Item], data: Data, reader: Format, source: str, level: Level | None
) -> Iterator[Question]:
    """The usable questions with unique ids; everything else is counted in `data`."""
    ids: set[str] = set()
    digest = hashlib.blake2b(digest_size=8)
    for item in items:
        if isinstance(item, Question):
            item.level = level or item.level
            try:
                digest.update(item.model_dump_json().encode())
            except ValueError as error:  # such as half a surrogate pair
                item = RecordError(f"{source}: question {item.id!r}", f"cannot be written: {str(error)[:120]}")
        if isinstance(item, Question):
            if item.id in ids:
                data.skipped[TWICE] += 1
                continue
            ids.add(item.id)
            data.levels[item.level] += 1
            yield item
        elif isinstance(item, RecordError):
            data.n_broken += 1
            data.faults = [*data.faults, item][:SHOWN]
            if data.n_broken == ENOUGH >= (data.records or len(ids) + data.n_broken + data.skipped.total()):
                raise UserError(_mismatch(source, reader, item))
        elif isinstance(item, Skipped):
            data.skipped[item.reason] += item.number
        elif isinstance(item, RecordWarning):
            data.remarks[item.message] += 1
        else:
            data.records, data.version = item.records, item.version
    data.n_questions = len(ids)
    data.levels = collections.Counter(dict(sorted(data.levels.items())))
    data.records = data.records or len(ids) + data.n_broken + data.skipped.total()
    data.version = data.version or digest.hexdigest()


def _check(data: Data, reader: Format, source: str, allowed: float) -> None:
    """Raise UserError if there is no question or too many records are broken."""
    if data.n_broken and data.n_broken == data.records:
        raise UserError(_mismatch(source, reader, data.faults[0]))
    if data.n_broken > allowed * data.records:
        counts = f"{data.n_broken:,} of {data.records:,} records are broken"
        faults = "; ".join(map(str, data.faults))
        raise UserError(f"{source}: {counts}, more than broken: {allowed:g} allows: {faults}")
    if not data.n_questions:
        reason = ", ".join(f"{number:,} {reason}" for reason, number in data.skipped.items())
        raise UserError(f"{source}: holds no question ({reason or 'it holds no record'})")


def format_by_name(name: str) -> Format:
    """A format by its name.

    Raises:
        UserError: There is no such format.
    """
    if name not in formats():
        raise UserError(unknown("format", name, formats()))
    return formats()[name]


def format_of(path: Path) -> str | None:
    """Detect the format of a file or folder by its first records; None if it has none.

    Raises:
        UserError: It cannot be read.
    """
    sample = _sample_records(path)
    best = max(formats().values(), key=lambda form: form.fits(path, sample))
    if not best.fits(path, sample):
        return None
    return "csv" if best.name == "jsonl" and path.suffix.lower() in TABLES else best.name


def _sample_records(path: Path) -> list[Any]:
    """The first records of a file in any known form; for a single object, its first members as one record."""
    if path.is_dir():
        return []
    try:
        sample = [record.data for record in itertools.islice(records(path), PEEKED) if isinstance(record, DataRecord)]
        if not sample and first_character(path) == "{":
            sample = [dict(member.data for member in itertools.islice(json_members(path), PEEKED))]
    except NotThisForm:
        return []
    return sample


def _detect_format(source: str, settings: Mapping[str, Any]) -> str:
    if source.startswith(HUB):
        return "huggingface"
    path = Path(source)
    if settings.get("columns"):
        return "csv" if path.suffix.lower() in TABLES else "jsonl"
    name = format_of(path)
    if name is None:
        raise UserError(f"{path}: unknown format{_describe_file(path, '')}; name one with format:")
    return name


def _mismatch(source: str, reader: Format, error: object) -> str:
    description = "" if source.startswith(HUB) else _describe_file(Path(source), reader.name)
    return f"{source}: expected {reader.expects}{description} ({error})"


def _describe_file(path: Path, expected: str) -> str:
    """Describe a file that does not have the expected format."""
    name, sample = format_of(path), _sample_records(path)
    if name is not None:
        return "" if name == expected else f"; found a file of the format '{name}'"
    keys = ", ".join(map(str, sample[0]))[:200] if sample and isinstance(sample[0], dict) else ""
    return f"; found records with the keys {keys}" if keys else ""
