"""The tables of a report as CSV files: scores, responses, deployment, failures.

Scores and shares are percent, times are seconds an episode, money is USD an episode. An empty field means
    that there
is no such number: a task outside the system's grid, an unknown price, a system that is not ranked.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import Aggregates, Row
from r_eval.folder import write_whole

_SYSTEM = ("system", "workflow", "llm")
Table = tuple[list[str], list[list[Any]]]


def write_tables(aggregates: Aggregates, folder: Path) -> list[Path]:
    """Write every table that there are numbers for; the paths in the order written."""
    tables = {"scores": scores_table(aggregates)}
    if aggregates.has_episodes:
        tables["responses"] = responses_table(aggregates)
        tables["deployment"] = deployment_table(aggregates)
        tables["failures"] = failures_table(aggregates)
    paths = []
    for name, (header, lines) in tables.items():
        paths.append(folder / f"{name}.csv")
        write_whole(paths[-1], csv_text(header, lines))
    return paths


def scores_table(aggregates: Aggregates) -> Table:
    """A line a system and condition: tasks, averages over tasks, ranks, how many episodes stand behind."""
    tasks = [task.name for task in aggregates.tasks]
    averages = [*aggregates.domains, "all"]
    header = [
        *_SYSTEM,
        *tasks,
        *(f"average_{group}" for group in averages),
        *(f"rank_{group}" for group in aggregates.groups),
        *("episodes", "incomplete", "low", "high", "worst", "best", "condition"),
    ]
    return header, [
        [
            *_names(row),
            *(_percent(row.tasks[task].mean if task in row.tasks else None) for task in tasks),
            *(_percent(row.averages[group].mean) for group in averages),
            *(row.ranks[group] for group in aggregates.groups),
            *(row.overall.n if row.overall.expected is not None else None, row.overall.missing),
            *map(_percent, (row.overall.low, row.overall.high, row.overall.worst, row.overall.best)),
            row.condition,
        ]
        for row in aggregates.rows
    ]


def responses_table(aggregates: Aggregates) -> Table:
    """Shares of the response types over the recorded episodes, and the counts that qualify them."""
    header = [*_SYSTEM, *TYPES, "undecided", "unparsed", "episodes", "condition"]
    return header, [
        [
            *_names(row),
            *(_percent(row.share(type_)) for type_ in TYPES),
            *(row.undecided, row.unparsed, row.recorded, row.condition),
        ]
        for row in aggregates.rows
    ]


def deployment_table(aggregates: Aggregates) -> Table:
    """Quality beside what it takes, an episode."""
    header = [
        *_SYSTEM,
        *("quality", "seconds_mean", "seconds_median", "calls", "prompt_tokens", "completion_tokens", "cost"),
        *("episodes", "incomplete", "condition"),
    ]
    return header, [
        [
            *_names(row),
            _percent(row.overall.mean),
            *(_short(row.use.seconds_mean), _short(row.use.seconds_median), _short(row.use.calls)),
            *(_short(row.use.prompt_tokens), _short(row.use.completion_tokens), _short(row.use.cost)),
            *(row.overall.n, row.overall.missing, row.condition),
        ]
        for row in aggregates.rows
    ]


def failures_table(aggregates: Aggregates) -> Table:
    """Episodes that did not finish, by system, task and ending; `counts_as` says how they are scored."""
    header = [*_SYSTEM, "task", "outcome", "cause", "episodes", "counts_as", "condition"]
    return header, [
        [
            *_names(row),
            *(failure.task, failure.outcome, failure.cause, failure.episodes),
            *("incomplete" if failure.machinery else "answered", row.condition),
        ]
        for row in aggregates.rows
        for failure in row.failures
    ]


def csv_text(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if value is None else value for value in line] for line in lines)
    return text.getvalue()


def _names(row: Row) -> tuple[str, str, str]:
    return row.system, row.workflow, row.llm


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.2f}"


def _short(value: float | None) -> str | None:
    """Four significant digits, never in exponent form."""
    if value is None:
        return None
    return f"{value:.0f}" if abs(value) >= 1000 else f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")
