"""The tables of response types, causes, deployment and failures; and every table of a report, written.

Scores and shares are percent, times are seconds per episode, money is USD per episode. An empty field means that there
is no such number: a task outside the system's grid, an unknown price, a system without latency.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.analysis import views
from r_eval.analysis.deployment import deployment as deployed
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import ALL, Aggregates, Row
from r_eval.analysis.systems import System
from r_eval.analysis.tables.formats import write_sheet
from r_eval.analysis.tables.scores import NAMES, percent, scores
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    import pandas

PERCENT = ("quality", "share")
SHOWN = {
    "workflow": "workflow",
    "llm": "llm",
    "quality": "quality %",
    "episodes": "n",
    "incomplete": "missing",
    "replayed": "replayed",
    "seconds_mean": "s mean",
    "seconds_p50": "s p50",
    "seconds_p90": "s p90",
    "seconds_p95": "s p95",
    "seconds_p99": "s p99",
    "queue_mean": "queue s",
    "retry_mean": "retry s",
    "prompt_tokens": "tokens in",
    "completion_tokens": "tokens out",
    "cost_mean": "USD",
    "connections": "connections",
    "parameters": "parameters",
    "front_seconds": "front s",
    "front_cost": "front USD",
}
"""Columns of the deployment table that people read, with their headings."""


def write_tables(aggregates: Aggregates, folder: Path, further: Sequence[Sheet] = ()) -> list[Path]:
    """Write every table that there are numbers for, in three formats; the paths in the order written.

    Args:
        further: Other tables, written after those of the aggregates, such as `episode_sheets`.
    """
    sheets = [scores(aggregates)] if aggregates.rows or aggregates.has_episodes else []
    if aggregates.has_episodes:
        sheets += [responses(aggregates), failures(aggregates)]
    return [path for sheet in (*sheets, *further) for path in write_sheet(sheet, folder)]


def episode_sheets(runs: Sequence[RunFolder], systems: Sequence[System]) -> list[Sheet]:
    """The tables of causes and of deployment, of runs that have episodes; `systems` are theirs."""
    return [causes(views.episodes_of(runs)), deployment(systems)] if runs else []


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


def causes(episodes: pandas.DataFrame) -> Sheet:
    """Failed episodes by system and cause; shares are of the recorded episodes."""
    header, lines = _data(views.causes(episodes))
    return Sheet(
        "causes", "Causes of failure, percent of the recorded episodes", header, lines, left=len(views.SYSTEM) + 1
    )


def deployment(systems: Sequence[System]) -> Sheet:
    """Quality beside what it takes, per episode, by domain."""
    header, lines = _data(views.deployment(systems))
    notes = [
        "Means are over scored episodes; quality is the mean over tasks. Front: no ranked system is at least as good "
        "and as cheap.",
        "Seconds are of the episode itself, without queue and retry time, and of episodes without a replayed reply. An "
        "unknown price is no price of 0.",
    ]
    notes += list(dict.fromkeys(note for found in deployed(systems) for note in found.notes))
    conditions = list(dict.fromkeys(system.condition for system in systems))
    made = []
    for condition in conditions:
        at = header.index("condition"), header.index("domain")
        own = [line for line in lines if [line[place] for place in at] == [condition, ALL]]
        within = f", {condition}" if len(conditions) > 1 else ""
        shown = [[ABSENT if line[at] is None else str(line[at]) for at in map(header.index, SHOWN)] for line in own]
        made.append(View(f"Deployment, per episode{within}", list(SHOWN.values()), shown, notes=notes, left=2))
    return Sheet("deployment", "Deployment, per episode", header, lines, made)


def _data(frame: pandas.DataFrame) -> tuple[list[str], list[list[Any]]]:
    """A frame as a table's data: numbers in four significant digits, shares and quality as percent."""
    header = [str(name) for name in frame.columns]
    known = frame.astype(object).where(frame.notna(), None)
    texts = [[_text(name, value) for value in known[name]] for name in header]
    return header, [list(line) for line in zip(*texts, strict=True)]


def _text(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in PERCENT:
        return percent(value)
    return _short(value) if isinstance(value, float) else value


def failures(aggregates: Aggregates) -> Sheet:
    """Episodes that did not finish, by system, task and ending; `counts_as` says how they are scored."""
    header = [*NAMES, "task", "outcome", "outcome_cause", "episodes", "counts_as", "condition"]
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


def _short(value: float) -> str:
    """Four significant digits, never in exponent form."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")
