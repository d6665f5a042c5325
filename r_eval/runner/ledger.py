"""Which episodes of a cell are recorded: a byte an episode, however many there are, and putting its file in order."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Set
from itertools import chain
from pathlib import Path

from pydantic import BaseModel, ValidationError

from r_eval.disk import is_sealed, open_regular, open_to_write, whole_lines_of, write_whole
from r_eval.folder import Damage, described
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Question
from r_eval.runner.plan import PlannedCell

MISSING, RECORDED, SKIPPED = 0, 1, 2


class _Outcome(BaseModel):
    kind: str


class Head(BaseModel):
    """What is looked at of a line to know whether its episode is to be run."""

    episode_id: str
    question_id: str
    epoch: int = 0
    outcome: _Outcome


class Ledger:
    """The episodes of one cell.

    An episode's place is where a complete cell's file has it: all questions in their order, for each epoch.

    Args:
        places: The place of each question, by its id; shared by all cells with the same ones.
        path: The cell's file; what it holds is taken in here. Damaged lines go to `<task>.damaged` beside it.

    Raises:
        UserError: The file is no regular file, or a link is in the way.
        OSError: The damaged lines cannot be moved.
    """

    def __init__(self, cell: PlannedCell, epochs: int, places: Mapping[str, int], path: Path) -> None:
        self._questions, self._epochs, self._places = cell.planned.questions, epochs, places
        self._path = path
        self._state = bytearray(epochs * len(self._questions))
        self._last = -1
        self._tidy = True
        if path.exists():
            damage = Damage(path)
            for number, line in self._lines():
                try:
                    self._take(_head(line))
                except ValueError as error:
                    damage.add(number, str(error))
            if damage.count:
                self._set_aside(damage)

    def add(self, episode: Episode) -> None:
        """An episode's line was written."""
        self._take(episode)

    def left(self) -> int:
        """How many episodes are to be run."""
        return self._state.count(MISSING)

    def count(self) -> int:
        """How many of the wanted episodes are recorded."""
        return self._state.count(RECORDED)

    def skip(self, wanted: Set[str]) -> None:
        """Want no episode that is not recorded, except of the questions with these ids."""
        for question_id, number in self._places.items():
            for place in range(number, len(self._state), len(self._questions)) if question_id not in wanted else ():
                if self._state[place] == MISSING:
                    self._state[place] = SKIPPED

    def skipped(self) -> int:
        """How many episodes are not wanted any more."""
        return self._state.count(SKIPPED)

    def missing(self) -> Iterator[tuple[Question, int]]:
        """The episodes that are to be run, each once, found as they are taken."""
        place = self._state.find(MISSING)
        while place >= 0:
            epoch, number = divmod(place, len(self._questions))
            yield self._questions[number], epoch
            place = self._state.find(MISSING, place + 1)

    def tidy(self) -> None:
        """Put the file in order: the newest line of each episode, at its place; what is not wanted now at the end.

        Raises:
            OSError: There is no room for it; the file is as it was.
        """
        if self._tidy:
            return
        starts, others, start = array("q", [-1]) * len(self._state), dict[str, int](), 0
        for _, line in self._lines():
            head = _head(line)
            place = self._place(head)
            if place is None:
                others[head.episode_id] = start
            else:
                starts[place] = start
            start += len(line)
        order = chain((start for start in starts if start >= 0), (others[key] for key in sorted(others)))
        with open_regular(self._path) as file:
            write_whole(self._path, (file.readline() for start in order if file.seek(start) == start))
        self._tidy = True

    def _take(self, head: Head | Episode) -> None:
        place = self._place(head)
        if place is None:
            self._last = len(self._state)
            return
        self._tidy = self._tidy and place > self._last
        self._last = place
        self._state[place] = MISSING if head.outcome.kind in INFRASTRUCTURE_FAILURES else RECORDED

    def _place(self, head: Head | Episode) -> int | None:
        """None for an episode that is not wanted now."""
        number = self._places.get(head.question_id)
        return (
            None if number is None or not 0 <= head.epoch < self._epochs else head.epoch * len(self._questions) + number
        )

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        with open_regular(self._path) as file:
            yield from whole_lines_of(file)

    def _set_aside(self, damage: Damage) -> None:
        """Move damaged lines to a file beside, each after its number; first they are written there, then they go."""
        aside = self._path.with_suffix(".damaged")
        with os.fdopen(open_to_write(aside, os.O_WRONLY | os.O_APPEND), "ab") as file:
            file.writelines(
                b"%d\t%s\n" % (number, line.rstrip(b"\n")) for number, line in self._lines() if _wrong(line)
            )
            file.flush()
            os.fsync(file.fileno())
        write_whole(self._path, (line for _, line in self._lines() if not _wrong(line)))
        damage.warn(f"moved to {aside.name}; what they were about runs again")


def _head(line: bytes) -> Head | Episode:
    """What a line says of its episode; a line without a checksum is looked at as a whole.

    Raises:
        ValueError: It is damaged, and says how.
    """
    try:
        return (Head if is_sealed(line) else Episode).model_validate_json(line)
    except ValidationError as error:
        raise ValueError(described(error)) from None


def _wrong(line: bytes) -> bool:
    try:
        _head(line)
    except ValueError:
        return True
    return False
