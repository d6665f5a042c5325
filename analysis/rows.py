"""What the sums of a run are made of: tasks, and a row for each system under each condition.

Plain data; `aggregate` fills it from a run's scores, `published` from a file of published means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from r_eval.analysis.estimate import Estimate
from r_eval.records import INFRASTRUCTURE_FAILURES

LEVELS = ("KS", "KU", "KA")
Role = Literal["system", "baseline", "reference"]
"""A system uses tools. A baseline does without and is ranked with the systems. A reference sees the gold and is shown
beside the ranking, never in it."""

ALL = "all"


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the aggregates know it; `level` is "" where it is not known."""

    name: str
    id: str = ""
    title: str = ""
    domain: str = ""
    level: str = ""
    metric: str = ""


@dataclass(slots=True)
class Failure:
    """Episodes of one system and task that did not finish, by how they ended."""

    task: str
    outcome: str
    cause: str
    episodes: int

    @property
    def machinery(self) -> bool:
        """Whether the system is not to blame, and the episode is missing from the scores."""
        return self.outcome in INFRASTRUCTURE_FAILURES


@dataclass(slots=True)
class Row:
    """One system under one condition.

    Attributes:
        tasks: By task name; a task outside the system's grid is absent.
        averages: By group: "all", a domain, or "<domain>_<level>".
        ranks: By group; 1 is best, ties share the lower number, None is unranked.
        types: Episodes of each response type.
        recorded: Episodes on disk; `expected` those that the grid asks for.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    tasks: dict[str, Estimate] = field(default_factory=dict)
    averages: dict[str, Estimate] = field(default_factory=dict)
    ranks: dict[str, int | None] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)
    recorded: int = 0
    undecided: int = 0
    unparsed: int = 0
    failures: list[Failure] = field(default_factory=list)
    role: Role = "system"

    @property
    def overall(self) -> Estimate:
        return self.averages[ALL]

    @property
    def reference(self) -> bool:
        """Whether it stands beside the ranking, since it sees the gold."""
        return self.role == "reference"

    def share(self, type_: str) -> float | None:
        """Share of the recorded episodes that are of a response type."""
        return self.types[type_] / self.recorded if self.recorded else None


@dataclass(slots=True)
class Aggregates:
    """All rows of one or more runs over the same tasks.

    Attributes:
        runs: Manifests (run.json) of the runs, in the order given.
        groups: What averages and ranks exist for, in the order of display: each domain's levels, the
            domains, "all".
        scoring: (taxonomy, threshold) pairs that the response types rest on; more than one means that the
            runs were scored differently.
        has_episodes: False for published results, of which only means are known.
    """

    runs: list[dict[str, Any]]
    tasks: list[Task]
    rows: list[Row]
    groups: dict[str, list[str]]
    scoring: list[tuple[str, float]] = field(default_factory=list)
    has_episodes: bool = True

    @property
    def conditions(self) -> list[str]:
        return list(dict.fromkeys(row.condition for row in self.rows))

    @property
    def domains(self) -> list[str]:
        return list(dict.fromkeys(task.domain for task in self.tasks))

    @property
    def row_places(self) -> dict[tuple[str, str], int]:
        """By condition and system, where its row stands among the rows."""
        return {(row.condition, row.system): place for place, row in enumerate(self.rows)}

    @property
    def task_places(self) -> dict[str, int]:
        """By name, where a task stands among the tasks."""
        return {task.name: place for place, task in enumerate(self.tasks)}

    def under(self, condition: str) -> list[Row]:
        """The rows of one condition."""
        return [row for row in self.rows if row.condition == condition]

    @property
    def recorded(self) -> int:
        return sum(row.recorded for row in self.rows)

    @property
    def missing(self) -> int:
        return sum(row.overall.missing for row in self.rows)


def role_of(workflow: str, uses_gold: bool = False) -> Role:
    """The role of a workflow's systems, by the workflow's own name."""
    if uses_gold or workflow == "oracle":
        return "reference"
    return "baseline" if workflow == "direct" else "system"


def roles(manifest: Mapping[str, Any]) -> dict[str, Role]:
    """The role of each system of a run, by its name; a workflow that the grid renames keeps its role."""
    entries = (manifest.get("grid") or {}).get("workflows", ())
    own = {one["name"]: str(one["workflow"]) for one in entries if isinstance(one, dict) and one.get("name")}
    gold = {entry["name"] for entry in manifest.get("systems", ()) if entry.get("bound")}
    cells = {f"{cell['workflow']}+{cell['llm']}": cell["workflow"] for cell in manifest["cells"]}
    return {name: role_of(own.get(workflow, workflow), name in gold) for name, workflow in cells.items()}
