"""The file of one cell: which of its episodes are recorded, a byte an episode, and its lines put in order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from pathlib import Path

from pydantic import BaseModel

from r_eval.disk import CellWriter, is_sealed, open_regular, open_to_write, whole_lines, write_whole
from r_eval.folder import Damage, check_cell
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Question
from r_eval.runner.plan import PlannedCell

MISSING, RECORDED, SKIPPED = 0, 1, 2


class _Outcome(BaseModel):
    kind: str


class Head(BaseModel):
    """What is looked at of a line to know whether its episode is to be run."""

    episode_id: str
    question_id: str
    workflow: str
    llm: str
    condition: str
    task: str
    epoch: int = 0
    outcome: _Outcome


class Ledger:
    """The episodes of one cell; an episode's place is where a complete file has it: epoch by epoch, in the order of the
    questions.

    Args:
        path: The cell's file; what it holds is taken in here. Damaged lines go to `<task>.damaged` beside it.

    Raises:
        UserError: The file is no regular file, or a link is in the way.
        OSError: The damaged lines cannot be moved.
    """

    def __init__(self, cell: PlannedCell, epochs: int, path: Path) -> None:
        self._questions, self._places, self._epochs = cell.planned.questions, cell.planned.places, epochs
        self._path, self._cell = path, cell.cell
        self._writer: CellWriter | None = None
        self._state = bytearray(epochs * len(self._questions))
        self._last, self._is_sorted = -1, True
        if path.exists():
            self._read()

    def _read(self) -> None:
        """Take in what the file holds; damaged lines are written to another file, then taken out of this one."""
        damage = Damage(self._path)
        for number, line in whole_lines(self._path):
            try:
                head = _head(line)
                check_cell(head, self._cell)
                self._take(head)
            except ValueError as error:
                damage.add(number, error)
        if damage.lines:
            aside = self._path.with_suffix(".damaged")
            with os.fdopen(open_to_write(aside, os.O_WRONLY | os.O_APPEND), "ab") as file:
                lines = ((number, line) for number, line in whole_lines(self._path) if number in damage.lines)
                file.writelines(b"%d\t%s\n" % (number, line.rstrip(b"\n")) for number, line in lines)
                file.flush()
                os.fsync(file.fileno())
            write_whole(self._path, (line for number, line in whole_lines(self._path) if number not in damage.lines))
            damage.warn(f"moved to {aside.name}; their episodes run again")

    def append(self, episode: Episode, line: str) -> None:
        """Record an episode; it is on the disk after the next sync.

        Raises:
            OSError: The disk refuses it; nothing of it is left.
        """
        if self._writer is None:
            self._writer = CellWriter(self._path)
        self._writer.append(line)
        self._take(episode)

    def unsynced(self) -> list[int]:
        """See `CellWriter.unsynced`."""
        return self._writer.unsynced() if self._writer is not None else []

    def release(self) -> CellWriter | None:
        """The file where it is open, to be closed by the caller, perhaps in another thread; it may be opened again."""
        writer, self._writer = self._writer, None
        return writer

    def sort(self) -> None:
        """Put the lines in order where nothing is missing and the file is closed: the newest line of each episode at
        its place, and at the end those that are not wanted now.

        Raises:
            OSError: The disk refuses it; the file is as it was.
        """
        if self._is_sorted or self.left():
            return
        starts, start = dict[tuple[int, str], int](), 0
        for _, line in whole_lines(self._path):
            head = _head(line)
            place = self._place(head)
            starts[(len(self._state), head.episode_id) if place is None else (place, "")] = start
            start += len(line)
        order = [starts[key] for key in sorted(starts)]
        with open_regular(self._path) as file:
            write_whole(self._path, (file.readline() for start in order if file.seek(start) == start))
        self._is_sorted = True

    def left(self) -> int:
        """How many episodes are to be run."""
        return self._state.count(MISSING)

    def count(self) -> int:
        """How many of the wanted episodes are recorded."""
        return self._state.count(RECORDED)

    def skipped(self) -> int:
        """How many episodes are not wanted any more."""
        return self._state.count(SKIPPED)

    def skip(self, wanted: Set[str]) -> None:
        """Want no episode that is not recorded, except of the questions with these ids."""
        for place, state in enumerate(self._state):
            if state == MISSING and self._questions[place % len(self._questions)].id not in wanted:
                self._state[place] = SKIPPED

    def missing(self) -> Iterator[tuple[Question, int]]:
        """The episodes that are to be run, each once, found as they are taken."""
        place = self._state.find(MISSING)
        while place >= 0:
            epoch, number = divmod(place, len(self._questions))
            yield self._questions[number], epoch
            place = self._state.find(MISSING, place + 1)

    def _take(self, head: Head | Episode) -> None:
        place = self._place(head)
        if place is None:
            self._last = len(self._state)
            return
        self._state[place] = MISSING if head.outcome.kind in INFRASTRUCTURE_FAILURES else RECORDED
        self._is_sorted = self._is_sorted and place > self._last
        self._last = place

    def _place(self, head: Head | Episode) -> int | None:
        """None for an episode that is not wanted now."""
        number = self._places.get(head.question_id)
        is_wanted = number is not None and 0 <= head.epoch < self._epochs
        return head.epoch * len(self._questions) + number if is_wanted and number is not None else None


def _head(line: bytes) -> Head | Episode:
    """What a line says of its episode; a line without a checksum is looked at as a whole.

    Raises:
        ValueError: It is damaged.
    """
    return (Head if is_sealed(line) else Episode).model_validate_json(line)
