"""Resolves the names in a grid, relative to the grid's folder: conditions, workflows, LLMs, and tasks with their
questions or published datasets.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.environments.conditions.combined import CLEAN, Combined, combine
from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.files import is_file, is_folder
from r_eval.grid import ConditionEntry, Grid, LLMEntry, TaskEntry, WorkflowEntry
from r_eval.llms.base import LLM, make_llm
from r_eval.tasks.base import Task, custom, installed, matching, task_files
from r_eval.tasks.loaders import format_of, formats, load
from r_eval.tasks.loaders.reading import HUB, hub_source, local
from r_eval.tasks.questions import choose, folded, read_questions
from r_eval.workflows.base import Workflow, make

NO_LLM = "none"
LOADING = ("broken", "config", "split", "format", "level")
"""Keys of a task that say how data is read, whatever its format."""
PRGB = "prgb"
"""The format whose questions come with noise of several levels."""


def conditions(grid: Grid) -> list[Combined]:
    """The conditions of a grid.

    Raises:
        UserError: One is unknown, or has the name of another.
    """
    found: dict[str, Combined] = {}
    for number, entry in enumerate(grid.conditions):
        with grid.located("conditions", number):
            name = _own_name(entry, entry.condition, found, "condition")
            kinds = [located(kind, grid.folder) for kind in entry.condition.split("+")]
            found[name] = combine(name, kinds, located_settings(entry.settings, grid.folder))
    for name, condition in found.items():
        if (name == CLEAN.name) != (not condition.parts):
            raise UserError(f"condition '{name}': {CLEAN.name} is the name of the bare environment, and its only one")
    return list(found.values())


def workflows(entries: Iterable[WorkflowEntry], grid: Grid) -> dict[str, Workflow]:
    """The workflows of a grid, by their names in it; `entries` are the grid's own, or variants of these.

    Raises:
        UserError: One is unknown, has the name of another, or lacks a setting.
    """
    found: dict[str, Workflow] = {}
    for entry in entries:
        keys = [("workflows", number) for number, own in enumerate(grid.workflows) if own is entry]
        with grid.located(*(keys[0] if keys else ("vary",))):
            name = _own_name(entry, entry.workflow, found, "workflow")
            kind, settings = located(entry.workflow, grid.folder), entry.settings
            if kind == "agent":
                settings = located_settings(settings, grid.folder)
            cls: type[Workflow] = plugins.load("workflows", kind, Workflow)
            if entry.environment and not cls.uses_tools:
                raise UserError(f"workflow '{name}' calls no query API, so it has no settings of an environment")
            found[name] = make(cls, name, settings)
    return found


def llms(grid: Grid) -> dict[str, LLM]:
    """The LLMs of a grid, by their names in it; not opened yet.

    Raises:
        UserError: One is unknown, has the name of another, or lacks a setting.
    """
    found: dict[str, LLM] = {}
    for number, entry in enumerate(grid.llms):
        with grid.located("llms", number):
            name = _own_name(entry, entry.llm, found, "LLM")
            if name == NO_LLM:
                raise UserError(f"the LLM '{entry.llm}' cannot be called '{NO_LLM}', which means no LLM at all")
            prefix, _, model = entry.llm.partition("/")
            if prefix == "scripted" or (prefix == "gguf" and model.endswith(".gguf")):
                model = located(model, grid.folder)
            llm = make_llm(f"{prefix}/{model}" if model else entry.llm, entry.settings)
            llm.name, llm.spec = name, entry.llm
            found[name] = llm
    return found


def tasks(grid: Grid, limit: int | None, noise: Mapping[str, int] | None = None) -> Iterator[Task]:
    """The tasks of a grid, each once.

    Args:
        limit: Keep only the first so many questions of a dataset.
        noise: Levels of noise, for those tasks that have it, in place of what the grid says.

    Raises:
        UserError: One is unknown or named twice, or has no such metric.
    """
    from r_eval.analysis import metrics

    seen: set[str] = set()
    for number, entry in enumerate(grid.tasks):
        with grid.located("tasks", number):
            for task in _named_tasks(entry, grid, limit, noise or {}):
                if task.name in seen:
                    raise UserError(f"duplicate task '{task.name}'")
                metrics.get(task.metric)
                seen.add(task.name)
                yield task


def _named_tasks(entry: TaskEntry, grid: Grid, limit: int | None, noise: Mapping[str, int]) -> Iterator[Task]:
    varied = {"noise": {**(entry.noise or {}), **noise}} if noise else {}
    changes: dict[str, Any] = entry.model_dump(include={"metric", "instruction", "passages"}, exclude_none=True)
    if entry.environment is not None:
        changes["environment"] = located(entry.environment.environment, grid.folder)
        changes["settings"] = located_settings(entry.environment.settings, grid.folder)
    if entry.data is not None:
        with of_task(entry.task):
            yield _data_task(entry.model_copy(update=varied if has_noise(entry) else {}), grid, limit, changes)
    elif entry.questions is not None:
        with of_task(entry.task):
            if entry.environment is None:
                raise UserError("a question file needs the environment: that it is asked over")
        demonstrations = read_questions(grid.folder / entry.demonstrations) if entry.demonstrations else []
        questions = read_questions(grid.folder / entry.questions)
        yield dataclasses.replace(custom(entry.task, questions, "", demonstrations), **changes)
    else:
        for own in map(installed, matching(entry.task)):
            with of_task(own.name):
                if entry.demonstrations is not None:
                    raise UserError("demonstrations: needs questions: FILE.jsonl")
                settings = {**entry.of_data, **(varied if has_noise(own) else {})}
                made = _remade_task(own, settings) if settings else own
            home = {"home": own.environment} if "environment" in changes else {}
            yield dataclasses.replace(made, **{**changes, **home})


@contextlib.contextmanager
def of_task(name: str) -> Iterator[None]:
    """Put a task's name before an error."""
    try:
        yield
    except UserError as error:
        raise UserError(f"task '{name}': {error}") from None


def _data_task(entry: TaskEntry, grid: Grid, limit: int | None, changes: Mapping[str, Any]) -> Task:
    """A task with the questions of a dataset; an installed one keeps all else that is its own.

    No more than the questions that the grid asks for are kept in memory.

    Args:
        limit: Keep only the first so many questions.
        changes: What the grid puts in place of the task's own.

    Raises:
        UserError: The task is unknown, or the data cannot be used.
    """
    own, source = _own(entry, changes), _source(entry, grid.folder)
    demonstrations = own.demonstrations if own else ()
    if entry.demonstrations:
        demonstrations = tuple(read_questions(grid.folder / entry.demonstrations))
    form, settings = _format(entry, source, own)
    settings = {**settings, **{key: value for key, value in entry.of_data.items() if key not in LOADING}}
    if entry.aliases is not None:
        settings["aliases"] = str(grid.folder / entry.aliases)
    _, shots = choose((), demonstrations, grid.seed, min(grid.shots, len(demonstrations)), None)
    ids, texts = {q.id for q in shots}, {folded(q.question) for q in shots}
    data = load(
        source,
        form,
        level=entry.level or (own.level if own else None),
        settings=settings,
        samples=min((size for size in (limit, grid.samples) if size is not None), default=None),
        seed=grid.seed,
        skip=lambda question: question.id in ids or folded(question.question) in texts,
        **({} if entry.broken is None else {"broken": entry.broken}),
    )
    home = {"home": own.environment} if own and "environment" in changes and not entry.demonstrations else {}
    facts: dict[str, Any] = {"format": data.format, "records": data.records, "asked": data.n_questions}
    facts |= {"broken": data.n_broken, "left_out": data.skipped, "version": data.version}
    found = {"questions": data.questions, "demonstrations": demonstrations, "data": facts, "notes": data.notes()}
    return dataclasses.replace(own or custom(entry.task, (), "", demonstrations), **{**changes, **home, **found})


def has_noise(task: Task | TaskEntry) -> bool:
    """Whether the questions of a task, or of a grid's entry that names its data, come with noise: those of PRGB."""
    form = task.format
    if isinstance(task, TaskEntry) and form is None and task.task in task_files():
        form = installed(task.task).format
    return (form.get("format") if isinstance(form, Mapping) else form) == PRGB


def _remade_task(task: Task, settings: Mapping[str, Any]) -> Task:
    """An embedded task whose questions are made anew from its world, with other `noise`, `variants` or `resample`.

    Raises:
        UserError: The task has no world, or a setting is wrong.
    """
    from r_eval.tasks.placeholders.making import SUFFIX, world_data

    form = task.format if isinstance(task.format, Mapping) else {}
    world = task_files()[task.name].with_name(f"{form.get('language')}{SUFFIX}")
    if not has_noise(task) or not world.is_file():
        raise UserError(f"{next(iter(settings))}: needs data: FILE, or an embedded task of PRGB")
    data = world_data(world, form["task"], settings)
    return dataclasses.replace(task, questions=tuple(data.questions), notes=data.notes())


def _own(entry: TaskEntry, changes: Mapping[str, Any]) -> Task | None:
    """The installed task of an entry; None where it is one of the grid's own."""
    if entry.task in task_files():
        return installed(entry.task)
    if "environment" in changes:
        return None
    if entry.format is not None:
        raise UserError("a data file needs the environment: that it is asked over")
    names = matching(entry.task)
    if len(names) > 1:
        raise UserError(f"data: needs a single task, but {entry.task} matches {len(names)}: {', '.join(names)}")
    return installed(names[0])


def _source(entry: TaskEntry, folder: Path) -> str:
    """Where the data is, seen from the grid's folder."""
    data = entry.data or ""
    if data.startswith(HUB):
        return hub_source(local(data.removeprefix(HUB), folder), entry.config, entry.split)
    for key in ("config", "split"):
        if getattr(entry, key) is not None:
            raise UserError(f"{key}: needs data: {HUB}ORGANISATION/NAME")
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


def _own_name(
    entry: LLMEntry | WorkflowEntry | ConditionEntry, default: str, names: Mapping[str, Any], kind: str
) -> str:
    """The name of an entry in the grid.

    Raises:
        UserError: Another one has it.
    """
    name = entry.name or default
    if name in names:
        raise UserError(f"duplicate {kind} '{name}'; give one of them a name: of its own")
    return name


def located_settings(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Settings in which files are seen from the grid's folder, and folders where they are written as a path."""
    return {key: _located_setting(value, folder) for key, value in settings.items()}


def _located_setting(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_located_setting(one, folder) for one in value]
    if not isinstance(value, str) or not value:
        return value
    path = folder / value
    return str(path.absolute()) if is_file(path) or ("/" in value and is_folder(path)) else located(value, folder)
