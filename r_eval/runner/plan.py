"""Resolves a grid: every name becomes the thing that it stands for, every cell gets its questions and fingerprint.

Everything that can be wrong with a grid is found here, before anything is written or any LLM is asked.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.conditions.combined import CLEAN, Combined, combine
from r_eval.environments.opening import located as located_environment
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
from r_eval.grid import Grid, TaskEntry, WorkflowEntry
from r_eval.llms.base import LLM, make_llm
from r_eval.records import SCHEMA, Question
from r_eval.runner.data import data_task, has_noise, remade_task
from r_eval.runner.named import located, located_settings, own_name, workflow_class
from r_eval.tasks.base import Task, custom, installed, matching, open_environment
from r_eval.tasks.questions import choose, read_questions
from r_eval.vary import Sweep, expand
from r_eval.workflows.base import Limits, Workflow, prompt_text
from r_eval.workflows.base import make as make_workflow

NO_LLM = "none"


@dataclasses.dataclass(frozen=True)
class PlannedTask:
    """A task with its environment, and what the grid's seed, shots and samples chose from it.

    Attributes:
        asked: As they are asked under the cell's condition.
        home: The environment over which the demonstrations are worked out, where it is another one.
        replaced: Hash of the settings of environment and task that a workflow replaces; empty where it replaces none.
        settings: The environment's.
        dropped: How many questions the condition drops.
        given: The questions as the task has them, by their ids, where a condition changes them.
    """

    task: Task
    environment: Environment
    asked: tuple[Question, ...]
    shown: tuple[Question, ...]
    home: Environment | None = None
    replaced: str = ""
    dropped: int = 0
    given: Mapping[str, Question] = dataclasses.field(default_factory=dict)
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def by_id(self) -> dict[str, Question]:
        """The questions by their ids."""
        return {question.id: question for question in self.asked}

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
        parts = {"": self.environment.version, "APIs": _apis_hash(self.environment)}
        if cls.__module__.startswith("r_eval.") and not cls.__module__.startswith("r_eval.environments.tools"):
            parts["settings"] = short_hash(self.settings)  # the files are part of its version
        else:
            parts |= settings_hashes({**default_files(cls), **self.settings})
        parts |= with_prefix("code", code_hashes(cls, Environment) | script_hashes(self.task.environment))
        home = {"of the demonstrations": self.home.version} if self.home else {}
        return with_prefix("environment", parts | home)


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
        said = "; ".join(f"{number} x {why}" for why, number in self.reasons.items())
        skipped = ", and the task is skipped under it" if self.dropped == self.questions else ""
        drops = f"the condition '{self.condition}' drops {self.dropped} of {self.questions} questions"
        return f"task '{self.task}': {drops}{skipped}{f': {said}' if said else ''}"


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
    prompt_text.cache_clear()
    entries, sweep = expand(grid.vary, grid.workflows)
    workflows = _workflows(entries, grid.folder)
    needed = any(w.uses_llm for w in workflows.values())
    llms = _llms(grid) if needed else {}
    tasks = _PlannedTasks(list(_tasks(grid, limit, {})), entries, grid, limit)
    conditions = _conditions(grid)
    limits = Limits(**grid.limits.model_dump())
    cells = tuple(_cells(grid, workflows, llms, tasks, conditions, limits, sweep))
    drops = tuple(tasks.drops.values())
    if not cells:
        why = "".join(f"\n  {drop}" for drop in drops) or " exclude leaves everything out"
        raise UserError(f"the grid has no cell left:{why}")
    _check_files(cells)
    return Plan(grid, llms, tasks.firsts(), cells, limits, sweep, drops)


def _conditions(grid: Grid) -> list[Combined]:
    found: dict[str, Combined] = {}
    for entry in grid.conditions:
        name = own_name(entry, entry.given, found, "condition")
        found[name] = combine(name, [located(kind, grid.folder) for kind in entry.kinds], entry.settings)
    for name, condition in found.items():
        if (name == CLEAN.name) != (not condition.parts):
            raise UserError(f"condition '{name}': {CLEAN.name} is the name of the bare environment, and its only one")
    return list(found.values())


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


def _workflows(entries: Iterable[WorkflowEntry], folder: Path) -> dict[str, Workflow]:
    found: dict[str, Workflow] = {}
    for entry in entries:
        name = own_name(entry, entry.workflow, found, "workflow")
        cls, settings = workflow_class(entry, folder)
        if entry.environment and not cls.uses_tools:
            raise UserError(f"workflow '{name}' calls no query API, so it has no settings of an environment")
        found[name] = make_workflow(cls, name, settings)
    return found


def _llms(grid: Grid) -> dict[str, LLM]:
    found: dict[str, LLM] = {}
    for entry in grid.llms:
        name = own_name(entry, entry.llm, found, "LLM")
        if name == NO_LLM:
            raise UserError(f"the LLM '{entry.llm}' cannot be called '{NO_LLM}', which stands for no LLM at all")
        prefix, _, model = entry.llm.partition("/")
        if prefix == "scripted" or (prefix == "gguf" and model.endswith(".gguf")):
            model = located(model, grid.folder)
        llm = make_llm(f"{prefix}/{model}" if model else entry.llm, entry.settings)
        llm.name, llm.spec = name, entry.llm
        found[name] = llm
    return found


def _tasks(grid: Grid, limit: int | None, noise: Mapping[str, int]) -> Iterator[Task]:
    """The tasks of a grid; those that have `noise`, with a workflow's own."""
    seen: set[str] = set()
    for entry in grid.tasks:
        for task in _named_tasks(entry, grid, limit, noise):
            if task.name in seen:
                raise UserError(f"the task '{task.name}' stands twice in the grid")
            seen.add(task.name)
            yield task


def _named_tasks(entry: TaskEntry, grid: Grid, limit: int | None, noise: Mapping[str, int]) -> Iterator[Task]:
    varied = {"noise": {**(entry.noise or {}), **noise}} if noise else {}
    changes: dict[str, Any] = {k: v for k in ("metric", "instruction") if (v := getattr(entry, k)) is not None}
    if entry.environment is not None:
        changes["environment"] = located_environment(entry.environment.environment, grid.folder)
        changes["settings"] = located_settings(entry.environment.settings, grid.folder)
    if entry.data is not None:
        own_noise = varied if has_noise(entry) else {}
        yield data_task(entry.model_copy(update=own_noise), grid, limit, changes)
        return
    if entry.questions is None:
        if entry.demonstrations is not None:
            raise UserError(f"task '{entry.task}': demonstrations: goes with questions: FILE.jsonl, which is missing")
        for name in matching(entry.task):
            own = installed(name)
            settings = {**entry.of_data, **(varied if has_noise(own) else {})}
            if settings:
                own = remade_task(own, settings)
            if "environment" in changes:
                changes["home"] = own.environment
            yield dataclasses.replace(own, **changes)
        return
    if entry.environment is None:
        raise UserError(f"task '{entry.task}': a question file needs the environment: that it is asked over")
    shown = read_questions(grid.folder / entry.demonstrations) if entry.demonstrations else []
    questions = read_questions(grid.folder / entry.questions)
    yield dataclasses.replace(custom(entry.task, questions, "", shown), **changes)


class _PlannedTasks:
    """The tasks of a grid as its workflows meet them; each environment is opened once for the same settings."""

    def __init__(self, tasks: Sequence[Task], entries: Sequence[WorkflowEntry], grid: Grid, limit: int | None) -> None:
        self.tasks, self._grid = tasks, grid
        self._replaced = {entry.name or entry.workflow: entry.environment or {} for entry in entries}
        self._noise = {entry.name or entry.workflow: entry.noise or {} for entry in entries}
        self._chosen = {("", task.name): (task, *_choose(task, grid, limit)) for task in tasks}
        for noise in filter(None, self._noise.values()):
            own = list(_tasks(grid, limit, noise))
            if not (any(map(has_noise, grid.tasks)) or any(map(has_noise, own))):
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
        replaced = short_hash([settings, noise]) if settings or noise else ""
        if (task.name, replaced) not in self._planned:
            task, asked, shown = self._chosen[short_hash(noise) if noise else "", task.name]
            over = {**task.settings, **located_settings(settings, self._grid.folder)}
            environment = self._opened(task.environment, over)
            home = self._home(task, bool(settings)) if shown else None
            planned = PlannedTask(task, environment, asked, shown, home, replaced, settings=over)
            self._planned[task.name, replaced] = planned
        return self._planned[task.name, replaced]

    def under(self, condition: Combined, workflow: str, task: Task) -> PlannedTask:
        """A task as a workflow meets it under a condition; without any question where the condition drops them all."""
        planned = self.of(workflow, task)
        if not condition.changes_questions:
            return planned
        key = (task.name, planned.replaced, condition.name)
        if key not in self._under:
            over = planned.environment
            before = condition.dropped()
            made = [condition.question(question, over.for_documents(question.context)) for question in planned.asked]
            asked = tuple(question for question in made if question is not None)
            given = {question.id: question for question in planned.asked}
            lost = len(made) - len(asked)
            self._under[key] = dataclasses.replace(planned, asked=asked, dropped=lost, given=given)
            if len(asked) < len(made):
                reasons = dict((condition.dropped() - before).most_common())
                self.drops[key] = Drop(condition.name, task.name, len(made), lost, reasons)
        return self._under[key]

    def _home(self, task: Task, replaced: bool) -> Environment | None:
        """Where the demonstrations are worked out: over what the task itself says, so that all see the same ones."""
        if task.home:
            return self._opened(task.home, installed(task.name).settings)
        return self._opened(task.environment, task.settings) if replaced else None

    def _opened(self, name: str, settings: Mapping[str, Any]) -> Environment:
        key = short_hash([name, settings])
        if key not in self._environments:
            self._environments[key] = open_environment(name, settings)
        return self._environments[key]


def _choose(task: Task, grid: Grid, limit: int | None) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
    """The questions of a task that are asked, and those that are shown."""
    from r_eval.analysis import metrics

    metrics.get(task.metric)
    samples = min(n for n in (limit, grid.samples, len(task.questions)) if n is not None)
    shots = grid.shots if task.demonstrations else 0
    try:
        asked, shown = choose(task.questions, task.demonstrations, grid.seed, shots, samples)
    except UserError as error:
        raise UserError(f"task '{task.name}': {error}") from None
    return tuple(asked), tuple(shown)


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
                    if not planned.asked:
                        continue  # said in the plan's drops
                    llm = llms[llm_name].identity() if workflow.uses_llm else None
                    parts = {
                        "schema": str(SCHEMA),
                        **_workflow_parts(workflow),
                        "llm": short_hash(llm),
                        "task": planned.task_version,
                        **planned.environment_parts,
                        "condition": short_hash(condition.identity()),
                        "limits": short_hash(dataclasses.asdict(limits)),
                        "shots": short_hash([q.id for q in planned.shown]),
                        "seed": str(grid.seed),
                    }
                    yield PlannedCell(cell, workflow, planned, parts, condition)


def _workflow_parts(workflow: Workflow) -> dict[str, str]:
    identity = workflow.identity()
    files = [with_prefix(kind, identity.pop(kind)) for kind in ("code", "prompt")]
    return with_prefix("workflow", {"": short_hash(identity), **files[0], **files[1]})


def _apis_hash(environment: Environment) -> str:
    """Hash of what LLMs are shown of an environment."""
    specs = environment.specs().values()
    return short_hash([environment.description, [[s.stub(), s.details, s.json_schema()] for s in specs]])


def _matches(cell: Cell, rule: Any) -> bool:
    return all(
        fnmatch.fnmatchcase(getattr(cell, key), getattr(rule, key)) for key in ("workflow", "llm", "task", "condition")
    )
