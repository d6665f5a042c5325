"""The writing side of a run folder: which episodes are there, which are missing, one writer a cell.

A folder that holds a run is only gone on with where nothing that decides an episode has changed; a cell with another
fingerprint is refused, naming what changed. A second process on the same folder is refused.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import fcntl
import json
import os
import platform
import secrets
from collections.abc import Iterator, Sequence
from typing import IO, Any

from pydantic_core import PydanticSerializationError

from r_eval import __version__
from r_eval.errors import Unwritable, UserError
from r_eval.folder import DRAFTS, Cell, CellWriter, RunFolder, sync_all, write_whole
from r_eval.llms.base import LLM
from r_eval.llms.replay import LLMUsage
from r_eval.records import SCHEMA, Episode, Question, Record
from r_eval.runner.budget import Clock, Reached
from r_eval.runner.ledger import Ledger
from r_eval.runner.plan import Plan, PlannedCell, PlannedTask
from r_eval.tasks.seasons.season import keep_season


class Store:
    """A run folder opened for writing; use it as a context manager.

    Attributes:
        run_id: Under which replies are kept for the resume of this run.
        is_new: Whether the folder held no run before.
        spent: What was really asked of each LLM, by name; goes on from what the folder says.
        clock: How long this folder's run has gone on, earlier sessions included.
        crashed: Whether the last run in this folder ended without a word.

    Raises:
        UserError: The folder cannot be written, is in use, or holds a run that differs from the plan.
    """

    def __init__(self, folder: RunFolder, plan: Plan, fresh: bool = False) -> None:
        self.folder, self.plan = folder, plan
        self._writers: dict[Cell, CellWriter] = {}
        self._ledgers: dict[Cell, Ledger] = {}
        self._places: dict[int, dict[str, int]] = {}
        self._created = now()
        self.run_id, self.is_new = secrets.token_hex(8), True
        self._before: dict[Cell, dict[str, Any]] = {}
        self.spent: dict[str, LLMUsage] = {}
        self.clock = Clock()
        self.crashed = self._complete = False
        self._refuse_strangers()
        self._lock: IO[str] = self._locked()
        try:
            if fresh and folder.run_file.exists():
                _move_aside(folder)
                self._lock.close()
                self._lock = self._locked()
            if folder.run_file.exists():
                self._compare()
            _clear_drafts(folder)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._close()
        except OSError as error:
            raise Unwritable(self.folder.path, error) from error
        finally:
            self._lock.close()

    def _close(self) -> None:
        for writer in self._writers.values():
            writer.close()

    def _refuse_strangers(self) -> None:
        """See that the folder is a run, empty, or not there yet."""
        path = self.folder.path
        if path.exists() and not path.is_dir():
            raise UserError(f"{path} is a file; choose a folder with --out")
        if path.exists() and not self.folder.run_file.exists() and any(not _own(p.name) for p in path.iterdir()):
            raise UserError(f"{path} is not empty and not a run; choose another folder with --out")

    def _compare(self) -> None:
        """Read what an earlier run of this folder says of itself, and compare."""
        manifest = self.folder.manifest()
        try:
            self._created = manifest["created"]
            self.run_id, self.is_new = str(manifest.get("id") or self.run_id), False
            self.spent = {name: LLMUsage(**entry) for name, entry in manifest.get("spent", {}).items()}
            self.clock = Clock(float(manifest.get("seconds", 0.0)))
            self.crashed = manifest["state"] == "running"
            self._before = refuse_changes(self.folder, manifest, self.plan)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            said = f"damaged ({type(error).__name__}: {error}); --fresh moves the old run aside"
            raise UserError(f"{self.folder.run_file}: {said}") from None

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

    def ledger(self, cell: PlannedCell) -> Ledger:
        """Which episodes of a cell are recorded."""
        if cell.cell not in self._ledgers:
            asked, path = cell.planned.asked, cell.cell.path(self.folder.episodes_root)
            key = id(asked)  # the plan holds on to it
            if key not in self._places:
                self._places[key] = {question.id: place for place, question in enumerate(asked)}
            self._ledgers[cell.cell] = Ledger(cell, self.plan.grid.epochs, self._places[key], path)
        return self._ledgers[cell.cell]

    def missing(self, cell: PlannedCell) -> Iterator[tuple[Question, int]]:
        """The episodes of a cell that are still to be run, found as they are taken."""
        return self.ledger(cell).missing()

    def left(self, cell: PlannedCell) -> int:
        """How many of them there are."""
        return self.ledger(cell).left()

    def count(self, cell: PlannedCell) -> int:
        """How many of a cell's wanted episodes are recorded."""
        return self.ledger(cell).count()

    def is_complete(self) -> bool:
        """Whether every episode is recorded, and none failed for the machinery's sake."""
        return not any(self.left(cell) for cell in self.plan.cells)

    def append(self, cell: PlannedCell, episode: Episode) -> None:
        """Record an episode; it is on the disk after the next `sync`.

        Raises:
            Unwritable: It could not be written.
        """
        ledger = self.ledger(cell)
        try:
            writer = self._writers.get(cell.cell)
            if writer is None:
                writer = self._writers[cell.cell] = CellWriter(cell.cell.path(self.folder.episodes_root))
            writer.append(_line(episode))
        except OSError as error:
            raise Unwritable(cell.cell.path(self.folder.episodes_root), error) from error
        ledger.add(episode)

    async def sync(self) -> None:
        """See that all that is recorded is on the disk, without holding the event loop up.

        Raises:
            Unwritable: The disk refuses it.
        """
        descriptors = [descriptor for file in self._writers.values() for descriptor in file.unsynced()]
        try:
            if descriptors:
                await asyncio.to_thread(sync_all, descriptors)
        except OSError as error:
            raise Unwritable(self.folder.path, error) from error

    def complete(self, cell: PlannedCell) -> None:
        """Close a cell's file; once nothing is missing, put it in the order of the questions (see `Ledger.tidy`).

        Raises:
            Unwritable: There is no room for it; the file is as it was.
        """
        try:
            writer = self._writers.pop(cell.cell, None)
            if writer is not None:
                writer.close()
            if not self.left(cell):
                self.ledger(cell).tidy()
        except OSError as error:
            raise Unwritable(self.folder.path, error) from error

    def write_questions(self) -> None:
        """Write down what is asked, so that the folder says it without the files that the questions came from.

        Raises:
            Unwritable: There is no room for it; the file is as it was.
        """
        for planned in self.plan.tasks:
            path = self.folder.questions_file(planned.task.name)
            asked = {question.id: question for question in planned.asked}
            others = (q for q in self.folder.questions(planned.task.name) if q.id not in asked)
            lines = [f"{_line(q, short=True)}\n".encode() for q in (*asked.values(), *others)]
            try:
                write_whole(path, lines)
            except OSError as error:
                raise Unwritable(path, error) from error
        for entry in self.plan.grid.tasks:
            if entry.questions is not None:
                copy = self.folder.questions_file(entry.task)
                try:
                    keep_season(self.plan.grid.folder / entry.questions, copy)
                except OSError as error:
                    raise Unwritable(copy, error) from error

    def write_manifest(self, state: str, reached: Sequence[Reached] = ()) -> None:
        """Write run.json.

        Args:
            reached: The budgets that hold episodes back.

        Raises:
            Unwritable: There is no room for it; the file is as it was.
        """
        self._complete = state == "complete"
        plan, grid = self.plan, self.plan.grid
        planned = {c.cell for c in plan.cells}
        systems = {c.cell.system: c for c in plan.cells}
        manifest = {
            "schema": SCHEMA,
            "name": grid.name,
            "id": self.run_id,
            "created": self._created,
            "updated": now(),
            "state": state,
            **({"budget": [one.record() for one in reached]} if reached else {}),
            "versions": {"r-eval": __version__, "python": platform.python_version()},
            "seed": grid.seed,
            "grid": grid.model_dump(mode="json", exclude_none=True),
            **({"vary": plan.sweep.record()} if plan.sweep else {}),
            "systems": [
                {"name": name, "workflow": c.cell.workflow, "llm": c.cell.llm}
                | ({"bound": True} if c.workflow.uses_gold else {})
                for name, c in systems.items()
            ],
            "llms": {name: _llm_entry(llm) for name, llm in plan.llms.items()},
            "tasks": [_task_entry(planned) for planned in plan.tasks],
            "conditions": list(dict.fromkeys(c.name or c.given for c in grid.conditions)),
            "cells": [_cell_entry(cell, grid.epochs) for cell in plan.cells],
            **({"dropped": [dataclasses.asdict(drop) for drop in plan.drops]} if plan.drops else {}),
            "spent": {name: dataclasses.asdict(spent) for name, spent in self.spent.items()},
            "seconds": self.clock.seconds,
            "left_out": [entry for cell, entry in self._before.items() if cell not in planned],
        }
        try:
            write_whole(self.folder.run_file, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
        except OSError as error:
            raise Unwritable(self.folder.run_file, error) from error


def _llm_entry(llm: LLM) -> dict[str, Any]:
    """What run.json says of an LLM; `adaptations` is what was sent differently from what the grid says, and why."""
    return {"connections": llm.connections} | ({"adaptations": dict(llm.adaptations)} if llm.adaptations else {})


def _task_entry(planned: PlannedTask) -> dict[str, Any]:
    """What run.json says of a task."""
    task = planned.task
    told = {key: getattr(task, key) for key in ("name", "id", "title", "domain", "level", "metric")}
    chosen = {"questions": len(planned.asked), "demonstrations": [question.id for question in planned.shown]}
    return {**told, **chosen, **({"data": dict(task.data)} if task.data else {})}


def _cell_entry(planned: PlannedCell, epochs: int) -> dict[str, Any]:
    """What run.json says of a cell."""
    return {
        **planned.cell._asdict(),
        "episodes": len(planned.planned.asked) * epochs,
        **({"dropped": planned.planned.dropped} if planned.planned.dropped else {}),
        "fingerprint": planned.fingerprint,
        "parts": planned.parts,
    }


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def refuse_changes(folder: RunFolder, manifest: dict[str, Any], plan: Plan) -> dict[Cell, dict[str, Any]]:
    """See that a folder's recorded cells are the plan's; returns what the folder says of each.

    Raises:
        UserError: One differs; names what changed.
    """
    before: dict[Cell, dict[str, Any]] = {}
    for entry in [*manifest["cells"], *manifest.get("left_out", [])]:
        before[Cell(*(entry[key] for key in ("workflow", "llm", "condition", "task")))] = entry
    for planned in plan.cells:
        old = before.get(planned.cell)
        if old is None or old["fingerprint"] == planned.fingerprint:
            continue
        if not planned.cell.path(folder.episodes_root).exists():
            continue
        changed = ", ".join(k for k, v in planned.parts.items() if old["parts"].get(k) != v)
        raise UserError(
            f"{folder.path}: the run there differs from this grid in: {changed} "
            f"(cell {planned.cell.system} on {planned.cell.task}); its episodes are not mixed with new ones. "
            "Use another --out, or --fresh to move the old run aside"
        )
    return before


def _own(name: str) -> bool:
    """Whether a file of a run folder may be there before its run.json."""
    return name == ".lock" or name.startswith(".run.json.")


def _line(record: Record, short: bool = False) -> str:
    """A record as JSON; half a surrogate pair, which some models write and no file can hold, becomes "?".

    Args:
        short: Leave out what is as it is by default.
    """
    try:
        return record.model_dump_json(exclude_defaults=short)
    except PydanticSerializationError:
        data = record.model_dump(mode="python", exclude_defaults=short)
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode("utf-8")


def _clear_drafts(folder: RunFolder) -> None:
    """Take away what a kill left of files that were being replaced; only who holds the run's lock writes here."""
    for draft in (
        *folder.path.glob(DRAFTS),
        *folder.path.glob(f"questions/{DRAFTS}"),
        *folder.episodes_root.rglob(DRAFTS),
    ):
        draft.unlink(missing_ok=True)


def _move_aside(folder: RunFolder) -> None:
    """Give a run's folder another name, with the time in it."""
    stamp = now().replace(":", "").replace("+0000", "Z")
    target, number = folder.path.with_name(f"{folder.path.name}.{stamp}"), 1
    while target.exists():
        number += 1
        target = folder.path.with_name(f"{folder.path.name}.{stamp}-{number}")
    folder.path.rename(target)
