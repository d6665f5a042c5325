"""The writing side of a run folder: which episodes are there, which are missing, one writer a cell.

A folder that holds a run is only gone on with where nothing that decides an episode has changed; a cell with another
fingerprint is refused, naming what changed. A second process on the same folder is refused.
"""

from __future__ import annotations

import dataclasses
import datetime
import fcntl
import json
import os
import platform
import sqlite3
from collections.abc import Iterator
from typing import IO, Any

from pydantic_core import PydanticSerializationError

from r_eval import __version__
from r_eval.errors import UserError
from r_eval.folder import Cell, CellWriter, RunFolder, read_lines, repair, write_whole
from r_eval.llms.answers import Spent
from r_eval.llms.replies import ReplyStore
from r_eval.records import MACHINERY, SCHEMA, Episode, Question
from r_eval.runner.episode import episode_id
from r_eval.runner.plan import Plan, PlannedCell

JOURNAL = "journal.sqlite"


class Store:
    """A run folder opened for writing; use it as a context manager.

    Attributes:
        replies: The run's journal: replies of episodes that are not recorded yet.
        spent: What was really asked of each LLM, by name; goes on from what the folder says.
        crashed: Whether the last run in this folder ended without a word.

    Raises:
        UserError: The folder cannot be written, is in use, or holds a run that differs from the plan.
    """

    def __init__(self, folder: RunFolder, plan: Plan, fresh: bool = False) -> None:
        self.folder, self.plan = folder, plan
        self._writers: dict[Cell, CellWriter] = {}
        self._done: dict[Cell, set[str]] = {}
        self._created = now()
        self._before: dict[Cell, dict[str, Any]] = {}
        self.spent: dict[str, Spent] = {}
        self.crashed = False
        self._refuse_strangers()
        self._lock: IO[str] = self._locked()
        try:
            if fresh and folder.run_file.exists():
                _move_aside(folder)
                self._lock.close()
                self._lock = self._locked()
            if folder.run_file.exists():
                self._compare()
            self.replies = self._journal()
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        for writer in self._writers.values():
            writer.close()
        if self.replies.count():
            self.replies.close()
        else:
            self.replies.remove()
        self._lock.close()

    def _refuse_strangers(self) -> None:
        """See that the folder is a run, empty, or not there yet."""
        path = self.folder.path
        if path.exists() and not path.is_dir():
            raise UserError(f"{path} is a file; choose a folder with --out")
        if path.exists() and not self.folder.run_file.exists() and any(not _own(p.name) for p in path.iterdir()):
            raise UserError(f"{path} is not empty and not a run; choose another folder with --out")

    def _journal(self) -> ReplyStore:
        path = self.folder.path / JOURNAL
        try:
            return ReplyStore(path)
        except sqlite3.DatabaseError as error:
            raise UserError(f"{path} is damaged ({error}); delete it, and its replies are asked for again") from None

    def _compare(self) -> None:
        """Read what an earlier run of this folder says of itself, and compare."""
        manifest = self.folder.manifest()
        self._created = manifest["created"]
        self.spent = {name: Spent(**entry) for name, entry in manifest.get("spent", {}).items()}
        self.crashed = manifest["state"] == "running"
        for entry in [*manifest["cells"], *manifest.get("left_out", [])]:
            cell = Cell(*(entry[key] for key in ("workflow", "llm", "condition", "task")))
            self._before[cell] = entry
        for planned in self.plan.cells:
            before = self._before.get(planned.cell)
            if before is None or before["fingerprint"] == planned.fingerprint:
                continue
            if not planned.cell.path(self.folder.episodes_root).exists():
                continue
            changed = ", ".join(k for k, v in planned.parts.items() if before["parts"].get(k) != v)
            raise UserError(
                f"{self.folder.path}: the run there differs from this grid in: {changed} "
                f"(cell {planned.cell.system} on {planned.cell.task}); its episodes are not mixed with new ones. "
                "Use another --out, or --fresh to move the old run aside"
            )

    def _locked(self) -> IO[str]:
        try:
            self.folder.path.mkdir(parents=True, exist_ok=True)
            lock = (self.folder.path / ".lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise UserError(f"{self.folder.path} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise UserError(f"{self.folder.path} is in use by another r-eval (process {holder})") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        return lock

    @property
    def name_in_cache(self) -> str:
        """Under which name replies of this run are kept in the cache."""
        return name_in_cache(self.folder, self._created)

    def done(self, cell: PlannedCell) -> set[str]:
        """The ids of the episodes that are recorded and need not be tried again."""
        if cell.cell not in self._done:
            path = cell.cell.path(self.folder.episodes_root)
            latest: dict[str, str] = {}
            if path.exists():
                for number, record in read_lines(path):
                    try:
                        latest[record["episode_id"]] = record["outcome"]["kind"]
                    except (KeyError, TypeError):
                        raise UserError(f"{path}:{number}: not an episode: it has no id or no outcome") from None
            self._done[cell.cell] = {i for i, kind in latest.items() if kind not in MACHINERY}
        return self._done[cell.cell]

    def wanted(self, cell: PlannedCell) -> Iterator[tuple[str, Question, int]]:
        """Every episode of a cell, in the order in which a complete cell lists them."""
        for epoch in range(self.plan.grid.epochs):
            for question in cell.planned.asked:
                yield episode_id(cell, question, epoch), question, epoch

    def missing(self, cell: PlannedCell) -> list[tuple[Question, int]]:
        """The episodes of a cell that are still to be run."""
        done = self.done(cell)
        return [(question, epoch) for key, question, epoch in self.wanted(cell) if key not in done]

    def count(self, cell: PlannedCell) -> int:
        """How many of a cell's wanted episodes are recorded."""
        done = self.done(cell)
        return sum(key in done for key, _, _ in self.wanted(cell))

    def is_complete(self) -> bool:
        """Whether every episode is recorded, and none failed for the machinery's sake."""
        return not any(self.missing(cell) for cell in self.plan.cells)

    def append(self, cell: PlannedCell, episode: Episode) -> None:
        """Record an episode, durably."""
        writer = self._writers.get(cell.cell)
        if writer is None:
            writer = self._writers[cell.cell] = CellWriter(cell.cell.path(self.folder.episodes_root))
        writer.append(_line(episode))
        if episode.outcome.kind not in MACHINERY:
            self.done(cell).add(episode.episode_id)
            self.replies.forget(episode.episode_id)

    def complete(self, cell: PlannedCell) -> None:
        """Close a cell's file; once nothing is missing, put it in the order of the questions.

        Lines of episodes that were tried again go, oldest first, to a file `.superseded` beside it.
        """
        writer = self._writers.pop(cell.cell, None)
        if writer is not None:
            writer.close()
        if self.missing(cell):
            return
        path = cell.cell.path(self.folder.episodes_root)
        repair(path)
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        newest: dict[str, str] = {}
        old: list[str] = []
        for line in lines:
            key = json.loads(line)["episode_id"]
            if key in newest:
                old.append(newest[key])
            newest[key] = line
        ordered = [newest.pop(key) for key, _, _ in self.wanted(cell) if key in newest]
        if old:
            kept = path.with_suffix(".superseded")
            before = kept.read_text(encoding="utf-8") if kept.exists() else ""
            write_whole(kept, before + "".join(f"{line}\n" for line in old))
        whole = "".join(f"{line}\n" for line in [*ordered, *newest.values()])
        if whole != "".join(f"{line}\n" for line in lines):
            write_whole(path, whole)

    def write_manifest(self, state: str) -> None:
        """Write run.json."""
        plan, grid = self.plan, self.plan.grid
        planned = {c.cell for c in plan.cells}
        systems = {c.cell.system: c for c in plan.cells}
        manifest = {
            "schema": SCHEMA,
            "name": grid.name,
            "created": self._created,
            "updated": now(),
            "state": state,
            "versions": {"r-eval": __version__, "python": platform.python_version()},
            "seed": grid.seed,
            "grid": grid.model_dump(mode="json", exclude_none=True),
            "systems": [
                {"name": name, "workflow": c.cell.workflow, "llm": c.cell.llm}
                | ({"bound": True} if c.workflow.uses_gold else {})
                for name, c in systems.items()
            ],
            "tasks": [
                {
                    "name": p.task.name,
                    "id": p.task.id,
                    "title": p.task.title,
                    "domain": p.task.domain,
                    "level": p.task.level,
                    "metric": p.task.metric,
                    "questions": len(p.asked),
                    "demonstrations": [q.id for q in p.shown],
                }
                for p in plan.tasks
            ],
            "conditions": [c.condition for c in grid.conditions],
            "cells": [
                {
                    **c.cell._asdict(),
                    "episodes": len(c.planned.asked) * grid.epochs,
                    "fingerprint": c.fingerprint,
                    "parts": c.parts,
                }
                for c in plan.cells
            ],
            "spent": {name: dataclasses.asdict(spent) for name, spent in self.spent.items()},
            "left_out": [entry for cell, entry in self._before.items() if cell not in planned],
        }
        write_whole(self.folder.run_file, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def name_in_cache(folder: RunFolder, created: str) -> str:
    """Under which name the cache keeps the replies of a run that was created at a time."""
    return f"{folder.path.resolve()} {created}"


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _own(name: str) -> bool:
    """Whether a file of a run folder may be there before its run.json."""
    return name == ".lock" or name.startswith(JOURNAL)


def _line(episode: Episode) -> str:
    """An episode as JSON; half a surrogate pair, which some models write and no file can hold, becomes "?"."""
    try:
        return episode.model_dump_json()
    except PydanticSerializationError:
        text = json.dumps(episode.model_dump(mode="python"), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode("utf-8")


def _move_aside(folder: RunFolder) -> None:
    """Give a run's folder another name, with the time in it."""
    stamp = now().replace(":", "").replace("+0000", "Z")
    target, number = folder.path.with_name(f"{folder.path.name}.{stamp}"), 1
    while target.exists():
        number += 1
        target = folder.path.with_name(f"{folder.path.name}.{stamp}-{number}")
    folder.path.rename(target)
