"""The systems of one or more runs with their columns: what the matching and the deployment analysis read.

The names are those of the aggregates: where two runs hold the same cell, the later run's name is added to its systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis.columns import LATENCY, Columns, clusters, columns
from r_eval.analysis.rows import Role, roles
from r_eval.folder import Cell, RunFolder

Floats = NDArray[np.float64]
CLEAN = "clean"
"""The condition of the bare environment; no other one may have its name."""


@dataclass(slots=True)
class System:
    """A system under one condition.

    Attributes:
        name: As in the aggregates' rows, like `workflow` and `llm`.
        cells: By task.
        settings: Of its LLM, as the grid gives them.
    """

    condition: str
    name: str
    workflow: str
    llm: str
    role: Role = "system"
    cells: dict[str, Columns] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def reference(self) -> bool:
        """Whether it stands beside the ranking, since it sees the gold."""
        return self.role == "reference"

    def scored(self, name: str) -> Floats:
        """A number of every scored episode, task after task; NaN where it is not known.

        Of LATENCY only the episodes whose replies were all made in this run.
        """
        parts = [cell.numbers[name][~np.isnan(cell.scores)] for cell in self.cells.values()]
        found = np.concatenate(parts) if parts else np.empty(0)
        return found[~np.isnan(found)] if name in LATENCY else found


def systems(*runs: RunFolder) -> list[System]:
    """The systems of some runs, in the order of their grids; scores that are missing are made first.

    Raises:
        UserError: A folder is not a run, or a record cannot be read.
    """
    found: dict[tuple[str, str], System] = {}
    for run, suffix in zip(runs, suffixes(runs), strict=True):
        manifest = run.manifest()
        role = roles(manifest)
        for part in columns(run):
            cell = part.cell
            names = cell.system + suffix, cell.workflow, cell.llm + suffix
            system = System(cell.condition, *names, role[cell.system])
            system.settings = llm_settings(manifest, cell.llm)
            found.setdefault((cell.condition, system.name), system).cells[cell.task] = part
    return list(found.values())


def suffixes(runs: Sequence[RunFolder]) -> list[str]:
    """What is added to the systems of each run so that no two share a name."""
    seen: set[Cell] = set()
    found = []
    for run in runs:
        cells = run.cells()
        found.append(f" ({run.manifest()['name']})" if seen.intersection(cells) else "")
        seen.update(cells)
    return found


def clusters_of(runs: Sequence[RunFolder]) -> dict[str, dict[str, str]]:
    """By task and question id what a question shares with others, over some runs; the first run's word counts."""
    found: dict[str, dict[str, str]] = {}
    for run in runs:
        for task, questions in clusters(run).items():
            found[task] = {**questions, **found.get(task, {})}
    return found


def llm_settings(manifest: dict[str, Any], llm: str) -> dict[str, Any]:
    """What a run says of an LLM, by the name that its systems carry: its grid's entry, and the connections it had."""
    taken = manifest.get("llms", {}).get(llm, {})
    for entry in manifest.get("grid", {}).get("llms", ()):
        if isinstance(entry, dict) and llm in (entry.get("name"), entry.get("llm")):
            return {**entry, **taken}
    return dict(taken)


def question_means(system: System, task: str, ids: Sequence[str], values: str | None = None) -> Floats:
    """The mean of each question over its scored epochs; NaN where there is none.

    Args:
        ids: Questions, in the order wanted.
        values: A name of the columns' numbers; None takes the scores.
    """
    cell = system.cells.get(task)
    if cell is None:
        return np.full(len(ids), np.nan)
    place = {question: number for number, question in enumerate(ids)}
    numbers = cell.scores if values is None else cell.numbers[values]
    at = np.array([place.get(question, -1) for question in cell.questions], np.int64)
    valid = (at >= 0) & ~np.isnan(cell.scores)
    sums = np.bincount(at[valid], numbers[valid], len(ids))  # a NaN of a scored episode stays: not known
    counts = np.bincount(at[valid], minlength=len(ids))
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts, np.float64)  # 0 / 0 is NaN


def questions_of(found: Sequence[System], task: str) -> list[str]:
    """Every question that any of the systems was asked in a task, in the order met."""
    return list(dict.fromkeys(q for system in found if task in system.cells for q in system.cells[task].questions))


def tasks_of(found: Sequence[System]) -> list[str]:
    """Every task of some systems, in the order met."""
    return list(dict.fromkeys(task for system in found for task in system.cells))
