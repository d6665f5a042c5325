"""The writing side of a run folder: which episodes are there, which are missing, one writer a cell.

A run is only resumed if nothing that decides an episode has changed; a cell with another
fingerprint is refused, naming what changed. A second process on the same folder is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import fcntl
import itertools
import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from r_eval import __version__
from r_eval.disk import DRAFTS, open_to_write, refuse_links, seal, sync_all, write_whole
from r_eval.errors import Unwritable, UserError
from r_eval.fingerprints import changed_parts
from r_eval.folder import Cell, RunFolder, described
from r_eval.llms.replay import LLMUsage
from r_eval.manifest import Manifest, StoppedPart
from r_eval.records import Episode, Outcome
from r_eval.runner.budget import Stopwatch
from r_eval.runner.ledger import Ledger
from r_eval.runner.plan import Plan, PlannedCell
from r_eval.tasks.seasons import keep_season
from r_eval.text import clean, clean_data

logger = logging.getLogger("r_eval")
PARTS = {"episodes", "questions", "scores", "report"}
"""What a run's folder holds besides run.json."""
LOCK_SECONDS = 1.0
"""How long a lock is waited for: who asks whether a run goes on has it for a moment."""


class Store:
    """A run folder opened for writing; use it as a context manager.

    Every method that writes raises `Unwritable` where the disk refuses it; a file that is replaced is as it was then.

    Attributes:
        run_id: Under which replies are kept for the resume of this run.
        is_new: Whether the folder held no run before.
        spent: What was really asked of each LLM, by name; goes on from what the folder says.
        clock: How long this folder's run has gone on, earlier sessions included.
        is_written: Whether this run has written its run.json.
        unavailable: Why LLMs could not be opened, by their names.
        stopped: Systems that are asked no further (see `r_eval.runner.early_stopping`).

    Raises:
        UserError: The folder cannot be written, is in use, or holds a run that differs from the plan.
    """

    def __init__(self, folder: RunFolder, plan: Plan, fresh: bool = False) -> None:
        self.folder, self.plan = folder, plan
        self._ledgers: dict[Cell, Ledger] = {}
        self._created = now()
        self.run_id, self.is_new, self.is_written = secrets.token_hex(8), True, False
        self._before: dict[Cell, dict[str, Any]] = {}
        self.spent: dict[str, LLMUsage] = {}
        self.clock = Stopwatch()
        self.unavailable: dict[str, str] = {}
        self.stopped: list[StoppedPart] = []
        self._writing, self._has_ended = threading.Lock(), False
        moves = _refuse_strangers(folder, fresh)
        self._made = [path for path in (folder.path, *folder.path.parents) if not path.exists()]
        self._lock = _locked(folder.path)
        try:
            if moves:
                _move_aside(folder)
                old, self._lock = self._lock, _locked(folder.path)
                os.close(old)
            if os.path.lexists(folder.run_file):
                self._resume()
            _clear_drafts(folder)
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            with _writable(self.folder.path):
                for writer in filter(None, [ledger.release() for ledger in self._ledgers.values()]):
                    writer.close()
        finally:
            os.close(self._lock)
            if not self.is_written and self.is_new:  # leave nothing of a run that never began
                (self.folder.path / ".lock").unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    for path in self._made:
                        path.rmdir()

    def _resume(self) -> None:
        """Go on from what an earlier run of this folder says of itself."""
        try:
            manifest = self.folder.manifest()
        except UserError as error:
            raise UserError(f"{error}; --fresh moves the old run aside") from None
        self._created = manifest["created"] or self._created
        self.run_id, self.is_new = manifest["id"] or self.run_id, False
        self.spent = {name: LLMUsage(**entry) for name, entry in manifest["spent"].items()}
        self.clock = Stopwatch(manifest["seconds"])
        self._before = refuse_changes(self.folder, manifest, self.plan)

    def ledger(self, cell: PlannedCell) -> Ledger:
        """Which episodes of a cell are recorded; damaged lines of its file are set aside.

        Raises:
            UserError: The file is no regular file, or a link in the folder is in the way.
        """
        if cell.cell not in self._ledgers:
            path = cell.cell.path(self.folder.episodes_root)
            refuse_links(path)
            with _writable(path):
                self._ledgers[cell.cell] = Ledger(cell, self.plan.grid.epochs, path)
        return self._ledgers[cell.cell]

    def is_complete(self) -> bool:
        """Whether every episode is recorded, and none is an infrastructure failure."""
        return not any(self.ledger(cell).left() for cell in self.plan.cells)

    def append(self, cell: PlannedCell, episode: Episode) -> Episode:
        """Record an episode, which is on the disk after the next `sync`; returns it as it is recorded."""
        episode, line = recordable(episode)
        with _writable(cell.cell.path(self.folder.episodes_root)):
            self.ledger(cell).append(episode, seal(line))
        return episode

    async def sync(self) -> None:
        """See that all that is recorded is on the disk, without holding the event loop up."""
        with _writable(self.folder.path):
            if descriptors := [each for ledger in self._ledgers.values() for each in ledger.unsynced()]:
                await asyncio.to_thread(sync_all, descriptors)

    async def complete(self, cell: PlannedCell) -> None:
        """Close a cell's file; once nothing is missing, put it in the order of the questions."""
        ledger = self.ledger(cell)
        writer = ledger.release()  # here, since `sync` may look at it at any time

        def close() -> None:
            if writer is not None:
                writer.close()
            ledger.sort()

        with _writable(self.folder.path):
            await asyncio.to_thread(close)

    def write_questions(self) -> None:
        """Write down what is asked, so that the folder says it without the files that the questions came from."""
        for planned in self.plan.tasks:
            path = self.folder.questions_file(planned.task.name)
            questions = {question.id: question for question in planned.questions}
            others = (q for q in self.folder.questions(planned.task.name) if q.id not in questions)
            lines = [f"{q.model_dump_json(exclude_defaults=True)}\n".encode() for q in (*questions.values(), *others)]
            with _writable(path):
                write_whole(path, lines)
        for entry in self.plan.grid.tasks:
            if entry.questions is not None:
                copy = self.folder.questions_file(entry.task)
                refuse_links(copy.with_suffix(".season.json"))
                with _writable(copy):
                    keep_season(self.plan.grid.folder / entry.questions, copy)

    def write_manifest(self, state: str, reached: Sequence[str] = ()) -> None:
        """Write run.json.

        Args:
            reached: The limits of the budget that hold episodes back, in words.
        """
        self.is_written = True
        self._write(self._manifest(state, reached))

    async def write_manifest_in_thread(self) -> None:
        """Write run.json while the run goes on, in a thread, since the disk may be slow."""
        await asyncio.to_thread(self._write, self._manifest("running", ()))

    def _write(self, manifest: Manifest) -> None:
        """Write run.json; what a slow thread has to say of a run that has ended comes too late."""
        with _writable(self.folder.run_file), self._writing:
            if not (self._has_ended and manifest.state == "running"):
                write_whole(self.folder.run_file, manifest.text())
                self._has_ended = manifest.state != "running"

    def _manifest(self, state: str, reached: Sequence[str]) -> Manifest:
        plan, grid = self.plan, self.plan.grid
        cells = {c.cell: c for c in plan.cells}
        of_task = ("name", "id", "title", "domain", "level", "metric")
        found = {
            **{"name": grid.name, "id": self.run_id, "created": self._created, "updated": now(), "state": state},
            "budget": [{"text": text} for text in reached],
            "versions": {"r-eval": __version__, "python": platform.python_version()},
            "seed": grid.seed,
            "grid": grid.model_dump(mode="json", exclude_none=True),
            "vary": dataclasses.asdict(plan.sweep) if plan.sweep else None,
            "systems": [
                {"name": name, "workflow": c.cell.workflow, "llm": c.cell.llm, "reference": c.workflow.uses_gold}
                for name, c in {c.cell.system: c for c in plan.cells}.items()
            ],
            "llms": {
                name: {
                    "connections": llm.connections,
                    "adaptations": dict(llm.adaptations),
                    "unavailable": self.unavailable.get(name),
                }
                for name, llm in plan.llms.items()
            },
            "tasks": [
                {
                    **{key: getattr(p.task, key) for key in of_task},
                    "questions": len(p.questions),
                    "demonstrations": [question.id for question in p.demonstrations],
                    "data": dict(p.task.data),
                }
                for p in plan.tasks
            ],
            "conditions": list(dict.fromkeys(c.name or c.condition for c in grid.conditions)),
            "cells": [self._cell_part(cell) for cell in plan.cells],
            "dropped": [dataclasses.asdict(drop) for drop in plan.drops],
            "stopped": self.stopped,
            "spent": {name: dataclasses.asdict(spent) for name, spent in self.spent.items()},
            "seconds": self.clock.seconds,
            "left_out": [entry for cell, entry in self._before.items() if cell not in cells],
        }
        return Manifest.model_validate(found)

    def _cell_part(self, cell: PlannedCell) -> dict[str, Any]:
        skipped = self._ledgers[cell.cell].skipped() if cell.cell in self._ledgers else 0
        episodes = len(cell.planned.questions) * self.plan.grid.epochs - skipped
        counts = {"episodes": episodes, "dropped": cell.planned.dropped, "skipped": skipped}
        return {**cell.cell._asdict(), **counts, "fingerprint": cell.fingerprint, "parts": cell.parts}


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Raise `Unwritable` where the disk refuses something."""
    try:
        yield
    except OSError as error:
        raise Unwritable(path, error) from error


def recordable(episode: Episode) -> tuple[Episode, str]:
    """An episode and its JSON, which can be read back whatever a plug-in has put into it.

    Texts that no file can hold are cleaned (see `r_eval.text`); what is of a wrong type is a failure of the workflow.
    """
    try:
        line = episode.model_dump_json(warnings=False)
        Episode.model_validate_json(line)
        return episode, line
    except ValueError:
        pass
    try:
        data = to_jsonable_python(episode.model_dump(warnings=False), fallback=repr)
        cleaned = Episode.model_validate(clean_data(data))
    except ValueError as error:
        why = clean(described(error) if isinstance(error, ValidationError) else str(error))
        outcome = Outcome(kind="tool_failure", cause="workflow", detail=f"what it did cannot be recorded: {why}")
        cleaned = episode.model_copy(update={"outcome": outcome, "answer": "", "messages": [], "steps": []})
    return cleaned, cleaned.model_dump_json()


def refuse_changes(folder: RunFolder, manifest: Mapping[str, Any], plan: Plan) -> dict[Cell, dict[str, Any]]:
    """See that a folder's recorded cells are the plan's; returns what the folder says of each.

    Raises:
        UserError: One differs; names what changed.
    """
    before = {
        Cell(*(entry[key] for key in Cell._fields)): entry for entry in [*manifest["cells"], *manifest["left_out"]]
    }
    for planned in plan.cells:
        old = before.get(planned.cell)
        if old is None or old["fingerprint"] == planned.fingerprint:
            continue
        if planned.cell.path(folder.episodes_root).exists():
            raise UserError(
                f"{folder.path}: the run there differs from this grid in: {changed_parts(old['parts'], planned.parts)} "
                f"(cell {planned.cell.system} on {planned.cell.task}); its episodes are not mixed with new ones. "
                "Use another --out, or --fresh to move the old run aside"
            )
    return before


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _locked(folder: Path) -> int:
    """A descriptor of the folder's lock file, which is held as long as it is open.

    Raises:
        UserError: Another process has it, or the folder cannot be written.
    """
    try:
        lock = open_to_write(folder / ".lock", os.O_RDWR)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from None
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(0.02)
                continue
            holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            os.close(lock)
            process = holder if holder.isdecimal() else "unknown"
            raise UserError(f"{folder} is in use by another r-eval (process {process})") from None
        except OSError as error:  # of a network file system
            logger.warning("%s cannot be locked (%s): see that no other r-eval writes to it", folder, error.strerror)
            break
    with contextlib.suppress(OSError):  # who holds the lock is only said in a message
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock


def _refuse_strangers(folder: RunFolder, fresh: bool) -> bool:
    """Whether what the folder holds is moved aside first; it must be a run, empty, or not there yet."""
    path = folder.path
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; choose a folder with --out")
    if not path.exists() or os.path.lexists(folder.run_file):
        return fresh and path.exists()
    names = {each.name for each in path.iterdir() if each.name != ".lock" and not each.name.startswith(".run.json.")}
    if names - PARTS or (names and "episodes" not in names):
        raise UserError(f"{path} is not empty and not a run; choose another folder with --out")
    if names and not fresh:
        raise UserError(f"{path} holds a run that lost its run.json; put it back, or --fresh moves the rest aside")
    return bool(names)


def _clear_drafts(folder: RunFolder) -> None:
    """Take away what a kill left of files that were being replaced; only who holds the run's lock writes here."""
    refuse_links(folder.episodes_root)
    refuse_links(folder.path / "questions")
    patterns = (DRAFTS, f"questions/{DRAFTS}", f"episodes/**/{DRAFTS}")
    for draft in itertools.chain.from_iterable(map(folder.path.glob, patterns)):
        draft.unlink(missing_ok=True)


def _move_aside(folder: RunFolder) -> None:
    """Give a run's folder another name, with the time in it."""
    stamp = f"{folder.path.name}.{now().replace(':', '').replace('+0000', 'Z')}"
    names = itertools.chain([stamp], (f"{stamp}-{number}" for number in itertools.count(2)))
    folder.path.rename(next(path for name in names if not (path := folder.path.with_name(name)).exists()))
