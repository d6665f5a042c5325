"""The tables of response types, of deployment and of failures; and every table of a report, written.

Scores and shares are percent, times are seconds an episode, money is USD an episode. An empty field means that there
is no such number: a task outside the system's grid, an unknown price, a system that is not ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from r_eval.analysis.deployment import Deployed
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import Aggregates, Row
from r_eval.analysis.tables.formats import write_sheet
from r_eval.analysis.tables.scores import NAMES, percent, scores
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View

SHOWN = {
    "workflow": "workflow",
    "llm": "llm",
    "quality": "quality %",
    "episodes": "n",
    "incomplete": "missing",
    "seconds_mean": "s mean",
    "seconds_median": "s p50",
    "seconds_p90": "s p90",
    "seconds_p95": "s p95",
    "seconds_p99": "s p99",
    "queue_mean": "queue s",
    "retry_mean": "retry s",
    "prompt_tokens": "tokens in",
    "completion_tokens": "tokens out",
    "cost": "USD",
    "connections": "connections",
    "parameters": "parameters",
    "front_seconds": "front s",
    "front_cost": "front USD",
}
"""Columns of the deployment table that people read, with their headings."""


def write_tables(
    aggregates: Aggregates, folder: Path, deployed: Sequence[Deployed] = (), further: Sequence[Sheet] = ()
) -> list[Path]:
    """Write every table that there are numbers for, in three formats; the paths in the order written.

    Args:
        deployed: What the systems took, from `deployment`; without it the table of deployment has means only.
        further: Other tables, written after these.
    """
    sheets = [scores(aggregates)] if aggregates.rows or aggregates.has_episodes else []
    if aggregates.has_episodes:
        sheets += [responses(aggregates), deployment(aggregates, deployed), failures(aggregates)]
    return [path for sheet in (*sheets, *further) for path in write_sheet(sheet, folder)]


def responses(aggregates: Aggregates) -> Sheet:
    """Shares of the response types over the recorded episodes, and the counts that qualify them."""
    header = [*NAMES, *TYPES, "undecided", "unparsed", "episodes", "condition"]
    lines = [
        [
            *_names(row),
            *(percent(row.share(type_)) for type_ in TYPES),
            *(row.undecided, row.unparsed, row.recorded, row.condition),
        ]
        for row in aggregates.rows
    ]
    return Sheet("responses", "Response types, percent of the recorded episodes", header, lines, left=len(NAMES))


def deployment(aggregates: Aggregates, deployed: Sequence[Deployed] = ()) -> Sheet:
    """Quality beside what it takes, an episode; percentiles, queueing and retry time where `deployed` has them."""
    header = [
        *NAMES,
        *("quality", "seconds_mean", "seconds_median", "calls", "prompt_tokens", "completion_tokens", "cost"),
        *("episodes", "incomplete", "condition"),
        *("seconds_p90", "seconds_p95", "seconds_p99", "queue_mean", "queue_p95", "retry_mean", "retry_p95"),
        *("cost_p95", "connections", "parameters", "front_seconds", "front_cost"),
    ]
    by_system = {(found.condition, found.system): found for found in deployed}
    lines = [
        [
            *_names(row),
            percent(row.overall.mean),
            *(_short(row.use.seconds_mean), _short(row.use.seconds_median), _short(row.use.calls)),
            *(_short(row.use.prompt_tokens), _short(row.use.completion_tokens), _short(row.use.cost)),
            *(row.overall.n, row.overall.missing, row.condition),
            *_further(by_system.get((row.condition, row.system))),
        ]
        for row in aggregates.rows
    ]
    notes = [
        "Means are over scored episodes; quality is the mean over tasks. Front: none is at least as good and as cheap."
    ]
    notes += ["Seconds are of the episode itself; queue and retry time stand apart. An unknown price is no price of 0."]
    notes += list(dict.fromkeys(note for found in deployed for note in found.notes))
    views = []
    for condition in aggregates.conditions:
        own = [line for line in lines if line[header.index("condition")] == condition]
        within = f", {condition}" if len(aggregates.conditions) > 1 else ""
        shown = [[ABSENT if line[at] is None else str(line[at]) for at in map(header.index, SHOWN)] for line in own]
        views.append(View(f"Deployment, an episode{within}", list(SHOWN.values()), shown, notes=notes, left=2))
    return Sheet("deployment", "Deployment, an episode", header, lines, views)


def _further(found: Deployed | None) -> list[str | int | None]:
    if found is None:
        return [None] * 12
    parts = ((found.seconds, "p90 p95 p99"), (found.queue, "mean p95"), (found.retry, "mean p95"), (found.cost, "p95"))
    return [
        *(_short(getattr(part, name, None)) for part, names in parts for name in names.split()),
        *(found.connections, _short(found.parameters)),
        *(None if on is None else "yes" if on else "no" for on in (found.front_seconds, found.front_cost)),
    ]


def failures(aggregates: Aggregates) -> Sheet:
    """Episodes that did not finish, by system, task and ending; `counts_as` says how they are scored."""
    header = [*NAMES, "task", "outcome", "cause", "episodes", "counts_as", "condition"]
    lines = [
        [
            *_names(row),
            *(failure.task, failure.outcome, failure.cause, failure.episodes),
            *("incomplete" if failure.machinery else "answered", row.condition),
        ]
        for row in aggregates.rows
        for failure in row.failures
    ]
    return Sheet("failures", "Episodes that did not finish", header, lines, left=len(NAMES) + 3)


def _names(row: Row) -> tuple[str, str, str]:
    return row.system, row.workflow, row.llm


def _short(value: float | None) -> str | None:
    """Four significant digits, never in exponent form."""
    if value is None:
        return None
    return f"{value:.0f}" if abs(value) >= 1000 else f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")
