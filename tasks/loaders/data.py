"""Loads a dataset or a sample of it, and detects its format."""

from __future__ import annotations

import collections
import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from r_eval.plugins import unknown
from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import Data, Format, formats
from r_eval.tasks.loaders.reading import HUB, TABLES, InvalidRecord, NotThisForm, first_character, json_members, records
from r_eval.tasks.questions import place_in_order, sample_id

BROKEN = 0.01
"""Default share of broken records above which a file is rejected."""
PEEKED = 3
"""Number of records that are read to detect a format."""


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
    form = format_by_name(format or _detect_format(source, settings or {}))
    data = Data(form.name, samples=samples, seed=seed)
    form_settings = form.read_settings(settings or {})
    try:
        items = form.read(source, form_settings, data)
        questions = (q for q in _count_questions(items, data, source, level) if not (skip and skip(q)))
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
        raise UserError(_mismatch(source, form, error)) from None
    _check(data, form, source, broken)
    return data


def _count_questions(items: Iterator[Question], data: Data, source: str, level: Level | None) -> Iterator[Question]:
    """The questions with unique ids, which are counted in `data`."""
    ids: set[str] = set()
    digest = hashlib.blake2b(digest_size=8)
    for question in items:
        question.level = level or question.level
        try:
            digest.update(question.model_dump_json().encode())
        except ValueError as error:  # such as half a surrogate pair
            data.add_fault(f"{source}: question {question.id!r}", f"cannot be written: {str(error)[:120]}")
            continue
        if question.id in ids:
            data.skipped["duplicate id"] += 1
            continue
        ids.add(question.id)
        data.levels[question.level] += 1
        yield question
    data.n_questions = len(ids)
    data.levels = collections.Counter(dict(sorted(data.levels.items())))
    data.records = data.records or len(ids) + data.n_broken + data.skipped.total()
    data.version = data.version or digest.hexdigest()


def _check(data: Data, form: Format, source: str, allowed: float) -> None:
    """Raise UserError if there is no question or too many records are broken."""
    if data.n_broken and data.n_broken == data.records:
        raise UserError(_mismatch(source, form, ": ".join(data.faults[0])))
    if data.n_broken > allowed * data.records:
        counts = f"{data.n_broken:,} of {data.records:,} records are broken"
        faults = "; ".join(map(": ".join, data.faults))
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
    """The first records of a file in any known form; a JSON object on several lines is one record."""
    if path.is_dir():
        return []
    try:
        sample = [data for _, data in islice(records(path), PEEKED) if not isinstance(data, InvalidRecord)]
        if not sample and first_character(path) == "{":
            sample = [dict(islice(json_members(path), PEEKED))]
        return sample
    except NotThisForm:
        return []


def _detect_format(source: str, settings: Mapping[str, Any]) -> str:
    if source.startswith(HUB):
        return "huggingface"
    path = Path(source)
    if settings.get("columns"):
        return "csv" if path.suffix.lower() in TABLES else "jsonl"
    name = format_of(path)
    if name is None and path.suffix.lower() in TABLES and not _sample_records(path):
        return "csv"  # whose reader says what is wrong
    if name is None:
        place, first = next(records(path), ("", None))  # raises what is wrong with a file that is no JSON
        if isinstance(first, InvalidRecord) and path.suffix in (".json", ".jsonl") and not _sample_records(path):
            raise UserError(f"{place}: {first}")
        raise UserError(f"{path}: unknown format{_description(source)}; name one with format:")
    return name


def _mismatch(source: str, form: Format, error: object) -> str:
    return f"{source}: expected {form.expects}{_description(source, form.name)} ({error})"


def _description(source: str, expected: str = "") -> str:
    """What a file that does not have the expected format holds."""
    if source.startswith(HUB) or (name := format_of(Path(source))) == expected:
        return ""
    if name is not None:
        return f"; found a file of the format '{name}'"
    sample = _sample_records(Path(source))
    keys = ", ".join(map(str, sample[0]))[:200] if sample and isinstance(sample[0], dict) else ""
    return f"; found records with the keys {keys}" if keys else ""
