"""The form of run.json, written and read: a damaged or foreign one is refused in words.

More keys than these are let through, and keys that a run of an earlier version lacks have a default.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from r_eval.records import SCHEMA, Count

Number = Annotated[float, Field(ge=0, le=1e15)]


class ManifestPart(BaseModel):
    """Base of all parts of it."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, serialize_by_alias=True)


class CellPart(ManifestPart):
    """A cell: how many episodes it has, and the hashes that make its fingerprint.

    Attributes:
        workflow, llm, condition, task: The cell.
        episodes: How many are to be recorded.
        dropped: Questions that the condition leaves out.
        fingerprint, parts: A hash of everything that decides its episodes; the hashes it is made of.
        skipped: Episodes that are not among them, since the system was stopped early.
    """

    workflow: str
    llm: str
    condition: str
    task: str
    episodes: Count
    dropped: Count = Field(default=0, exclude_if=operator.not_)
    skipped: Count = Field(default=0, exclude_if=operator.not_)
    fingerprint: str = ""
    parts: dict[str, str] = {}


class SystemPart(ManifestPart):
    """A workflow x LLM pair.

    Attributes:
        name, workflow, llm: The system, `<workflow>+<llm>`, and its halves.
        reference: Whether its workflow sees the gold, so that it is not ranked.
    """

    name: str
    workflow: str
    llm: str
    reference: bool = Field(default=False, exclude_if=operator.not_)


class TaskPart(ManifestPart):
    """A task.

    Attributes:
        name, id, title: Its name, its number in the paper, a line about it.
        domain, level, metric: Of its questions, and of their scores.
        questions, demonstrations: How many questions; the ids of the demonstrations.
        data: What is known of the data file that its questions are from.
    """

    name: str
    id: str | None = Field(default=None, exclude_if=operator.not_)
    title: str | None = Field(default=None, exclude_if=operator.not_)
    domain: str | None = Field(default=None, exclude_if=operator.not_)
    level: str | None = Field(default=None, exclude_if=operator.not_)
    metric: str | None = Field(default=None, exclude_if=operator.not_)
    questions: Count | None = None
    demonstrations: list[str] | None = Field(default=None, exclude_if=lambda ids: ids is None)
    data: dict[str, Any] | None = Field(default=None, exclude_if=operator.not_)


class LLMPart(ManifestPart):
    """An LLM.

    Attributes:
        connections: Requests in flight at once.
        adaptations: What was sent differently from what the grid says, and why.
        unavailable: Why it could not be used.
    """

    connections: Count | None = Field(default=None, exclude_if=operator.not_)
    adaptations: dict[str, str] = Field(default={}, exclude_if=operator.not_)
    unavailable: str | None = Field(default=None, exclude_if=operator.not_)


class SpentPart(ManifestPart):
    """What was really asked of an LLM.

    Attributes:
        calls, tokens: Calls that the server answered, and their tokens.
        cached: Replies that were there from earlier runs.
        cost: USD of the calls; null where no price is known.
    """

    model_config = ConfigDict(extra="forbid")

    calls: Count = 0
    cached: Count = 0
    cost: Number | None = 0.0
    tokens: Count = 0


class WorkflowPart(ManifestPart):
    """A workflow's entry in the grid."""

    workflow: str
    name: str | None = None


class GridPart(ManifestPart):
    """The grid as resolved."""

    tasks: list[dict[str, Any]] = []
    llms: list[dict[str, Any]] = []
    workflows: list[WorkflowPart] = []
    shots: Annotated[int, Field(ge=0, le=10**6)] = 0


class VaryPart(ManifestPart):
    """What the grid varies."""

    workflows: dict[str, dict[str, Any]] = {}
    base: str = ""


class ReachedPart(ManifestPart):
    """A budget that holds episodes back, in words."""

    text: str


class DroppedPart(ManifestPart):
    """How many of a task's questions a condition cannot ask."""

    condition: str
    task: str
    questions: Count
    dropped: Count


class StoppedPart(ManifestPart):
    """A system that got no further questions under a condition, after how many of how many, and why in words.

    Attributes:
        behind: A system that is certainly ahead of it; "" where it is one of the best, or goes along with them.
    """

    system: str
    condition: str
    after: Count
    of: Count
    behind: str = ""
    text: str


class Manifest(ManifestPart):
    """A run's record of itself.

    Attributes:
        schema_: Version of this schema.
        name, seed, grid, vary: Of the grid, and the grid as resolved.
        id: Under which replies are kept for the resume of the run.
        created, updated: When.
        state: `running`, `complete`, `incomplete` (infrastructure failures are left to retry), `interrupted`, `budget`.
        budget: Budgets that are used up, in words.
        versions: Of R-Eval and of what it is built on.
        systems, llms, tasks, conditions, cells: What runs.
        spent: By LLM, what was really asked and paid.
        seconds: How long it has gone on, earlier sessions included.
        dropped: What conditions leave out of tasks.
        stopped: Systems that early stopping asked no further.
        left_out: Cells of earlier grids in the folder that the present one lacks.
    """

    schema_: int = Field(default=SCHEMA, alias="schema", ge=0, le=SCHEMA)
    name: str
    id: str = ""
    created: str = ""
    updated: str = ""
    state: str
    budget: list[ReachedPart] = Field(default=[], exclude_if=operator.not_)
    versions: dict[str, str] = {}
    seed: int | None = None
    grid: GridPart = GridPart()
    vary: VaryPart | None = Field(default=None, exclude_if=operator.not_)
    systems: list[SystemPart] = []
    llms: dict[str, LLMPart] = {}
    tasks: list[TaskPart]
    conditions: list[str] = []
    cells: list[CellPart]
    dropped: list[DroppedPart] = Field(default=[], exclude_if=operator.not_)
    stopped: list[StoppedPart] = Field(default=[], exclude_if=operator.not_)
    spent: dict[str, SpentPart] = {}
    seconds: Number = 0.0
    left_out: list[CellPart] = []

    @model_validator(mode="after")
    def _check_cells(self) -> Self:
        names = {task.name for task in self.tasks}
        cells = {(cell.workflow, cell.llm, cell.condition, cell.task) for cell in self.cells}
        if (len(names), len(cells)) != (len(self.tasks), len(self.cells)):
            raise ValueError("a task or a cell is a duplicate")
        strange = next((cell.task for cell in self.cells if cell.task not in names), None)
        if strange is not None:
            raise ValueError(f"a cell's task {strange!r} is not among the tasks")
        return self

    def text(self) -> str:
        """The content of run.json."""
        return self.model_dump_json(indent=1) + "\n"
