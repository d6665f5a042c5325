"""Which episodes of a cell are recorded: a byte an episode, however many there are, and putting its file in order."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ValidationError

from r_eval.errors import UserError
from r_eval.folder import read_lines, whole_lines, write_whole
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Question
from r_eval.runner.plan import PlannedCell

MISSING, RECORDED = 0, 1
BLOCK = 1 << 20


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
        path: The cell's file; what it holds is taken in here.

    Raises:
        UserError: A line of the file is no episode.
    """

    def __init__(self, cell: PlannedCell, epochs: int, places: Mapping[str, int], path: Path) -> None:
        self._asked, self._epochs, self._places = cell.planned.asked, epochs, places
        self._path = path
        self._state = bytearray(epochs * len(self._asked))
        self._last = -1
        self._tidy = True
        if path.exists():
            for _, head in self._heads():
                self._take(head.question_id, head.epoch, head.outcome.kind)

    def add(self, episode: Episode) -> None:
        """An episode's line was written."""
        self._take(episode.question_id, episode.epoch, episode.outcome.kind)

    def left(self) -> int:
        """How many episodes are to be run."""
        return self._state.count(MISSING)

    def count(self) -> int:
        """How many of the wanted episodes are recorded."""
        return len(self._state) - self.left()

    def missing(self) -> Iterator[tuple[Question, int]]:
        """The episodes that are to be run, each once, found as they are taken."""
        place = self._state.find(MISSING)
        while place >= 0:
            epoch, number = divmod(place, len(self._asked))
            yield self._asked[number], epoch
            place = self._state.find(MISSING, place + 1)

    def tidy(self) -> None:
        """Put the file in order: a line an episode, at its place; what is not wanted now at the end.

        Lines of episodes that were tried again go, oldest first, to a file `.superseded` beside it.
        """
        if self._tidy:
            return
        starts, old, others = self._lines()
        with self._path.open("rb") as file:
            if old:
                kept = self._path.with_suffix(".superseded")
                write_whole(kept, _appended(kept, file, old))
            write_whole(self._path, _copied(file, (start for start in chain(starts, others) if start >= 0)))
        self._tidy = True

    def _take(self, question: str, epoch: int, kind: str) -> None:
        place = self._place(question, epoch)
        if place is None:
            self._last = len(self._state)
            return
        self._tidy = self._tidy and place > self._last
        self._last = place
        self._state[place] = MISSING if kind in INFRASTRUCTURE_FAILURES else RECORDED

    def _place(self, question: str, epoch: int) -> int | None:
        """None for an episode that is not wanted now."""
        number = self._places.get(question)
        return None if number is None or not 0 <= epoch < self._epochs else epoch * len(self._asked) + number

    def _lines(self) -> tuple[array[int], list[int], list[int]]:
        """Where lines begin in the file: of each place the newest (-1 for none), the older ones, those not wanted."""
        starts = array("q", [-1]) * len(self._state)
        others: dict[str, int] = {}
        old: list[int] = []
        for start, head in self._heads():
            place = self._place(head.question_id, head.epoch)
            before = others.get(head.episode_id, -1) if place is None else starts[place]
            if before >= 0:
                old.append(before)
            if place is None:
                others[head.episode_id] = start
            else:
                starts[place] = start
        return starts, old, list(others.values())

    def _heads(self) -> Iterator[tuple[int, Head]]:
        """The lines of the file: where each begins, and its head."""
        start = 0
        for number, line in whole_lines(self._path):
            yield start, _head(line, self._path, number)
            start += len(line)


def _head(line: bytes, path: Path, number: int) -> Head:
    try:
        return Head.model_validate_json(line)
    except ValidationError:
        pass
    remedy = "delete the line, and its episode runs again"
    try:
        return Head.model_validate(next((found for n, found in read_lines(path) if n == number), {}))
    except ValidationError:
        said = "not an episode: it has no id, no question or no outcome"
        raise UserError(f"{path}:{number}: {said}; {remedy}") from None
    except UserError as error:
        raise UserError(f"{error}; {remedy}") from None


def _copied(file: IO[bytes], starts: Iterable[int]) -> Iterator[bytes]:
    """The lines of a file that begin at some places, in that order."""
    for start in starts:
        file.seek(start)
        yield file.readline()


def _appended(kept: Path, file: IO[bytes], starts: list[int]) -> Iterator[bytes]:
    """What a file holds, and lines of another after it."""
    if kept.exists():
        with kept.open("rb") as before:
            while block := before.read(BLOCK):
                yield block
    yield from _copied(file, starts)
