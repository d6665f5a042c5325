"""Resolves a grid: every name becomes the thing that it stands for, every cell gets its questions and fingerprint.

Everything that can be wrong with a grid is found here, before anything is written or any LLM is asked.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.environments.base import Environment
from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.folder import Cell
from r_eval.grid import Grid, LLMEntry, TaskEntry, WorkflowEntry
from r_eval.llms.base import LLM
from r_eval.llms.make import make as make_llm
from r_eval.records import SCHEMA, Question
from r_eval.runner.data import data_task
from r_eval.tasks.base import Task, custom, installed, matching, open_environment
from r_eval.tasks.questions import choose, read_questions
from r_eval.workflows.base import Limits, Workflow
from r_eval.workflows.base import make as make_workflow

NO_LLM = "none"
CONDITIONS = ("clean",)


@dataclasses.dataclass(frozen=True)
class PlannedTask:
    """A task with its environment, and what the grid's seed, shots and samples chose from it.

    Attributes:
        home: The environment over which the demonstrations are worked out, where it is another one.
    """

    task: Task
    environment: Environment
    asked: tuple[Question, ...]
    shown: tuple[Question, ...]
    home: Environment | None = None


@dataclasses.dataclass(frozen=True)
class PlannedCell:
    """A cell with everything needed to run its episodes; `parts` are the hashes that make its fingerprint."""

    cell: Cell
    workflow: Workflow
    planned: PlannedTask
    parts: dict[str, str]

    @functools.cached_property
    def fingerprint(self) -> str:
        return short_hash(self.parts)


@dataclasses.dataclass(frozen=True)
class Plan:
    """A grid, resolved.

    Attributes:
        llms: By the name that the grid gives them, in its order; not opened yet.
        cells: In the grid's order.
    """

    grid: Grid
    llms: dict[str, LLM]
    tasks: tuple[PlannedTask, ...]
    cells: tuple[PlannedCell, ...]
    limits: Limits

    def episodes(self) -> int:
        """How many episodes the whole grid has."""
        return sum(len(c.planned.asked) for c in self.cells) * self.grid.epochs

    def llm_cells(self, llm: str) -> list[PlannedCell]:
        """The cells that one LLM answers."""
        return [c for c in self.cells if c.cell.llm == llm]


def resolve(grid: Grid, limit: int | None = None) -> Plan:
    """Find everything that a grid names.

    Args:
        limit: Keep only the first so many questions of every task.

    Raises:
        UserError: A name is unknown, a file is wrong, or no cell is left.
    """
    workflows = _workflows(grid)
    needed = any(w.uses_llm for w in workflows.values())
    llms = _llms(grid) if needed else {}
    environments: dict[str, Environment] = {}
    tasks = tuple(_plan_task(task, grid, limit, environments) for task in _tasks(grid, limit))
    _check_conditions(grid)
    limits = Limits(**grid.limits.model_dump())
    cells = tuple(_cells(grid, workflows, llms, tasks, limits))
    if not cells:
        raise UserError("the grid has no cell left: exclude leaves everything out")
    _check_files(cells)
    return Plan(grid, llms, tasks, cells, limits)


def _check_conditions(grid: Grid) -> None:
    seen: set[str] = set()
    for entry in grid.conditions:
        name = entry.condition
        if name not in CONDITIONS:
            raise UserError(plugins.unknown("condition", name, CONDITIONS))
        for key in entry.settings:
            raise UserError(f"condition '{name}': {plugins.unknown('setting', key, ())}")
        if name in seen:
            raise UserError(f"the condition '{name}' stands twice in the grid")
        seen.add(name)


def _check_files(cells: Iterable[PlannedCell]) -> None:
    """See that no two cells are kept in the same file: names that differ may be written alike in a path."""
    seen: dict[Path, Cell] = {}
    for planned in cells:
        cell = planned.cell
        other = seen.setdefault(cell.path(Path()), cell)
        if other != cell:
            one, two = (other.system, cell.system) if other.system != cell.system else (other.task, cell.task)
            raise UserError(f"'{one}' and '{two}' would be kept in the same file; give one of them another name")


def _workflows(grid: Grid) -> dict[str, Workflow]:
    found: dict[str, Workflow] = {}
    for entry in grid.workflows:
        name = _own_name(entry, entry.workflow, found, "workflow")
        kind, settings = _located(entry.workflow, grid.folder), entry.settings
        prefix, slash, agent = entry.workflow.partition("/")
        if slash and prefix == "langgraph":
            kind, settings = prefix, {"agent": _located(agent, grid.folder), **settings}
        cls: type[Workflow] = plugins.load("workflows", kind, Workflow)
        found[name] = make_workflow(cls, name, settings)
    return found


def _llms(grid: Grid) -> dict[str, LLM]:
    found: dict[str, LLM] = {}
    for entry in grid.llms:
        name = _own_name(entry, entry.llm, found, "LLM")
        if name == NO_LLM:
            raise UserError(f"the LLM '{entry.llm}' cannot be called '{NO_LLM}', which stands for no LLM at all")
        prefix, _, model = entry.llm.partition("/")
        if prefix == "scripted" or (prefix == "gguf" and model.endswith(".gguf")):
            model = _located(model, grid.folder)
        llm = make_llm(f"{prefix}/{model}" if model else entry.llm, entry.settings)
        llm.name, llm.given = name, entry.llm
        found[name] = llm
    return found


def _own_name(entry: LLMEntry | WorkflowEntry, given: str, taken: dict[str, Any], kind: str) -> str:
    name = entry.name or given
    if name in taken:
        raise UserError(f"the {kind} '{name}' stands twice in the grid; give one of them a name: of its own")
    return name


def _located(name: str, folder: Path) -> str:
    """A file's path in a grid, seen from the grid's folder."""
    path = name.partition(":")[0]
    if path.endswith((".py", ".gguf")) and not Path(path).is_absolute() and (folder / path).exists():
        return str(folder / name)
    return name


def _tasks(grid: Grid, limit: int | None) -> Iterator[Task]:
    seen: set[str] = set()
    for entry in grid.tasks:
        for task in _named_tasks(entry, grid, limit):
            if task.name in seen:
                raise UserError(f"the task '{task.name}' stands twice in the grid")
            seen.add(task.name)
            yield task


def _named_tasks(entry: TaskEntry, grid: Grid, limit: int | None) -> Iterator[Task]:
    changes: dict[str, Any] = {k: v for k in ("metric", "instruction") if (v := getattr(entry, k)) is not None}
    if entry.environment is not None:
        changes["environment"] = located(entry.environment.environment, grid.folder)
        changes["settings"] = _located_settings(entry.environment.settings, grid.folder)
    if entry.data is not None:
        yield data_task(entry, grid, limit, changes)
        return
    if entry.questions is None:
        if entry.demonstrations is not None:
            raise UserError(f"task '{entry.task}': demonstrations: goes with questions: FILE.jsonl, which is missing")
        for name in matching(entry.task):
            own = installed(name)
            if "environment" in changes:
                changes["home"] = own.environment
            yield dataclasses.replace(own, **changes)
        return
    if entry.environment is None:
        raise UserError(f"task '{entry.task}': a question file needs the environment: that it is asked over")
    shown = read_questions(grid.folder / entry.demonstrations) if entry.demonstrations else []
    questions = read_questions(grid.folder / entry.questions)
    yield dataclasses.replace(custom(entry.task, questions, "", shown), **changes)


def _located_settings(settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Settings in which files are seen from the grid's folder."""
    found = {k: folder / v for k, v in settings.items() if isinstance(v, str) and v and (folder / v).is_file()}
    return {**settings, **{key: str(path) for key, path in found.items()}}


def _plan_task(task: Task, grid: Grid, limit: int | None, environments: dict[str, Environment]) -> PlannedTask:
    from r_eval.analysis import metrics

    metrics.get(task.metric)
    asked_over = _opened(task.environment, task.settings, environments)
    home = _opened(task.home, {}, environments) if task.home else None
    samples = min(n for n in (limit, grid.samples, len(task.questions)) if n is not None)
    shots = grid.shots if task.demonstrations else 0
    try:
        asked, shown = choose(task.questions, task.demonstrations, grid.seed, shots, samples)
    except UserError as error:
        raise UserError(f"task '{task.name}': {error}") from None
    return PlannedTask(task, asked_over, tuple(asked), tuple(shown), home)


def _opened(name: str, settings: Mapping[str, Any], environments: dict[str, Environment]) -> Environment:
    """An environment, opened once for all tasks that name it with the same settings."""
    key = short_hash([name, settings])
    if key not in environments:
        environments[key] = open_environment(name, settings)
    return environments[key]


def _cells(
    grid: Grid, workflows: dict[str, Workflow], llms: dict[str, LLM], tasks: tuple[PlannedTask, ...], limits: Limits
) -> Iterator[PlannedCell]:
    for workflow_name, workflow in workflows.items():
        for llm_name in llms if workflow.uses_llm else [NO_LLM]:
            for planned in tasks:
                for condition in grid.conditions:
                    cell = Cell(workflow_name, llm_name, condition.condition, planned.task.name)
                    if any(_matches(cell, rule) for rule in grid.exclude):
                        continue
                    llm = llms[llm_name].identity() if workflow.uses_llm else None
                    parts = {
                        "schema": str(SCHEMA),
                        "workflow": short_hash(workflow.identity()),
                        "llm": short_hash(llm),
                        "task": planned.task.version,
                        "environment": planned.environment.version,
                        "condition": short_hash(condition.settings),
                        "limits": short_hash(dataclasses.asdict(limits)),
                        "shots": short_hash([q.id for q in planned.shown]),
                        "seed": str(grid.seed),
                    }
                    yield PlannedCell(cell, workflow, planned, parts)


def _matches(cell: Cell, rule: Any) -> bool:
    return all(
        fnmatch.fnmatchcase(getattr(cell, key), getattr(rule, key)) for key in ("workflow", "llm", "task", "condition")
    )


def short_hash(value: Any) -> str:
    """Hash of plain data, the same on every machine."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
