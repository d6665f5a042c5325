"""Heat map of systems x tasks: each cell's mean, and below it the ends of its 95 % interval where there is one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.figures.style import DIM, FAINT, INK, Style, placed_figure, shown
from r_eval.analysis.rows import ALL, Aggregates, Row, Task
from r_eval.analysis.summary import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

WIDE, HIGH = 0.72, 0.34
"""Inches of a cell."""
NAME = 20
"""Characters of a task's name."""
CHARACTERS = 14
"""Of a note, in an inch."""
GAP = 0.18
"""Between the tasks and the average, and between the systems and the references, in cells."""
FIRST, LAST = (0.969, 0.976, 0.984), (0.031, 0.251, 0.447)
"""Colours of 0 and of the highest score: one hue, so that they differ in grey and to colour-blind eyes too."""
Colour = tuple[float, float, float]


def heat_map(aggregates: Aggregates, condition: str, style: Style) -> Figure | None:
    """The figure, best system at the top and references below the systems; None where nothing is scored."""
    from matplotlib.collections import PatchCollection

    rows = [row for row in aggregates.under(condition) if row.overall.mean is not None]
    rows.sort(key=lambda row: (row.reference, -(row.overall.mean or 0.0)))
    if not rows:
        return None
    tasks = aggregates.tasks
    with_average = len(tasks) > 1
    columns = len(tasks) + with_average
    names = max(2.6, 0.4 + max(len(style.name(row)) for row in rows) / CHARACTERS)
    figure = placed_figure(names + WIDE * columns, 1.5 + HIGH * len(rows))
    axes = figure.add_subplot()
    most = max((found.mean or 0.0 for row in rows for found in row.tasks.values()), default=0.0) or 1.0
    fields = []
    for line, row in enumerate(rows):
        below = line + (GAP if row.reference and not rows[0].reference else 0.0)
        fields += [_cell(axes, place, below, row.tasks.get(task.name), most) for place, task in enumerate(tasks)]
        if with_average:
            fields.append(_cell(axes, len(tasks) + GAP, below, row.averages[ALL], most))
    axes.add_collection(PatchCollection([field for field in fields if field], match_original=True))  # quicker than each
    _names(axes, rows, tasks, style, with_average)
    notes = textwrap.wrap(_notes(rows), int(CHARACTERS * figure.get_figwidth()))
    figure.supxlabel("\n".join(notes), color=DIM, fontsize=8)
    return figure


def _cell(axes: Axes, x: float, y: float, found: Estimate | None, most: float) -> Rectangle | None:
    """Write a cell's numbers; returns its coloured field. Hatched, and without one, where there is no score."""
    from matplotlib.patches import Rectangle

    if found is None or found.mean is None:
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor="white", edgecolor=FAINT, hatch="////", linewidth=0))
        return None
    colour = _colour(found.mean / most)
    ink = INK if sum(w * c for w, c in zip((0.299, 0.587, 0.114), colour, strict=True)) > 0.5 else "white"
    known = found.low is not None and found.high is not None
    partial = "*" if not found.complete else ""
    middle = {"ha": "center", "va": "center", "color": ink, "in_layout": False}  # within the cell: quicker to place
    axes.text(x + 0.5, y + (0.35 if known else 0.5), f"{100 * found.mean:.1f}{partial}", fontsize=8, **middle)  # type: ignore[arg-type]
    if known:
        ends = f"{100 * (found.low or 0.0):.0f}–{100 * (found.high or 0.0):.0f}"
        axes.text(x + 0.5, y + 0.75, ends, fontsize=6, **middle)  # type: ignore[arg-type]
    return Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=1)


def _colour(share: float) -> Colour:
    """Between the first colour and the last; the root makes low scores differ more."""
    at = max(0.0, min(1.0, share)) ** 0.8
    one, two, three = (first + at * (last - first) for first, last in zip(FIRST, LAST, strict=True))
    return one, two, three


def _names(axes: Axes, rows: Sequence[Row], tasks: Sequence[Task], style: Style, with_average: bool) -> None:
    """Systems at the left, tasks above."""
    lines = [line + (GAP if row.reference and not rows[0].reference else 0.0) + 0.5 for line, row in enumerate(rows)]
    axes.set_yticks(lines, [style.name(row) for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(DIM if row.reference else INK)
    places = [place + 0.5 for place in range(len(tasks))]
    names = short_names([task.name for task in tasks])
    heads = [_head(task, name) for task, name in zip(tasks, names, strict=True)]
    if with_average:
        places, heads = [*places, len(tasks) + GAP + 0.5], [*heads, "mean over tasks"]
    axes.set_xticks(places, heads, rotation=38, ha="left", rotation_mode="anchor", fontsize=8)
    axes.xaxis.tick_top()
    axes.set_xlim(0, len(tasks) + (1 + GAP if with_average else 0))
    axes.set_ylim(max(lines) + 0.5, 0)
    axes.tick_params(length=0, pad=3)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _head(task: Task, name: str) -> str:
    known = " ".join(part for part in (task.id, task.level) if part)
    return f"{shown(name, NAME)} ({known})" if known else shown(name, NAME)


def _notes(rows: Sequence[Row]) -> str:
    """What the numbers are."""
    found = [one for row in rows for one in (*row.tasks.values(), row.overall)]
    notes = ["Mean score, percent"]
    if any(one.low is not None for one in found):
        notes.append("below it the 95 % interval")
    if any(one.mean is not None and not one.complete for one in found):
        notes.append("* not complete: episodes or tasks are missing")
    return "; ".join(notes)
