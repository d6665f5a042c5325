"""Reads a data set whole, or a sample of it, and counts what could not be used."""

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
from r_eval.tasks.files import complaint
from r_eval.tasks.loaders.base import Format, Item, LeftOut, Remark, formats
from r_eval.tasks.loaders.reading import (
    HUB,
    TABLES,
    Fault,
    NotThisForm,
    Record,
    first_character,
    forget,
    json_members,
    records,
)
from r_eval.tasks.questions import place_in_order, sample_id

BROKEN = 0.01
"""Share of broken records from which on a file is refused, where nothing else is said."""
SHOWN = 3
"""Broken records that a message shows."""
ENOUGH = 20
"""Broken records, with none that is right, after which a file is taken for one of another format."""
PEEKED = 3
"""Records that are looked at to tell a format."""
TWICE = "the id stands twice"


@dataclasses.dataclass
class Data:
    """What came of a data set.

    Attributes:
        format: Name of the format that it was read in.
        questions: All of them in the file's order, or the sample.
        records: How many records were read.
        asked: How many questions they make, before sampling.
        broken: How many are broken.
        faults: The first of the broken ones.
        left_out: How many sound ones make no question, by reason.
        remarks: How many are asked though something about them is odd, by what it is.
        levels: How many of the questions are of each level.
        version: Hash of all that was read, not of the sample alone.
    """

    format: str
    questions: tuple[Question, ...] = ()
    records: int = 0
    asked: int = 0
    broken: int = 0
    faults: list[Fault] = dataclasses.field(default_factory=list)
    left_out: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    remarks: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    levels: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    version: str = ""

    def notes(self) -> str:
        """One line on what could not be used or is odd; "" where everything is sound."""
        broken = f"{self.broken:,} of {self.records:,} records are broken and not asked, such as "
        return "; ".join([*([f"{broken}{self.faults[0]}"] if self.broken else []), *self.counts()])

    def counts(self) -> list[str]:
        """What was left out and what is odd, each with its number."""
        left_out = [f"{number:,} left out: {why}" for why, number in self.left_out.items()]
        return [*left_out, *(f"{number:,} asked though {what}" for what, number in self.remarks.items())]


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
    """The questions of a data set.

    Args:
        source: A file or folder, or `hf:ORGANISATION/NAME`.
        format: Its name; found out where it is None. A file with `columns` among its settings is a table.
        level: The questions' level, in place of the format's own.
        settings: Of the format.
        samples: How many questions are wanted; the ones that come first in the seed's order of their ids, so that new
            ones do not reshuffle the rest.
        skip: Questions that are not wanted, such as those that are shown as demonstrations.
        broken: The largest share of broken records that is put up with.

    Raises:
        UserError: It cannot be read, is of another format, or more of it is broken.
    """
    source = str(source)
    try:
        reader = named(format or _found_out(source, settings or {}))
        try:
            wanted = reader.settings.model_validate(settings or {})
        except ValidationError as error:
            raise UserError(f"format '{reader.name}': {complaint(error, reader.settings)}") from None
        data = Data(reader.name)
        try:
            items = reader.read(source, wanted, samples, seed)
            questions = (q for q in _counted(items, data, reader, source, level) if not (skip and skip(q)))
            if samples is None:
                data.questions = tuple(questions)
            else:
                first = heapq.nsmallest(
                    max(1, samples), enumerate(questions), key=lambda pair: place_in_order(sample_id(pair[1]), seed)
                )[:samples]
                data.questions = tuple(question for _, question in sorted(first, key=lambda pair: pair[0]))
        except NotThisForm as error:
            if data.levels or data.left_out or data.broken:
                raise
            raise UserError(_mismatch(source, reader, error)) from None
        _check(data, reader, source, broken)
        return data
    finally:
        forget()


def _counted(items: Iterator[Item], data: Data, reader: Format, source: str, level: Level | None) -> Iterator[Question]:
    """The questions that can be asked, each id once; all else is counted in `data`."""
    ids: set[str] = set()
    digest = hashlib.blake2b(digest_size=8)
    for item in items:
        if isinstance(item, Question):
            item.level = level or item.level
            try:
                digest.update(item.model_dump_json().encode())
            except ValueError as error:  # half a surrogate pair, for one
                item = Fault(f"{source}: question {item.id!r}", f"cannot be written: {str(error)[:120]}")
        if isinstance(item, Question):
            if item.id in ids:
                data.left_out[TWICE] += 1
                continue
            ids.add(item.id)
            data.levels[item.level] += 1
            yield item
        elif isinstance(item, Fault):
            data.broken += 1
            data.faults = [*data.faults, item][:SHOWN]
            if data.broken == ENOUGH >= (data.records or len(ids) + data.broken + data.left_out.total()):
                raise UserError(_mismatch(source, reader, item))
        elif isinstance(item, LeftOut):
            data.left_out[item.why] += item.number
        elif isinstance(item, Remark):
            data.remarks[item.what] += 1
        else:
            data.records, data.version = item.records, item.version
    data.asked = len(ids)
    data.levels = collections.Counter(dict(sorted(data.levels.items())))
    data.records = data.records or len(ids) + data.broken + data.left_out.total()
    data.version = data.version or digest.hexdigest()


def _check(data: Data, reader: Format, source: str, allowed: float) -> None:
    """Raises UserError where nothing is a question, or too much is broken."""
    if data.broken and data.broken == data.records:
        raise UserError(_mismatch(source, reader, data.faults[0]))
    if data.broken > allowed * data.records:
        raise UserError(
            f"{source}: {data.broken:,} of {data.records:,} records are broken, more than broken: {allowed:g} allows: "
            + "; ".join(map(str, data.faults))
        )
    if not data.asked:
        why = ", ".join(f"{number:,} {reason}" for reason, number in data.left_out.items())
        raise UserError(f"{source}: holds no question ({why or 'it holds no record'})")


def named(name: str) -> Format:
    """A format by its name.

    Raises:
        UserError: There is none.
    """
    if name not in formats():
        raise UserError(unknown("format", name, formats()))
    return formats()[name]


def format_of(path: Path) -> str | None:
    """The name of the format that a file or folder is of, by its first records; None where it is of none.

    Raises:
        UserError: It cannot be read.
    """
    first = _first(path)
    best = max(formats().values(), key=lambda one: one.fits(path, first))
    if not best.fits(path, first):
        return None
    return "csv" if best.name == "jsonl" and path.suffix.lower() in TABLES else best.name


def _first(path: Path) -> list[Any]:
    """The first records of a file in any form that is known; of one object, its first members together."""
    if path.is_dir():
        return []
    try:
        found = [one.data for one in itertools.islice(records(path), PEEKED) if isinstance(one, Record)]
        if not found and first_character(path) == "{":
            found = [dict(member.data for member in itertools.islice(json_members(path), PEEKED))]
    except NotThisForm:
        return []
    return found


def _found_out(source: str, settings: Mapping[str, Any]) -> str:
    if source.startswith(HUB):
        return "huggingface"
    path = Path(source)
    if settings.get("columns"):
        return "csv" if path.suffix.lower() in TABLES else "jsonl"
    found = format_of(path)
    if found is None:
        raise UserError(f"{path}: is of no format that is known{_described(path, '')}; name one with format:")
    return found


def _mismatch(source: str, reader: Format, error: object) -> str:
    found = "" if source.startswith(HUB) else _described(Path(source), reader.name)
    return f"{source}: expected {reader.expects}{found} ({error})"


def _described(path: Path, expected: str) -> str:
    """What a file is, for a message about one that is not what was expected."""
    found, first = format_of(path), _first(path)
    if found is not None:
        return "" if found == expected else f"; found a file of the format '{found}'"
    keys = ", ".join(map(str, first[0]))[:200] if first and isinstance(first[0], dict) else ""
    return f"; found records with the keys {keys}" if keys else ""
