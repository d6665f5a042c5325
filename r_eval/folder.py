"""The run folder: where a run lies on disk, and how it is read.

    runs/NAME/
      run.json                                          the grid as resolved, versions, cells, state
      episodes/<system>/<condition>/<task>.jsonl        append-only, one writer, one episode a line
      episodes/<system>/<condition>/<task>.damaged      lines of it that were no episodes any more, by their numbers
      scores/<system>/<condition>/<task>.jsonl          same shape, rewritten freely
      questions/<task>.jsonl                            the questions that were asked
      questions/<task>.season.json                      the season of that question file, where it has one
      report/

"/" in a name is written "__" in a path. The last field of an episode's line is a checksum over the bytes before it. A
line that is damaged is no episode: who only reads a run leaves it out and says so, and who goes on with the run sets it
aside, so that its episode runs again. Where an episode was tried again after an infrastructure failure, its newest
line counts. Once a cell is complete its file has one line an episode, in the order of the questions, so that the bytes
do not depend on who finished first.

A run may come from a stranger: only regular files of it are read (see `r_eval.disk`).
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import itertools
import json
import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from r_eval.disk import CellWriter, is_sealed, open_regular, read_regular, whole_lines, write_whole
from r_eval.errors import UserError, describe_invalid
from r_eval.manifest import Manifest
from r_eval.records import Episode, Question, Record

logger = logging.getLogger("r_eval")
__all__ = ["Cell", "CellWriter", "RunFolder", "file_name", "read_lines", "whole_lines", "write_whole"]

R = TypeVar("R", bound=Record)

EPISODE_ID = re.compile(rb'\{"schema":\d+,"episode_id":"([0-9a-f]+)"')
"""How a line begins that R-Eval wrote itself."""
LONGEST_NAME = 180
"""Bytes of a name in a path; with what is put around it, it stays below the 255 that file systems take."""


class Cell(NamedTuple):
    """System x task x condition: the unit of storage."""

    workflow: str
    llm: str
    condition: str
    task: str

    @property
    def system(self) -> str:
        """Name of the workflow x LLM pair."""
        return f"{self.workflow}+{self.llm}"

    def path(self, root: Path) -> Path:
        """Where the cell's lines lie below `root` (the folder of episodes, or of scores)."""
        return root / file_name(self.system) / file_name(self.condition) / f"{file_name(self.task)}.jsonl"


def file_name(name: str) -> str:
    """A name as part of a path: no separator, no way up, nothing that a file system refuses."""
    safe = "".join(c if c.isalnum() or c in "-_.+=@," else "_" for c in name.replace("/", "__"))
    safe = safe.lstrip(".") or "_"
    if len(safe.encode("utf-8")) <= LONGEST_NAME:
        return safe
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{safe.encode('utf-8')[: LONGEST_NAME - 17].decode('utf-8', 'ignore')}-{digest}"


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a JSON Lines file with their line numbers; a torn last line and blank ones are left out.

    Raises:
        UserError: A line is not a JSON object, or the file cannot be read.
    """
    for number, line in whole_lines(path):
        if line.isspace():  # as editors leave at the end
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: not a JSON record ({error})") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}:{number}: expected a JSON object, found {type(record).__name__}")
        yield number, record


def in_use(path: Path) -> bool:
    """Whether a process holds the lock of a run's folder. It is asked for a moment; who starts a run waits longer."""
    try:
        with open_regular(path / ".lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, UserError):
        return False
    return False


class RunFolder:
    """A run on disk, for reading. Episodes are streamed; only one cell's index is in memory at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.run_file, self.episodes_root = self.path / "run.json", self.path / "episodes"
        self.scores_root = self.path / "scores"

    def questions_file(self, task: str) -> Path:
        """Where the questions lie that the run asks of a task."""
        return self.path / "questions" / f"{file_name(task)}.jsonl"

    def questions(self, task: str) -> Iterator[Question]:
        """The questions that the run asks of a task; none where the run is older than this file.

        Raises:
            UserError: A line is no question.
        """
        path = self.questions_file(task)
        for number, record in read_lines(path) if path.exists() else ():
            yield validated(Question, record, path, number)

    def manifest(self) -> dict[str, Any]:
        """The contents of run.json, see `Manifest`; keys that an earlier version lacked have their default.

        Raises:
            UserError: The run is unknown, or the file cannot be read.
        """
        try:
            content = read_regular(self.run_file)
        except FileNotFoundError:
            names = {path.name for path in self.path.iterdir()} if self.path.is_dir() else None
            why = "there is no such folder" if names is None else "it has no run.json"
            if names and {"scores.csv", "components.csv"} & names:
                why = "it holds published results, which have no episodes"
            raise UserError(f"{self.path} is not a run: {why} (r-eval run GRID.yaml makes one)") from None
        try:
            return Manifest.model_validate_json(content).model_dump(mode="json")
        except ValidationError as error:
            why = f"damaged, or of another version of R-Eval ({described(error)})"
            raise UserError(f"{self.run_file}: {why}") from None

    def state(self) -> str:
        """How the run goes, or how it ended; "crashed" where it says that it goes on and no process is at it."""
        state = str(self.manifest()["state"])
        return "crashed" if state == "running" and not in_use(self.path) else state

    def cells(self) -> list[Cell]:
        """The cells of the run, in the grid's order."""
        return [Cell(*(entry[key] for key in Cell._fields)) for entry in self.manifest()["cells"]]

    def cell_lines(self, cell: Cell) -> Iterator[tuple[int, bytes]]:
        """The lines of a cell's episodes with their numbers, each episode once, the newest line of those tried again.

        Lines that are damaged are left out with a warning. Whether a line with the right checksum is an episode is not
        looked at.
        """
        path = cell.path(self.episodes_root)
        if not path.exists():
            return
        newest, damage, count = dict[bytes, int](), Damage(path), 0
        with open_regular(path) as file:  # opened once: a run that goes on may put another file in its place
            for count, line in whole_lines(file):
                try:
                    newest[line_id(line)] = count
                except ValueError as error:
                    damage.add(count, error)
            damage.warn()
            wanted = set(newest.values())
            del newest
            file.seek(0)
            yield from (each for each in itertools.islice(whole_lines(file), count) if each[0] in wanted)

    def cell_episodes(self, cell: Cell) -> Iterator[Episode]:
        """The episodes of one cell, each once, the newest line of those that were tried again.

        Lines that are no episodes are left out with a warning.
        """
        damage = Damage(cell.path(self.episodes_root))
        for number, line in self.cell_lines(cell):
            try:
                episode = Episode.model_validate_json(line)
                check_cell(episode, cell)
            except ValueError as error:
                damage.add(number, error)
            else:
                yield episode
        damage.warn()

    def episodes(self) -> Iterator[Episode]:
        """All episodes of the run, cell by cell, validated, without loading the run into memory."""
        for cell in self.cells():
            yield from self.cell_episodes(cell)

    def scores(self, cell: Cell) -> dict[str, dict[str, Any]]:
        """The kept scores of one cell by episode id; empty where it has not been scored."""
        path = cell.path(self.scores_root)
        return {record["episode_id"]: record for _, record in read_lines(path)} if path.exists() else {}

    def write_scores(self, cell: Cell, records: Iterable[dict[str, Any]]) -> None:
        """Replace the kept scores of one cell.

        Raises:
            UserError: A link in the run's folder is in the way.
        """
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        # half a pair of surrogates, which UTF-8 cannot have, is escaped
        write_whole(cell.path(self.scores_root), (line.encode("utf-8", "backslashreplace") for line in lines))


def line_id(line: bytes) -> bytes:
    """The id of a line's episode.

    Raises:
        ValueError: The line is damaged.
    """
    if is_sealed(line) and (found := EPISODE_ID.match(line)):
        return found[1]
    return Episode.model_validate_json(line).episode_id.encode()


def check_cell(head: Any, cell: Cell) -> None:
    """See that an episode is one of a cell's; a file may have been copied to another system's folder.

    Args:
        head: The episode, or as much of it as names its cell.

    Raises:
        ValueError: It is of another cell.
    """
    own = Cell(head.workflow, head.llm, head.condition, head.task)
    if own != cell:
        raise ValueError(printable(f"it is of {own.system} on {own.task} under {own.condition}"))


class Damage:
    """The damaged lines of a file: their numbers, and what is wrong with the first of them."""

    def __init__(self, path: Path) -> None:
        self._path, self.lines, self._first = path, set[int](), ""

    def add(self, number: int, error: ValueError) -> None:
        """Count a line."""
        why = described(error) if isinstance(error, ValidationError) else str(error)
        self._first = self._first or f"line {number}: {why}"
        self.lines.add(number)

    def warn(self, what: str = "left out; r-eval run sets such lines aside and runs their episodes again") -> None:
        """Say once what became of the lines, if there are any."""
        if count := len(self.lines):
            lines = "line that is no episode was" if count == 1 else "lines that are no episodes were"
            _warn_once(f"{self._path}: {count} {lines} {what} ({self._first})")


@functools.lru_cache(maxsize=1000)
def _warn_once(text: str) -> None:
    logger.warning(text)


def validated(kind: type[R], record: dict[str, Any], path: Path, number: int) -> R:
    """The record of one line.

    Raises:
        UserError: A field is missing, unknown or of the wrong type.
    """
    try:
        return kind.model_validate(record)
    except ValidationError as error:
        raise UserError(f"{path}:{number}: {described(error)}") from None


def described(error: ValidationError) -> str:
    """The first of pydantic's errors, with its place; names in it, which may be a stranger's, are made harmless."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:LONGEST_NAME]
    return printable(": ".join(filter(None, [where, describe_invalid(first)])))


def printable(text: str) -> str:
    """Text of a stranger, made harmless."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
