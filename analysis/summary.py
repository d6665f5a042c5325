"""The score table and the response types for the terminal, as rich tables made to fit 100 columns."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from r_eval.analysis.published import load
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import ALL, Aggregates, Row
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    from rich.table import Table


FITTING = 6
"""Tasks that stand side by side in a table."""


def tables(run: RunFolder) -> list[Table]:
    """The score table and the response types of a run, under each of its conditions."""
    aggregates = load(run)
    shown = aggregates.conditions if aggregates.rows else [None]
    return [table for name in shown for table in (*score_tables(aggregates, name), response_table(aggregates, name))]


def text_summary(run: RunFolder) -> str:
    """The same as plain text of at most 100 columns, where the tasks' number allows."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=100, color_system=None)
    for table in tables(run):
        console.print(table)
    return out.getvalue()


def score_tables(aggregates: Aggregates, condition: str | None = None) -> list[Table]:
    """Percent by system and task, best first; bold is the best, dim are the bounds (direct, oracle).

    Of more tasks than a line holds, the averages of domains and levels come first, then the tasks, some at a time.

    Args:
        condition: Which one; None takes the first of the run.
    """
    names = [task.name for task in aggregates.tasks]
    short = dict(zip(names, short_names(names), strict=True))
    if len(names) <= FITTING:
        return [_scores(aggregates, condition, "Scores, percent", short, whole=True)]
    groups = {group: group.replace("_", " ") for group in aggregates.groups if "_" in group}
    blocks = [names[start : start + FITTING] for start in range(0, len(names), FITTING)]
    return [
        _scores(aggregates, condition, "Average scores, percent", groups, whole=True),
        *(_scores(aggregates, condition, "Scores, percent", {n: short[n] for n in block}) for block in blocks),
    ]


def _scores(
    aggregates: Aggregates, condition: str | None, title: str, columns: Mapping[str, str], whole: bool = False
) -> Table:
    """A table of some tasks or groups, by their headings.

    Args:
        whole: With the average over all tasks, the rank and the number of episodes.
    """
    rows = _ordered(aggregates, condition)
    table = _table(_title(title, aggregates, condition))
    table.add_column("system", overflow="fold")
    for heading in columns.values():
        table.add_column(heading.replace("-", "-\n").replace(" ", "\n"), justify="right", no_wrap=True, min_width=5)
    incomplete = whole and any(row.overall.missing for row in rows)
    for heading in [*(("average", "rank", "n") if whole else ()), *(["missing"] if incomplete else [])]:
        table.add_column(heading, justify="right", no_wrap=True)
    keys = [*columns, *([ALL] if whole else [])]
    best = {key: _best([_mean(row, key) for row in rows if not row.reference]) for key in keys}
    for row in rows:
        cells = [_score(_mean(row, key), best[key], row) for key in keys]
        last = [str(row.ranks[ALL] or "-"), str(row.overall.n or "-")] if whole else []
        missing = [str(row.overall.missing or "")] if incomplete else []
        table.add_row(_system(row), *cells, *last, *missing)
    if incomplete:
        table.caption = "missing: stopped by the machinery, or still to run; r-eval run again tries them"
    return table


def response_table(aggregates: Aggregates, condition: str | None = None) -> Table:
    """Share of each response type by system, percent of the recorded episodes."""
    rows = _ordered(aggregates, condition)
    table = _table(_title("Response types, percent", aggregates, condition))
    table.add_column("system", overflow="fold")
    for type_ in TYPES:
        table.add_column(type_, justify="right", no_wrap=True, min_width=4)
    table.add_column("un-\ndecided", justify="right", no_wrap=True)
    table.add_column("un-\nparsed", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for row in rows:
        shares = [row.share(type_) for type_ in TYPES]
        cells = ["-" if share is None else f"{100 * share:.1f}" if share else "[dim]0.0[/]" for share in shares]
        table.add_row(_system(row), *cells, str(row.undecided), str(row.unparsed), str(row.recorded))
    return table


def short_names(tasks: list[str]) -> list[str]:
    """Task names without their domain, where that leaves them different."""
    short = [name.rpartition("/")[2] for name in tasks]
    twice = Counter(short)
    return [name if twice[cut] > 1 else cut for name, cut in zip(tasks, short, strict=True)]


def _ordered(aggregates: Aggregates, condition: str | None) -> list[Row]:
    """By average, best first."""
    rows = aggregates.under(condition or aggregates.conditions[0]) if aggregates.rows else []
    return sorted(rows, key=lambda row: -(row.overall.mean or 0.0))


def _table(title: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def _title(text: str, aggregates: Aggregates, condition: str | None) -> str:
    shown = condition or (aggregates.conditions[0] if aggregates.rows else "")
    return f"{text} ({shown})" if len(aggregates.conditions) > 1 else text


def _system(row: Row) -> str:
    from rich.markup import escape

    return f"[dim]{escape(row.system)}[/]" if row.reference else escape(row.system)


def _mean(row: Row, name: str) -> float | None:
    """The score on a task or, by a group's name, the average over its tasks."""
    found = row.overall if name == ALL else row.tasks.get(name) or row.averages.get(name)
    return found.mean if found is not None else None


def _best(means: list[float | None]) -> float | None:
    return max((mean for mean in means if mean is not None), default=None)


def _score(mean: float | None, best: float | None, row: Row) -> str:
    if mean is None:
        return "-"
    text = f"{100 * mean:.1f}"
    if row.reference:
        return f"[dim]{text}[/]"
    return f"[bold]{text}[/]" if mean == best and mean > 0 else text
