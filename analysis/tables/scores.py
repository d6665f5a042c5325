"""The score table: every number for programs, and views in the shape of the paper's tables for people.

In the views a domain has a table, its tasks level by level with the rank after each level; the averages over tasks and
the ranks by them stand in the last one where they fit, else in one of their own. The systems stand in the order of the
rank over everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.rows import ALL, LEVELS, Aggregates, Row, Task
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View, best_of

NAMES = ("system", "workflow", "llm")
FITTING = 16
"""Columns up to which the averages stand beside the last domain's tasks."""


def scores(aggregates: Aggregates) -> Sheet:
    """A line a system and condition: tasks, averages over tasks, ranks, how many episodes stand behind each."""
    tasks = [task.name for task in aggregates.tasks]
    averages = [*aggregates.domains, ALL]
    header = [
        *NAMES,
        *tasks,
        *(f"average_{group}" for group in averages),
        *(f"rank_{group}" for group in aggregates.groups),
        *("episodes", "incomplete", "low", "high", "worst", "best", "condition"),
        *(f"episodes_{task}" for task in tasks),
    ]
    lines = [
        [
            *(row.system, row.workflow, row.llm),
            *(percent(row.tasks[task].mean if task in row.tasks else None) for task in tasks),
            *(percent(row.averages[group].mean) for group in averages),
            *(row.ranks[group] for group in aggregates.groups),
            *(row.overall.n if row.overall.expected is not None else None, row.overall.missing),
            *map(percent, (row.overall.low, row.overall.high, row.overall.worst, row.overall.best)),
            row.condition,
            *(_episodes(row.tasks.get(task)) for task in tasks),
        ]
        for row in aggregates.rows
    ]
    views = [view for condition in aggregates.conditions for view in _views(aggregates, condition)]
    return Sheet("scores", "Scores, percent", header, lines, views)


def percent(share: float | None) -> str | None:
    """A share as percent with two decimals."""
    return None if share is None else f"{100 * share:.2f}"


def _episodes(found: Estimate | None) -> int | None:
    return found.n if found is not None and found.expected is not None else None


class _Column(NamedTuple):
    """A column of a view: the estimates that its numbers are, or the ranks by a group."""

    heading: str
    estimate: Callable[[Row], Estimate | None] | None = None
    group: str = ""


def _views(aggregates: Aggregates, condition: str) -> list[View]:
    rows = sorted(aggregates.under(condition), key=_place)
    blocks: list[tuple[str, list[_Column]]] = []
    for domain in aggregates.domains:
        blocks.append((domain or "tasks", _domain(aggregates, domain)))
    summed = _averages(aggregates)
    if blocks and len(blocks[-1][1]) + len(summed) <= FITTING:
        blocks[-1] = (f"{blocks[-1][0]}, and averages over tasks", [*blocks[-1][1], *summed])
    else:
        blocks.append(("averages over tasks", summed))
    within = f", {condition}" if len(aggregates.conditions) > 1 else ""
    return [_view(f"Scores, percent: {title}{within}", columns, rows) for title, columns in blocks]


def _place(row: Row) -> tuple[bool, int, float]:
    """Ranked ones first, by rank; then the incomplete ones, then the bounds."""
    rank = row.ranks.get(ALL)
    return row.reference, rank if rank is not None else 10**9, -(row.overall.mean or 0.0)


def _domain(aggregates: Aggregates, domain: str) -> list[_Column]:
    columns = []
    own = [task for task in aggregates.tasks if task.domain == domain]
    for level in LEVELS:
        tasks = [task for task in own if task.level == level]
        columns += [_task(task) for task in tasks]
        if tasks:
            columns.append(_Column(f"{level} rank", group=f"{domain}_{level}"))
    return columns + [_task(task) for task in own if task.level not in LEVELS]


def _task(task: Task) -> _Column:
    short = task.name.removeprefix(f"{task.domain}/")
    return _Column(f"{task.id} {short}".strip(), lambda row: row.tasks.get(task.name))


def _averages(aggregates: Aggregates) -> list[_Column]:
    columns = []
    groups = [*(aggregates.domains if len(aggregates.domains) > 1 else []), ALL]
    for group in groups:
        columns.append(_Column(f"{group} average", lambda row, group=group: row.averages.get(group)))  # type: ignore[misc]
        columns.append(_Column(f"{group} rank", group=group))
    return columns


def _view(title: str, columns: Sequence[_Column], rows: Sequence[Row]) -> View:
    estimates = [[column.estimate(row) if column.estimate else None for row in rows] for column in columns]
    usual = [_usual(column) for column in estimates]
    header = ["workflow", "llm"]
    header += [f"{c.heading} (n={n})" if n else c.heading for c, n in zip(columns, usual, strict=True)]
    lines = [
        [row.workflow, row.llm]
        + [
            _number(estimates[number][line], usual[number]) if column.estimate else _rank(row, column.group)
            for number, column in enumerate(columns)
        ]
        for line, row in enumerate(rows)
    ]
    contending = [
        [
            found.mean if found is not None and not row.reference else None
            for found, row in zip(column, rows, strict=True)
        ]
        for column in estimates
    ]
    return View(title, header, lines, best_of(contending, 2), _notes(rows, estimates, columns), left=2)


def _number(found: Estimate | None, usual: int) -> str:
    if found is None or found.mean is None:
        return ABSENT
    of_tasks = f", {found.tasks}/{found.of_tasks} tasks" if found.tasks != found.of_tasks else ""
    n = f" (n={found.n}{of_tasks})" if found.expected is not None and found.n != usual else ""
    return f"{100 * found.mean:.1f}{n}"


def _rank(row: Row, group: str) -> str:
    rank = row.ranks.get(group)
    return ABSENT if rank is None else str(rank)


def _usual(column: Sequence[Estimate | None]) -> int:
    """How many episodes stand behind most numbers of a column; 0 where that is not known."""
    counts = [
        found.n for found in column if found is not None and found.mean is not None and found.expected is not None
    ]
    return max(counts, key=lambda n: (counts.count(n), n), default=0)


def _notes(
    rows: Sequence[Row], estimates: Sequence[Sequence[Estimate | None]], columns: Sequence[_Column]
) -> list[str]:
    """What a reader has to know: how much is behind the numbers, and what is missing."""
    notes = []
    if any(row.overall.expected is None for row in rows):
        notes.append("How many episodes stand behind the published means is not known.")
    if any(row.overall.expected is not None for row in rows):
        notes.append("n: episodes behind each number of a column; a number with another n names it.")
    lacking: dict[str, list[str]] = {}
    for line, row in enumerate(rows):
        cells = [
            (column.heading, values[line]) for column, values in zip(columns, estimates, strict=True) if column.estimate
        ]
        absent = [heading for heading, cell in cells if cell is None or cell.mean is None]
        if absent:
            lacking.setdefault(", ".join(absent), []).append(row.system)
    notes += [f"No score for {tasks}: {', '.join(systems)}." for tasks, systems in lacking.items()]
    missing = [f"{row.system} {row.overall.missing}" for row in rows if row.overall.missing]
    if missing:
        notes.append(f"Episodes that are missing, and count neither way: {', '.join(missing)}.")
    if any(row.reference for row in rows):
        notes.append(f"{', '.join(row.system for row in rows if row.reference)}: bounds, not ranked.")
    if any(row.overall.tasks != row.overall.of_tasks for row in rows):
        notes.append("A system that lacks a task behind an average is not ranked by it.")
    notes.append("Averages are means over tasks. Bold is the best; equal means share the lower rank, and bold.")
    return notes
