"""Reads a data set whole, or a sample of it, and counts what could not be used."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import Format, LeftOut, Remark
from r_eval.tasks.loaders.finding import TABLES, described, format_of, named
from r_eval.tasks.loaders.hub import HUB
from r_eval.tasks.loaders.reading import Fault, NotThisForm, forget
from r_eval.tasks.questions import place_in_order

BROKEN = 0.01
"""Share of broken records from which on a file is refused, where nothing else is said."""
TOLD = 3
"""Broken records that a message shows."""
ENOUGH = 20
"""Broken records, with none that is right, after which a file is taken for one of another format."""
REASONS = 20
"""Reasons that are counted apart; a hostile file could have one for each record."""
TWICE = "the id stands twice"


@dataclasses.dataclass(frozen=True)
class Data:
    """What came of a data set.

    Attributes:
        format: Name of the format that it was read in.
        questions: All of them in the file's order, or the sample.
        records: How many records were read.
        asked: How many questions they make, before sampling.
        broken: How many are broken.
        faults: The first of the broken ones.
        reasons: How many are broken, by reason.
        left_out: How many sound ones make no question, by reason.
        remarks: How many are asked though something about them is odd, by what it is.
        levels: How many of the questions are of each level.
        version: Hash of all that was read, not of the sample alone.
    """

    format: str
    questions: tuple[Question, ...]
    records: int
    asked: int
    broken: int
    faults: tuple[Fault, ...]
    reasons: Mapping[str, int]
    left_out: Mapping[str, int]
    remarks: Mapping[str, int]
    levels: Mapping[str, int]
    version: str

    def notes(self) -> str:
        """One line on what could not be used or is odd; "" where everything is sound."""
        parts = []
        if self.broken:
            parts.append(
                f"{self.broken:,} of {self.records:,} records are broken and not asked, such as {self.faults[0]}"
            )
        return "; ".join([*parts, *self.counts()])

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
        samples: How many questions are wanted; the ones that come first in the seed's order of their ids.
        skip: Questions that are not wanted, such as those that are shown as demonstrations.
        broken: The largest share of broken records that is put up with.

    Raises:
        UserError: It cannot be read, is of another format, or more of it is broken.
    """
    source = str(source)
    try:
        if format is None:
            format = _found_out(source, settings or {})
        reading = _Reading(named(format)(level, **(settings or {})), source, skip)
        try:
            questions = reading.questions(samples, seed)
        except NotThisForm as error:
            if reading.records:
                raise
            raise UserError(f"{_mismatch(source, reading.format)} ({error})") from None
        return reading.result(questions, broken)
    finally:
        forget()


class _Reading:
    """What has been read of a data set so far."""

    def __init__(self, format: Format, source: str, skip: Callable[[Question], bool] | None) -> None:
        self.format, self.source, self.skip = format, source, skip
        self.ids: set[str] = set()
        self.broken = 0
        self.faults: list[Fault] = []
        self.left_out = collections.Counter[str]()
        self.reasons, self.levels = collections.Counter[str](), collections.Counter[str]()
        self.remarks = collections.Counter[str]()
        self.digest = hashlib.blake2b(digest_size=8)

    @property
    def records(self) -> int:
        return self.format.seen or len(self.ids) + self.broken + self.left_out.total()

    def questions(self, samples: int | None, seed: int) -> list[Question]:
        """The questions that are wanted: those that come first in the seed's order of their ids, as the file has them.

        What an id is worth does not depend on the others, so that new ones do not reshuffle the rest.
        """
        found = enumerate(self._wanted(samples, seed))
        if samples is None:
            return [question for _, question in found]
        chosen = heapq.nsmallest(max(1, samples), found, key=lambda pair: place_in_order(pair[1].id, seed))
        return [question for _, question in sorted(chosen, key=lambda pair: pair[0])][:samples]

    def _wanted(self, samples: int | None, seed: int) -> Iterator[Question]:
        for item in self.format.read(self.source, samples, seed):
            if isinstance(item, Question):
                if self._counted(item) and not (self.skip and self.skip(item)):
                    yield item
            elif isinstance(item, LeftOut):
                self.left_out[item.why] += item.number
            elif isinstance(item, Remark):
                self.remarks[item.what] += item.number
            else:
                self._fault(item)

    def _counted(self, question: Question) -> bool:
        """Whether a question can be asked."""
        try:
            self.digest.update(question.model_dump_json().encode())
        except ValueError as error:  # half a surrogate pair, for one
            self._fault(Fault(f"{self.source}: question {question.id!r}", f"cannot be written: {str(error)[:120]}"))
            return False
        if question.id in self.ids:
            self.left_out[TWICE] += 1
            return False
        self.ids.add(question.id)
        self.levels[question.level] += 1
        return True

    def _fault(self, fault: Fault) -> None:
        self.broken += 1
        if len(self.faults) < TOLD:
            self.faults.append(fault)
        self.reasons[fault.why if fault.why in self.reasons or len(self.reasons) < REASONS else "other reasons"] += 1
        if self.broken == ENOUGH == self.records:
            raise UserError(self._nothing_right())

    def _nothing_right(self) -> str:
        if not self.source.startswith(HUB) and format_of(Path(self.source)) == self.format.name:
            return f"{self.source}: none of the {self.broken:,} records that were read is right: {self.faults[0]}"
        return f"{_mismatch(self.source, self.format)} ({self.faults[0]})"

    def result(self, questions: Sequence[Question], allowed: float) -> Data:
        """The result.

        Raises:
            UserError: Nothing in it is a question, or too much is broken.
        """
        if self.broken and self.broken == self.records:
            raise UserError(self._nothing_right())
        if self.broken > allowed * self.records:
            shown = "; ".join(str(fault) for fault in self.faults)
            raise UserError(
                f"{self.source}: {self.broken:,} of {self.records:,} records are broken, more than broken: {allowed:g} "
                f"allows: {shown}"
            )
        if not self.ids:
            why = ", ".join(f"{number:,} {reason}" for reason, number in self.left_out.items())
            if not why and not self.source.startswith(HUB):
                why = f"it is {described(Path(self.source))}"
            raise UserError(f"{self.source}: holds no question{f' ({why})' if why else ''}")
        return Data(
            self.format.name,
            tuple(questions),
            self.records,
            len(self.ids),
            self.broken,
            tuple(self.faults),
            dict(self.reasons),
            dict(self.left_out),
            dict(self.remarks),
            dict(sorted(self.levels.items())),
            self.format.version or self.digest.hexdigest(),
        )


def _found_out(source: str, settings: Mapping[str, Any]) -> str:
    if source.startswith(HUB):
        return "huggingface"
    path = Path(source)
    if settings.get("columns"):
        return "csv" if path.suffix.lower() in TABLES else "jsonl"
    found = format_of(path)
    if found is None:
        raise UserError(f"{path}: is of no format that is known: it is {described(path)}; name one with format:")
    return found


def _mismatch(source: str, reader: Format) -> str:
    found = "" if source.startswith(HUB) else f"; found {described(Path(source))}"
    return f"{source}: expected {reader.expects}{found}"
