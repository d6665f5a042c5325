"""Makes a task of a published dataset that a grid names with `data:`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from r_eval.grid import Grid, TaskEntry
from r_eval.records import Question
from r_eval.tasks.base import Task, custom, installed, matching, task_files
from r_eval.tasks.loaders import Data, format_of, formats, load
from r_eval.tasks.loaders.hub import HUB, hub_source, local
from r_eval.tasks.questions import choose, folded, read_questions

LOADING = ("broken", "config", "split", "format", "level")
"""Keys of a task that say how data is read, whatever its format."""


def data_task(entry: TaskEntry, grid: Grid, limit: int | None, changes: Mapping[str, Any]) -> Task:
    """A task with the questions of a dataset; an installed one keeps all else that is its own.

    No more than the questions that the grid asks for are kept in memory.

    Args:
        limit: Keep only the first so many questions.
        changes: What the grid puts in place of the task's own.

    Raises:
        UserError: The task is unknown, or the data cannot be used; begins with the task's name.
    """
    own = _own(entry, changes)
    demonstrations = own.demonstrations if own else ()
    if entry.demonstrations:
        demonstrations = tuple(read_questions(grid.folder / entry.demonstrations))
    try:
        data = _load(entry, grid, limit, own, demonstrations)
    except UserError as error:
        raise UserError(f"task '{entry.task}': {error}") from None
    task = own or custom(entry.task, (), "", demonstrations)
    if own and "environment" in changes and not entry.demonstrations:
        changes = {**changes, "home": own.environment}
    facts = {key: getattr(data, key) for key in ("format", "records", "asked", "broken", "left_out", "version")}
    found = {"questions": data.questions, "demonstrations": demonstrations, "data": facts, "notes": data.notes()}
    return dataclasses.replace(task, **{**changes, **found})


def _own(entry: TaskEntry, changes: Mapping[str, Any]) -> Task | None:
    """The installed task of an entry; None where it is one of the grid's own."""
    if entry.task in task_files():
        return installed(entry.task)
    if "environment" in changes:
        return None
    if entry.format is not None:
        raise UserError(f"task '{entry.task}': a data file needs the environment: that it is asked over")
    names = matching(entry.task)
    if len(names) > 1:
        raise UserError(f"task '{entry.task}': data: goes with one task, not with {len(names)}: {', '.join(names)}")
    return installed(names[0])


def _load(
    entry: TaskEntry, grid: Grid, limit: int | None, own: Task | None, demonstrations: Sequence[Question]
) -> Data:
    source = _source(entry, grid.folder)
    name, settings = _format(entry, source, own)
    own_settings = {key: value for key, value in entry.of_data.items() if key not in LOADING}
    if entry.aliases is not None:
        own_settings["aliases"] = str(grid.folder / entry.aliases)
    shots = min(grid.shots, len(demonstrations))
    _, used = choose((), demonstrations, grid.seed, shots, None)
    ids, texts = {q.id for q in used}, {folded(q.question) for q in used}
    sizes = [size for size in (limit, grid.samples) if size is not None]
    tolerated = {} if entry.broken is None else {"broken": entry.broken}
    return load(
        source,
        name,
        level=entry.level or (own.level if own else None),
        settings={**settings, **own_settings},
        samples=min(sizes) if sizes else None,
        seed=grid.seed,
        skip=lambda question: question.id in ids or folded(question.question) in texts,
        **tolerated,
    )


def _source(entry: TaskEntry, folder: Path) -> str:
    """Where the data is, seen from the grid's folder."""
    data = entry.data or ""
    if data.startswith(HUB):
        return hub_source(local(data.removeprefix(HUB), folder), entry.config, entry.split)
    for key in ("config", "split"):
        if getattr(entry, key) is not None:
            raise UserError(f"{key}: goes with data: {HUB}ORGANISATION/NAME")
    return str(folder / data)


def _format(entry: TaskEntry, source: str, own: Task | None) -> tuple[str | None, Mapping[str, Any]]:
    """The format to read in and the installed task's settings of it; None where it is to be found out.

    An installed task's data is of the task's own format, unless the grid names another, names columns, or the file is
    one of the forms in which many datasets are published.
    """
    known = own.format if own else ""
    settings = dict(known) if isinstance(known, Mapping) else {"format": known}
    usual = settings.pop("format", "") or None
    if entry.format is not None:
        return entry.format, settings if entry.format == usual else {}
    if source.startswith(HUB):
        return (usual, settings) if usual and not entry.columns else ("huggingface", {})
    if usual is None or entry.columns:
        return None, {}
    found = format_of(Path(source))
    if found is not None and found != usual and formats()[found].general:
        return found, {}
    return usual, settings
