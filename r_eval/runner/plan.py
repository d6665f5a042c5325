"""Resolves a grid: every name becomes the thing that it stands for, every cell gets its questions and fingerprint.

Everything that can be wrong with a grid is found here, before anything is written or any LLM is asked.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.conditions.combined import CLEAN, Combined
from r_eval.errors import UserError
from r_eval.fingerprints import (
    code_hashes,
    default_files,
    script_hashes,
    settings_hashes,
    short_hash,
    with_prefix,
    without_folders,
)
from r_eval.folder import Cell
from r_eval.grid import Grid, WorkflowEntry
from r_eval.llms.base import LLM
from r_eval.records import SCHEMA, Question
from r_eval.runner import named
from r_eval.runner.named import NO_LLM, located_settings
from r_eval.tasks.base import Task, installed, open_environment
from r_eval.tasks.questions import choose
from r_eval.vary import Sweep, expand
from r_eval.workflows.base import Limits, Workflow, prompt_text


@dataclasses.dataclass(frozen=True)
class PlannedTask:
    """A task with its environment, and what the grid's seed, shots and samples chose from it.

    Attributes:
        questions: As they are asked under the cell's condition.
        demo_environment: Over which the demonstrations are worked out, where it is another one.
        overrides_hash: Of the settings of environment and task that a workflow replaces; empty where it replaces none.
        settings: The environment's.
        unsuited: Ids of demonstrations that are left out, since they call what the environment does not offer.
        dropped: How many questions the condition drops.
        original_questions: As the task has them, by their ids, where a condition changes them.
    """

    task: Task
    environment: Environment
    questions: tuple[Question, ...]
    demonstrations: tuple[Question, ...]
    demo_environment: Environment | None = None
    overrides_hash: str = ""
    dropped: int = 0
    original_questions: Mapping[str, Question] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unsuited: tuple[str, ...] = ()

    @functools.cached_property
    def takes_documents(self) -> bool:
        """Whether the questions' own documents can be found through the query APIs."""
        return type(self.environment).for_documents is not Environment.for_documents

    @functools.cached_property
    def passages(self) -> str:
        """Where the questions' own documents are: "prompt", "environment" or "none"."""
        return self.task.usual_passages or ("environment" if self.takes_documents else "prompt")

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """The numbers of the questions by their ids."""
        return {question.id: number for number, question in enumerate(self.questions)}

    @functools.cached_property
    def task_version(self) -> str:
        """That of the task, wherever the file of its environment lies."""
        name = without_folders(self.task.environment)
        same = name == self.task.environment
        return (self.task if same else dataclasses.replace(self.task, environment=name)).version

    @functools.cached_property
    def environment_parts(self) -> dict[str, str]:
        """The parts of a fingerprint that are of the environment: its version, what LLMs are shown of it, its settings,
        its code, and the files that its settings name.
        """
        cls = type(self.environment)
        apis = [[s.stub(), s.details, s.json_schema()] for s in self.environment.specs().values()]
        parts = {"": self.environment.version, "APIs": short_hash([self.environment.description, apis])}
        if cls.__module__.startswith("r_eval.") and not cls.__module__.startswith("r_eval.environments.tools"):
            parts["settings"] = short_hash(self.settings)  # the files are part of its version
        else:
            parts |= settings_hashes({**default_files(cls), **self.settings})
        parts |= with_prefix("code", code_hashes(cls, Environment) | script_hashes(self.task.environment))
        if self.demo_environment:
            parts["of the demonstrations"] = self.demo_environment.version
        return with_prefix("environment", parts)


@dataclasses.dataclass(frozen=True)
class Drop:
    """Questions of a task that a condition cannot ask; a task that loses all of them is skipped under it.

    Attributes:
        questions: How many the grid asks of the task.
        reasons: How many were dropped for each reason that the condition gives.
    """

    condition: str
    task: str
    questions: int
    dropped: int
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        """One line for people."""
        reasons = "; ".join(f"{number} x {why}" for why, number in self.reasons.items())
        skipped = ", and the task is skipped under it" if self.dropped == self.questions else ""
        drops = f"the condition '{self.condition}' drops {self.dropped} of {self.questions} questions"
        return f"task '{self.task}': {drops}{skipped}{f': {reasons}' if reasons else ''}"


@dataclasses.dataclass(frozen=True)
class PlannedCell:
    """A cell with everything needed to run its episodes; `parts` are the hashes that make its fingerprint."""

    cell: Cell
    workflow: Workflow
    planned: PlannedTask
    parts: dict[str, str]
    condition: Combined = CLEAN

    @functools.cached_property
    def fingerprint(self) -> str:
        return short_hash(self.parts)


@dataclasses.dataclass(frozen=True)
class Plan:
    """A grid, resolved.

    Attributes:
        llms: By the name that the grid gives them, in its order; not opened yet.
        tasks: Each once; a cell's own has the environment as its workflow sets it.
        cells: In the grid's order.
        sweep: What the grid varies.
        drops: What conditions leave out of tasks, each once.
    """

    grid: Grid
    llms: dict[str, LLM]
    tasks: tuple[PlannedTask, ...]
    cells: tuple[PlannedCell, ...]
    limits: Limits
    sweep: Sweep | None = None
    drops: tuple[Drop, ...] = ()

    def episodes(self) -> int:
        """How many episodes the whole grid has."""
        return sum(len(c.planned.questions) for c in self.cells) * self.grid.epochs

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
    prompt_text.cache_clear()
    found = list(named.tasks(grid, limit))
    entries, sweep = expand(grid.vary, grid.workflows)
    workflows = named.workflows(entries, grid)
    needed = any(w.uses_llm for w in workflows.values())
    llms = named.llms(grid) if needed else {}
    tasks = _PlannedTasks(found, entries, grid, limit)
    conditions = named.conditions(grid)
    limits = Limits(**grid.limits.model_dump())
    cells = tuple(_cells(grid, workflows, llms, tasks, conditions, limits, sweep))
    drops = tuple(tasks.drops.values())
    if not cells:
        why = "".join(f"\n  {drop}" for drop in drops) or " exclude leaves everything out"
        raise UserError(f"the grid has no cell left:{why}")
    _check_files(cells)
    return Plan(grid, llms, tasks.firsts(), cells, limits, sweep, drops)


def _check_files(cells: Iterable[PlannedCell]) -> None:
    """See that no two cells are kept in the same file: names that differ may be written alike in a path."""
    seen: dict[Path, Cell] = {}
    for planned in cells:
        cell = planned.cell
        other = seen.setdefault(cell.path(Path()), cell)
        if other != cell:
            pairs = ((getattr(other, key), getattr(cell, key)) for key in ("system", "task", "condition"))
            one, two = next((one, two) for one, two in pairs if one != two)
            raise UserError(f"'{one}' and '{two}' would be kept in the same file; give one of them another name")


class _PlannedTasks:
    """The tasks of a grid as its workflows meet them; each environment is opened once for the same settings."""

    def __init__(self, tasks: Sequence[Task], entries: Sequence[WorkflowEntry], grid: Grid, limit: int | None) -> None:
        self.tasks, self._grid = tasks, grid
        self._replaced = {entry.name or entry.workflow: entry.environment or {} for entry in entries}
        self._noise = {entry.name or entry.workflow: entry.noise or {} for entry in entries}
        self._chosen = {("", task.name): (task, *_choose(task, grid, limit)) for task in tasks}
        for noise in filter(None, self._noise.values()):
            own = list(named.tasks(grid, limit, noise))
            if not any(map(named.has_noise, grid.tasks)) and not any(map(named.has_noise, own)):
                raise UserError("noise: no task of the grid has noise of several levels")
            self._chosen |= {(short_hash(noise), task.name): (task, *_choose(task, grid, limit)) for task in own}
        self._planned: dict[tuple[str, str], PlannedTask] = {}
        self._under: dict[tuple[str, str, str], PlannedTask] = {}
        self._environments: dict[str, Environment] = {}
        self.drops: dict[tuple[str, str, str], Drop] = {}

    def firsts(self) -> tuple[PlannedTask, ...]:
        """Each task once, as the first workflow meets it."""
        first = next(iter(self._replaced))
        return tuple(self.of(first, task) for task in self.tasks)

    def of(self, workflow: str, task: Task) -> PlannedTask:
        """A task as a workflow meets it."""
        settings, noise = self._replaced[workflow], self._noise[workflow]
        key = (task.name, short_hash([settings, noise]) if settings or noise else "")
        if key not in self._planned:
            task, questions, demonstrations = self._chosen[short_hash(noise) if noise else "", task.name]
            over = {**task.settings, **located_settings(settings, self._grid.folder)}
            numbers = [n for n, entry in enumerate(self._grid.tasks) if fnmatch.fnmatchcase(task.name, entry.task)]
            with self._grid.located("tasks", *numbers[:1]):
                environment = self._opened(task.environment, over)
            other = self._demo_environment(task, bool(settings)) if demonstrations else None
            unsuited = [
                q.id for q in demonstrations if other and not _can_make_calls(q.program or "", other, environment)
            ]
            chosen = (questions, tuple(q for q in demonstrations if q.id not in unsuited), other, key[1])
            self._planned[key] = PlannedTask(task, environment, *chosen, settings=over, unsuited=tuple(unsuited))
        return self._planned[key]

    def under(self, condition: Combined, workflow: str, task: Task) -> PlannedTask:
        """A task as a workflow meets it under a condition; without any question where the condition drops them all."""
        planned = self.of(workflow, task)
        if not condition.changes_questions:
            return planned
        key = (task.name, planned.overrides_hash, condition.name)
        if key not in self._under:
            environment, before = planned.environment, condition.dropped()
            made = [condition.question(q, environment.for_documents(q.context)) for q in planned.questions]
            questions = tuple(question for question in made if question is not None)
            originals = {question.id: question for question in planned.questions}
            lost = len(made) - len(questions)
            self._under[key] = dataclasses.replace(
                planned, questions=questions, dropped=lost, original_questions=originals
            )
            if lost:
                reasons = dict((condition.dropped() - before).most_common())
                self.drops[key] = Drop(condition.name, task.name, len(made), lost, reasons)
        return self._under[key]

    def _demo_environment(self, task: Task, replaced: bool) -> Environment | None:
        """Where the demonstrations are worked out: over what the task itself says, so that all see the same ones."""
        if task.home:
            return self._opened(task.home, installed(task.name).settings)
        return self._opened(task.environment, task.settings) if replaced else None

    def _opened(self, name: str, settings: Mapping[str, Any]) -> Environment:
        key = short_hash([name, settings])
        if key not in self._environments:
            self._environments[key] = open_environment(name, settings)
        return self._environments[key]


def _can_make_calls(program: str | None, home: Environment, environment: Environment) -> bool:
    """Whether an environment offers what a program for another one calls, with the same parameters."""
    called = home.specs().keys() & set(re.findall(r"\b(\w+)\s*\(", program or ""))
    offered = environment.specs()
    parameters = ([[p.name for p in specs[api].parameters] for specs in (home.specs(), offered)] for api in called)
    return called <= offered.keys() and all(own == other for own, other in parameters)


def _choose(task: Task, grid: Grid, limit: int | None) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """The questions of a task that are asked, and those that are shown."""
    samples = min(n for n in (limit, grid.samples, len(task.questions)) if n is not None)
    shots = grid.shots if task.demonstrations else 0
    try:
        questions, demonstrations = choose(task.questions, task.demonstrations, grid.seed, shots, samples)
    except UserError as error:
        raise UserError(f"task '{task.name}': {error}") from None
    return tuple(questions), tuple(demonstrations)


def _cells(
    grid: Grid,
    workflows: dict[str, Workflow],
    llms: dict[str, LLM],
    tasks: _PlannedTasks,
    conditions: Sequence[Combined],
    limits: Limits,
    sweep: Sweep | None,
) -> Iterator[PlannedCell]:
    for workflow_name, workflow in workflows.items():
        names = list(llms) if workflow.uses_llm else [NO_LLM]
        for llm_name in names:
            if sweep is not None and not sweep.has(workflow_name, llm_name, names[0]):
                continue
            for task in tasks.tasks:
                for condition in conditions:
                    cell = Cell(workflow_name, llm_name, condition.name, task.name)
                    if any(_matches(cell, rule) for rule in grid.exclude):
                        continue
                    planned = tasks.under(condition, workflow_name, task)
                    if not planned.questions:
                        continue  # said in the plan's drops
                    llm = llms[llm_name].identity() if workflow.uses_llm else None
                    parts = {
                        "schema": str(SCHEMA),
                        **_workflow_parts(workflow),
                        "llm": short_hash(llm),
                        "task": planned.task_version,
                        **planned.environment_parts,
                        "condition": short_hash(condition.identity()),
                        "passages": planned.passages,
                        "limits": short_hash(dataclasses.asdict(limits)),
                        "shots": short_hash([q.id for q in planned.demonstrations]),
                        "seed": str(grid.seed),
                    }
                    yield PlannedCell(cell, workflow, planned, parts, condition)


def _workflow_parts(workflow: Workflow) -> dict[str, str]:
    identity = workflow.identity()
    files = [with_prefix(kind, identity.pop(kind)) for kind in ("code", "prompt")]
    return with_prefix("workflow", {"": short_hash(identity), **files[0], **files[1]})


def _matches(cell: Cell, rule: Any) -> bool:
    return all(
        fnmatch.fnmatchcase(getattr(cell, key), getattr(rule, key)) for key in ("workflow", "llm", "task", "condition")
    )
