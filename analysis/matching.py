"""Matching: which LLM suits which workflow, and on which tasks.

Profiles need means only, so that published results have them too. The rest is paired by question and needs episodes.
An axis is a domain and level (or a task); its value is the mean over its tasks, each with the same weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from r_eval.analysis.rows import LEVELS, Aggregates, Row
from r_eval.analysis.statistics.board import board, seed_of
from r_eval.analysis.statistics.moments import moments
from r_eval.analysis.statistics.paired import ALPHA, holm
from r_eval.analysis.statistics.permutation import p_values
from r_eval.analysis.systems import System

BEST = "best"


@dataclass(frozen=True, slots=True)
class Profile:
    """Systems by axis: what a radar shows.

    Attributes:
        axes: Group keys ("wiki_KS") or task names.
        systems: Names, in the aggregates' order.
        values: A line a system, a value an axis; None where there is none.
        base: What the values are divided by: "" for raw ones (0 to 1), "best", or a system's name.
    """

    axes: tuple[str, ...]
    systems: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    base: str = ""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another candidate beside the best one.

    Attributes:
        behind: How far its mean lies below the best one's, 0 to 1.
        questions: That both answered.
        lead: Of the best one on these, the mean of the tasks' differences; None without episodes, or where a task of
            the axis has no such question.
        p: Of the paired permutation test, after Holm's correction over the rivals; None where `lead` is.
    """

    name: str
    mean: float
    behind: float
    questions: int = 0
    lead: float | None = None
    p: float | None = None

    @property
    def told_apart(self) -> bool:
        """Whether the best one's lead is more than chance, at 5 %."""
        return self.p is not None and self.p < ALPHA and (self.lead or 0.0) > 0


@dataclass(frozen=True, slots=True)
class Suited:
    """Who does best with a workflow (or with an LLM) on an axis.

    Attributes:
        fixed: The workflow, or the LLM, that all candidates share.
        best: The name (of LLMs, or of workflows) with the highest mean; several where means are equal.
        rivals: All others, best first.
    """

    condition: str
    fixed: str
    axis: str
    best: tuple[str, ...]
    mean: float
    rivals: tuple[Rival, ...]

    @property
    def told_apart(self) -> bool:
        """Whether one is best, and can be told apart from every other at 5 %."""
        return len(self.best) == 1 and all(rival.told_apart for rival in self.rivals)


def profile(
    aggregates: Aggregates, by: Literal["level", "task"] = "level", base: str = "", condition: str | None = None
) -> Profile:
    """The systems of one condition by domain and level, or by task; raw or normalised.

    A value over a base of 0 is None, whatever the value: nothing can be said in multiples of nothing. So is the value
    of a level of which the system lacks a task.

    Args:
        base: "" for raw means; "best" divides by the best ranked system of each axis (references may exceed 1); a
            system's name divides by that system.
        condition: None takes the first one.

    Raises:
        ValueError: No system is named `base`.
    """
    rows = aggregates.under(condition or aggregates.conditions[0]) if aggregates.rows else []
    if by == "level":
        axes = [group for group in aggregates.groups if group.rpartition("_")[2] in LEVELS]
        raw = [[_average(row, axis) for axis in axes] for row in rows]
    else:
        axes = [task.name for task in aggregates.tasks]
        raw = [[_mean(row, axis) for axis in axes] for row in rows]
    names = tuple(row.system for row in rows)
    if base:
        if base != BEST and base not in names:
            raise ValueError(f"no system {base!r}; there are {', '.join(names)}")
        over = [
            row
            for row, line in zip(raw, rows, strict=True)
            if base == line.system or (base == BEST and not line.reference)
        ]
        bases = [max((line[axis] or 0.0 for line in over), default=0.0) for axis in range(len(axes))]
        raw = [[_over(value, of) for value, of in zip(line, bases, strict=True)] for line in raw]
    return Profile(tuple(axes), names, tuple(tuple(line) for line in raw), base)


def suited(
    aggregates: Aggregates,
    fixed: Literal["workflow", "llm"] = "workflow",
    systems: Sequence[System] = (),
    clusters: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Suited]:
    """For each workflow the LLM that suits it best, or for each LLM the workflow, by axis and over everything.

    Compared are those that have all tasks of the axis; references are none of them.

    Args:
        systems: With their columns, for the paired test; without them nothing is told apart.
        clusters: By task and question, what a question shares with others (`columns.clusters`).
    """
    found = []
    named = "llm" if fixed == "workflow" else "workflow"
    for condition in aggregates.conditions:
        rows = [row for row in aggregates.under(condition) if not row.reference]
        fields = []
        for shared in dict.fromkeys(getattr(row, fixed) for row in rows):
            own = [row for row in rows if getattr(row, fixed) == shared]
            for axis, tasks in aggregates.groups.items():
                whole = [row for row in own if _average(row, axis) is not None]
                if len(whole) > 1:
                    whole.sort(key=lambda row, axis=axis: -round(_average(row, axis) or 0.0, 12))  # type: ignore[misc]
                    fields.append(_Field(shared, axis, tasks, whole))
        tested = _tested(fields, [system for system in systems if system.condition == condition], clusters or {})
        found += [_suited(field, condition, named, tested) for field in fields]
    return found


class _Field(NamedTuple):
    """Who is compared on an axis, best first."""

    shared: str
    axis: str
    tasks: list[str]
    rows: list[Row]


class _Test(NamedTuple):
    questions: int
    lead: float
    p: float


def _mean(row: Row, task: str) -> float | None:
    found = row.tasks.get(task)
    return found.mean if found is not None else None


def _average(row: Row, group: str) -> float | None:
    found = row.averages[group]
    return found.mean if found.tasks == found.of_tasks else None


def _over(value: float | None, base: float) -> float | None:
    return value / base if value is not None and base > 0 else None


def _suited(field: _Field, condition: str, named: str, tested: Mapping[tuple[str, str, str], _Test]) -> Suited:
    means = [round(_average(row, field.axis) or 0.0, 12) for row in field.rows]
    first = field.rows[0].system
    best = tuple(getattr(row, named) for row, mean in zip(field.rows, means, strict=True) if mean == means[0])
    behind = list(zip(field.rows, means, strict=True))[len(best) :]
    tests = [tested.get((field.axis, first, row.system)) for row, _ in behind]
    adjusted = iter(holm([test.p for test in tests if test is not None]))
    rivals = tuple(
        Rival(getattr(row, named), mean, means[0] - mean)
        if test is None
        else Rival(getattr(row, named), mean, means[0] - mean, test.questions, test.lead, next(adjusted))
        for (row, mean), test in zip(behind, tests, strict=True)
    )
    return Suited(condition, field.shared, field.axis, best, means[0], rivals)


def _tested(
    fields: Sequence[_Field], systems: Sequence[System], clusters: Mapping[str, Mapping[str, str]]
) -> dict[tuple[str, str, str], _Test]:
    """The best one of each field against the others, by axis and the two systems.

    All are columns of one permutation test: random signs for many questions take longer than anything else.
    """
    import numpy as np

    known = {system.name for system in systems}
    pairs = [
        (field.axis, field.rows[0].system, row.system, field.tasks)
        for field in fields
        for row in field.rows[1:]
        if {field.rows[0].system, row.system} <= known
    ]
    if not pairs:
        return {}
    scores = {system.name: {task: c.by_question() for task, c in system.cells.items()} for system in systems}
    all_scores = board(scores, clusters)
    columns = []
    for _, one, two, tasks in pairs:
        within = np.isin(all_scores.task_of, [at for at, task in enumerate(all_scores.tasks) if task in tasks])
        columns.append(np.where(within, all_scores.column(one) - all_scores.column(two), np.nan))
    found = moments(np.stack(columns, axis=1), all_scores.layout)
    there = (found.questions > 0).sum(axis=0)
    weights = 1 / (np.maximum(found.questions, 1) * np.maximum(there, 1))
    parts = found.sums * weights[all_scores.layout.task_of]
    p = p_values(parts, seed_of([f"{task}\0{question}" for task, question in all_scores.questions]))
    return {
        (axis, one, two): _Test(int(found.questions[:, at].sum()), float(parts[:, at].sum()), float(p[at]))
        for at, (axis, one, two, tasks) in enumerate(pairs)
        if there[at] == len(tasks)
    }
