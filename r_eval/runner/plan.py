"""Resolves a grid: every name becomes an object, every cell gets its questions and fingerprint.

Everything that can be wrong with a grid is found here, before anything is written or any LLM is asked.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import itertools
import logging
import re
import unicodedata
from collections.abc import Mapping
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
    without_paths,
)
from r_eval.folder import Cell
from r_eval.grid import Grid, Limits, WorkflowEntry
from r_eval.llms.base import LLM
from r_eval.records import SCHEMA, Question
from r_eval.runner import budget, grid_entries
from r_eval.runner.grid_entries import NO_LLM, located_settings, of_task
from r_eval.tasks.base import Task, installed, open_environment
from r_eval.tasks.questions import choose
from r_eval.vary import Sweep, expand
from r_eval.workflows.base import Workflow, prompt_text

logger = logging.getLogger("r_eval")


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
        return dataclasses.replace(self.task, environment=without_folders(self.task.environment)).version

    @functools.cached_property
    def environment_parts(self) -> dict[str, str]:
        """The parts of a fingerprint that are of the environment: its version, what LLMs are shown of it, its settings,
        its code, and the files that its settings name.
        """
        cls = type(self.environment)
        apis = [[s.stub(), s.details, s.json_schema()] for s in self.environment.specs().values()]
        parts = {"": self.environment.version, "APIs": short_hash([self.environment.description, apis])}
        if cls.__module__.startswith("r_eval.") and not cls.__module__.startswith("r_eval.environments.tools"):
            parts["settings"] = short_hash(without_paths(self.settings))  # the files are part of its version
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
        UserError: A name is unknown, a file is wrong, no cell is left, or a budget cannot be counted.
    """
    prompt_text.cache_clear()
    tasks = _Tasks(grid, limit)
    entries, sweep = expand(grid.vary, grid.workflows)
    workflows = grid_entries.workflows(entries, grid)
    llms = grid_entries.llms(grid) if any(w.uses_llm for w in workflows.values()) else {}
    conditions, limits = grid_entries.conditions(grid), grid.limits
    cells: list[PlannedCell] = []
    unused = set(range(len(grid.exclude)))
    for entry, (name, workflow) in zip(entries, workflows.items(), strict=True):
        names = list(llms) if workflow.uses_llm else [NO_LLM]
        for llm, task, condition in itertools.product(names, tasks.names(entry), conditions):
            cell = Cell(name, llm, condition.name, task)
            if sweep is not None and not sweep.has(name, llm, names[0]):
                continue
            matching = [all(fnmatch.fnmatchcase(getattr(cell, k), p) for k, p in rule) for rule in grid.exclude]
            unused.difference_update(itertools.compress(range(len(matching)), matching))
            if not any(matching):
                planned = tasks.planned(entry, task, condition)
                if planned.questions:
                    parts = _parts(workflow, llms.get(llm), planned, condition, limits, grid.seed)
                    cells.append(PlannedCell(cell, workflow, planned, parts, condition))
    if not cells:
        why = "".join(f"\n  {drop}" for drop in tasks.drops) or " exclude leaves everything out"
        raise UserError(f"the grid has no cell left:{why}")
    for number in sorted(unused):
        logger.warning(f"exclude.{number} leaves nothing out: no cell of the grid matches it")
    files: dict[str, Cell] = {}
    for cell in (planned.cell for planned in cells):
        path = unicodedata.normalize("NFC", str(cell.path(Path()))).casefold()  # as some file systems compare names
        if (other := files.setdefault(path, cell)) != cell:
            pairs = ((getattr(other, key), getattr(cell, key)) for key in ("system", "task", "condition"))
            one, two = next((one, two) for one, two in pairs if one != two)
            raise UserError(f"'{one}' and '{two}' would be kept in the same file; give one of them another name")
    firsts = tuple(tasks.planned(entries[0], name, CLEAN) for name in tasks.names(entries[0]))
    plan = Plan(grid, llms, firsts, tuple(cells), limits, sweep, tuple(tasks.drops))
    budget.check(plan)
    return plan


def _parts(
    workflow: Workflow, llm: LLM | None, planned: PlannedTask, condition: Combined, limits: Limits, seed: int
) -> dict[str, str]:
    """The hashes that make a cell's fingerprint."""
    identity = workflow.identity()
    files = {kind: identity.pop(kind) for kind in ("code", "prompt")}
    own = {"": short_hash(identity), **with_prefix("code", files["code"]), **with_prefix("prompt", files["prompt"])}
    of_llm = llm.identity() if llm else {}
    llm_code = {**script_hashes(llm.model), **of_llm.get("code", {})} if llm else {}
    return {
        "schema": str(SCHEMA),
        **with_prefix("workflow", own),
        **with_prefix("llm", {"": short_hash(of_llm) if llm else "", **with_prefix("code", llm_code)}),
        "task": planned.task_version,
        **planned.environment_parts,
        **with_prefix("condition", condition.fingerprint_parts()),
        "passages": planned.passages,
        "limits": short_hash(limits.model_dump()),
        "shots": short_hash([q.id for q in planned.demonstrations]),
        "seed": str(seed),
    }


class _Tasks:
    """The tasks of a grid as its workflows and conditions meet them; what is the same for several is made once."""

    def __init__(self, grid: Grid, limit: int | None) -> None:
        self._grid, self._limit = grid, limit
        self._chosen: dict[str, dict[str, tuple[Task, tuple[Question, ...], tuple[Question, ...]]]] = {}
        self._planned: dict[tuple[str, ...], PlannedTask] = {}
        self._environments: dict[str, Environment] = {}
        self.drops: list[Drop] = []
        self._tasks({})

    def names(self, entry: WorkflowEntry) -> list[str]:
        """The tasks of a workflow.

        Raises:
            UserError: It has noise, and no task does.
        """
        return list(self._tasks(entry.noise or {}))

    def planned(self, entry: WorkflowEntry, name: str, condition: Combined) -> PlannedTask:
        """A task as a workflow meets it under a condition; without any question where the condition drops them all."""
        overrides = short_hash([entry.environment, entry.noise]) if entry.environment or entry.noise else ""
        key = (name, overrides, condition.name if condition.changes_questions else "")
        if key not in self._planned:
            made = self._bare(entry, name, overrides) if not key[2] else self.planned(entry, name, CLEAN)
            self._planned[key] = self._under(condition, made) if key[2] else made
        return self._planned[key]

    def _tasks(self, noise: Mapping[str, int]) -> dict[str, tuple[Task, tuple[Question, ...], tuple[Question, ...]]]:
        """The tasks by their names, each with the questions that are asked and those that are shown."""
        key = short_hash(noise)
        if key not in self._chosen:
            tasks = list(grid_entries.tasks(self._grid, self._limit, noise))
            has_noise = grid_entries.has_noise
            if noise and not any([*map(has_noise, self._grid.tasks), *map(has_noise, tasks)]):
                raise UserError("noise: no task of the grid has noise of several levels")
            self._chosen[key] = {task.name: (task, *_choose(task, self._grid, self._limit)) for task in tasks}
        return self._chosen[key]

    def _bare(self, entry: WorkflowEntry, name: str, overrides: str) -> PlannedTask:
        task, questions, demonstrations = self._tasks(entry.noise or {})[name]
        settings = {**task.settings, **located_settings(entry.environment or {}, self._grid.folder)}
        numbers = [n for n, own in enumerate(self._grid.tasks) if fnmatch.fnmatchcase(name, own.task)]
        with self._grid.located("tasks", *numbers[:1]):
            environment = self._opened(task.environment, settings)
        home: Environment | None = None  # of the demonstrations: as the task itself says, so that all see the same
        if demonstrations and task.home:
            home = self._opened(task.home, installed(task.name).settings)
        elif demonstrations and entry.environment:
            home = self._opened(task.environment, task.settings)
        unsuited = tuple(q.id for q in demonstrations if home and not _can_make_calls(q.program, home, environment))
        suited = tuple(q for q in demonstrations if q.id not in unsuited)
        return PlannedTask(task, environment, questions, suited, home, overrides, settings=settings, unsuited=unsuited)

    def _under(self, condition: Combined, planned: PlannedTask) -> PlannedTask:
        environment, before = planned.environment, condition.dropped()
        made = [condition.question(q, environment.for_documents(q.context)) for q in planned.questions]
        questions = tuple(question for question in made if question is not None)
        originals, lost = {question.id: question for question in planned.questions}, len(made) - len(questions)
        if lost:
            reasons = dict((condition.dropped() - before).most_common())
            self.drops.append(Drop(condition.name, planned.task.name, len(made), lost, reasons))
        return dataclasses.replace(planned, questions=questions, dropped=lost, original_questions=originals)

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
    with of_task(task.name):
        questions, demonstrations = choose(task.questions, task.demonstrations, grid.seed, shots, samples)
        if not questions:
            raise UserError("every question is shown as a demonstration, and none is left to ask; lower shots:")
    return tuple(questions), tuple(demonstrations)
