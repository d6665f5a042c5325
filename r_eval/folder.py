"""The run folder: where a run lies on disk, how it is written and how it is read.

    runs/NAME/
      run.json                                          the grid as resolved, versions, cells, state
      episodes/<system>/<condition>/<task>.jsonl        append-only, one writer, one episode a line
      scores/<system>/<condition>/<task>.jsonl          same shape, rewritten freely
      questions/<task>.jsonl                            the questions that were asked
      questions/<task>.season.json                      the season of that question file, where it has one
      report/

"/" in a name is written "__" in a path. An episode counts as done once its line is complete: a line is written in
one piece, flushed at once and synced to the disk about a second later, so a crash can tear the last line only, and
opening the file for writing cuts a torn line off. Where an episode was tried again after a failure of the
machinery, its newest line counts. Once a cell is complete its file is put in the order of the questions, so that the
bytes do not depend on who finished first.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from pydantic import ValidationError

from r_eval.errors import UserError
from r_eval.manifest import complaint
from r_eval.records import SCHEMA, Episode, Question, Record

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
    """A name as it stands in a path: no separator, no way up, nothing that a file system refuses."""
    safe = "".join(c if c.isalnum() or c in "-_.+=@," else "_" for c in name.replace("/", "__"))
    safe = safe.lstrip(".") or "_"
    if len(safe.encode("utf-8")) <= LONGEST_NAME:
        return safe
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{safe.encode('utf-8')[: LONGEST_NAME - 17].decode('utf-8', 'ignore')}-{digest}"


class CellWriter:
    """Appends lines to one cell's file, durably, from a single thread.

    A line survives the death of the process at once, that of the machine after the next `sync`.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        repair(path)
        self._file: IO[bytes] = path.open("ab", buffering=0)
        self._unsynced = False

    def append(self, line: str) -> None:
        """Write one record.

        Raises:
            OSError: It could not be written whole, and nothing of it is left; or the file was deleted.
        """
        data = line.encode("utf-8") + b"\n"
        end = self._end()
        try:
            while data:
                data = data[self._file.write(data) or 0 :]
        except OSError:
            self._file.truncate(end)
            raise
        self._unsynced = True

    def sync(self) -> None:
        """See that all lines are on the disk."""
        for descriptor in self.unsynced():
            _synced(descriptor)

    def unsynced(self) -> list[int]:
        """A descriptor of the file, for `sync_all`, where it has lines that may not be on the disk yet."""
        if not self._unsynced:
            return []
        self._unsynced = False
        return [os.dup(self._file.fileno())]

    def _end(self) -> int:
        """The size of the file.

        Raises:
            FileNotFoundError: It was deleted, so what is written to it is lost.
        """
        found = os.fstat(self._file.fileno())
        if not found.st_nlink:
            raise FileNotFoundError(errno.ENOENT, "it was deleted", str(self.path))
        return found.st_size

    def close(self) -> None:
        """Close the file, synced.

        Raises:
            OSError: The disk refuses it, or the file was deleted.
        """
        if not self._file.closed:
            try:
                self._end()
                self.sync()
            finally:
                self._file.close()


def sync_all(descriptors: Iterable[int]) -> None:
    """See that files are on the disk, and close the descriptors; may be called from another thread."""
    for descriptor in descriptors:
        _synced(descriptor)


def _synced(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def repair(path: Path) -> None:
    """Cut off a torn last line, if there is one."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            block = file.read(end - start)
            newline = block.rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            file.truncate(end)


DRAFTS = ".*.part"
"""The names of files that `write_whole` is at work on."""


def write_whole(path: Path, text: str | Iterable[bytes]) -> None:
    """Replace a file in one step: a reader sees the old text or the new one, never half of either.

    Args:
        text: Or its pieces as UTF-8, which are written as they come.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            file.writelines([text.encode("utf-8")] if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; a torn last line is left out."""
    with path.open("rb") as file:
        yield from _whole(file)


def _whole(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(file, 1):
        if line.endswith(b"\n"):
            yield number, line


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a JSON Lines file with their line numbers; a torn last line is left out.

    Raises:
        UserError: A line is not a JSON object.
    """
    for number, line in whole_lines(path):
        yield number, _read(line, path, number)


def _read(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}:{number}: not a JSON record ({error})") from None
    if not isinstance(record, dict):
        raise UserError(f"{path}:{number}: expected a JSON object, found {type(record).__name__}")
    return record


def in_use(path: Path) -> bool:
    """Whether a process holds the lock of a run's folder."""
    try:
        with (path / ".lock").open(encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


class RunFolder:
    """A run on disk, for reading. Episodes are streamed; only one cell's index is in memory at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def run_file(self) -> Path:
        return self.path / "run.json"

    @property
    def episodes_root(self) -> Path:
        return self.path / "episodes"

    @property
    def scores_root(self) -> Path:
        return self.path / "scores"

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
        """The contents of run.json.

        Raises:
            UserError: There is no such run, or the file cannot be read.
        """
        try:
            manifest = json.loads(self.run_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(f"{self.path} is not a run: it has no run.json (r-eval run GRID.yaml makes one)") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self.run_file}: not valid JSON ({error})") from None
        schema = manifest.get("schema", SCHEMA) if isinstance(manifest, dict) else None
        if isinstance(schema, int) and schema > SCHEMA:
            raise UserError(f"{self.run_file}: written by a newer version of R-Eval; update it to read this run")
        wrong = complaint(manifest)
        if not isinstance(schema, int) or wrong:
            raise UserError(f"{self.run_file}: damaged, not the record of a run ({wrong or 'schema'})")
        return dict(manifest)

    def state(self) -> str:
        """How the run goes, or how it ended; "crashed" where it says that it goes on and no process is at it."""
        state = str(self.manifest()["state"])
        return "crashed" if state == "running" and not in_use(self.path) else state

    def cells(self) -> list[Cell]:
        """The cells of the run, in the grid's order."""
        keys = ("workflow", "llm", "condition", "task")
        return [Cell(*(entry[key] for key in keys)) for entry in self.manifest()["cells"]]

    def cell_episodes(self, cell: Cell) -> Iterator[Episode]:
        """The episodes of one cell, each once, the newest line of those that were tried again."""
        path = cell.path(self.episodes_root)
        if not path.exists():
            return
        with path.open("rb") as file:  # opened once: a run that goes on may put another file in its place
            newest = _tried_again(file, path)
            file.seek(0)
            for number, line in _whole(file):
                if not newest or newest.get(_id(line, path, number), number) == number:
                    yield _episode(line, path, number)

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
            UserError: They would lie outside the run, where a link in it leads.
        """
        if not cell.path(self.scores_root).resolve().is_relative_to(self.path.resolve()):
            raise UserError(f"{self.scores_root}: a link that leads out of the run: nothing is written there")
        lines = (json_line(record) for record in records)
        write_whole(cell.path(self.scores_root), lines)


def json_line(record: dict[str, Any]) -> bytes:
    """A record as a line of JSON; half a pair of surrogates, which UTF-8 cannot have, is escaped."""
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _id(line: bytes, path: Path, number: int) -> bytes:
    """The id of the episode in a line; whether the rest of it can be read is not looked at."""
    found = EPISODE_ID.match(line)
    return found[1] if found else str(_read(line, path, number).get("episode_id")).encode("utf-8", "replace")


def _tried_again(file: IO[bytes], path: Path) -> dict[bytes, int]:
    """The number of the newest line of each episode that has several."""
    seen: set[int] = set()
    several: dict[bytes, int] = {}
    for number, line in _whole(file):
        key = _id(line, path, number)
        short = hash(key)
        if short in seen:
            several[key] = number
        seen.add(short)
    return several


def _episode(line: bytes, path: Path, number: int) -> Episode:
    """The episode of one line.

    Raises:
        UserError: It is not one.
    """
    try:
        return Episode.model_validate_json(line)
    except ValidationError:
        return validated(Episode, _read(line, path, number), path, number)


def validated(kind: type[R], record: dict[str, Any], path: Path, number: int) -> R:
    """The record of one line.

    Raises:
        UserError: A field is missing, unknown or of the wrong type.
    """
    try:
        return kind.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}:{number}: {where}: {first['msg']}") from None
