"""The further metrics of a run, which `r-eval score --metric` asks for, as a table beside the length of the answers.

A metric is a share and shown in percent, with its interval. The length is a mean of characters, and no score: a short
answer is neither better nor worse, but BLEU and recall go with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from r_eval.analysis.columns import Columns, clusters, columns
from r_eval.analysis.estimate import Estimate, of_questions
from r_eval.analysis.metrics.registry import told
from r_eval.analysis.scoring import DEFAULT_METRIC
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    from rich.table import Table

HEADINGS = ("system", "condition", "task", "metric", "mean", "95 % interval", "n", "missing")
LENGTH = "length (characters)"


def further_table(run: RunFolder) -> Table:
    """Every further metric of every cell, and the mean length of its answers.

    Raises:
        UserError: The folder is not a run, or a record cannot be read.
    """
    from rich.table import Table

    found = list(columns(run))
    several = len({one.cell.condition for one in found}) > 1
    table = Table(title="Further metrics, percent")
    for heading in HEADINGS:
        if several or heading != "condition":
            right = heading in HEADINGS[4:]
            table.add_column(heading, justify="right" if right else "left", overflow="fold", no_wrap=right)
    shared = clusters(run)
    for one in found:
        names = (one.cell.system, *([one.cell.condition] if several else []), one.cell.task)
        for line in _lines(one, shared.get(one.cell.task, {})):
            table.add_row(*names, *line)
    return table


def told_of_run(run: RunFolder, metrics: Sequence[str]) -> list[str]:
    """What the metrics that a run was scored by have to say, its tasks' own ones among them."""
    own = [task.get("metric") or DEFAULT_METRIC for task in run.manifest()["tasks"]]
    return told(dict.fromkeys([*own, *metrics]))


def _lines(one: Columns, shared: dict[str, str]) -> Iterator[tuple[str, ...]]:
    for name, values in one.metrics.items():
        there = values == values  # not NaN
        questions = [question for question, known in zip(one.questions, there.tolist(), strict=True) if known]
        of = of_questions(questions, values[there].tolist(), one.expected, shared)
        yield name, "" if of.mean is None else f"{100 * of.mean:.1f}", _interval(of), str(of.n), str(of.missing or "")
    characters = one.numbers["characters"]
    lengths = characters[characters == characters]
    yield LENGTH, f"{lengths.mean():.0f}" if lengths.size else "", "", str(lengths.size), ""


def _interval(of: Estimate) -> str:
    return "" if of.low is None or of.high is None else f"{100 * of.low:.1f} to {100 * of.high:.1f}"
