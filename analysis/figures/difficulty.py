"""How hard the questions of each task are: by how many of the systems they are answered right.

References do not count. A question is answered where the mean over its epochs reaches `MATCH`, and its share is of the
systems that have a score for it; questions that no system has a score for are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from r_eval.analysis.figures.style import INK, placed_figure, shown, whole
from r_eval.analysis.rows import Aggregates, Task
from r_eval.analysis.statistics.paired import MATCH
from r_eval.analysis.summary import short_names
from r_eval.analysis.systems import System, question_means, questions_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 2
"""Systems from which on shares say something."""
GRADES = {
    "no system": "#4a1486",
    "up to 25 %": "#7a5bb0",
    "26 to 50 %": "#a99cce",
    "51 to 75 %": "#d3cfe6",
    "76 to 99 %": "#e3efd8",
    "all systems": "#7fbf7b",
}
"""Shares of the systems that are right, hardest first, with their colours."""
DARK = ("no system", "up to 25 %")
NOTED = 0.05
"""Share of the questions from which a part of a bar holds its number."""


class Asked(NamedTuple):
    """A task's questions.

    Attributes:
        shares: Of the systems with a score, those that are right, a question.
        systems: Systems that have a score on some of them.
    """

    task: Task
    shares: list[float]
    systems: int

    @property
    def grades(self) -> list[int]:
        """Questions of each grade."""
        counts = [0] * len(GRADES)
        for share in self.shares:
            counts[_grade(share)] += 1
        return counts


def shares_right(found: Sequence[System], tasks: Sequence[Task]) -> list[Asked]:
    """The share of right systems for every question, by task; tasks without a score are left out.

    Args:
        found: The systems of one condition.
    """
    asked = []
    contenders = [system for system in found if not system.reference]
    for task in tasks:
        own = [system for system in contenders if task.name in system.cells]
        ids = questions_of(own, task.name)
        if not ids:
            continue
        scores = np.stack([question_means(system, task.name, ids) for system in own])
        known = ~np.isnan(scores)
        there = known.any(axis=0)
        right = (np.nan_to_num(scores, nan=0.0) >= MATCH).sum(axis=0)
        if there.any():
            shares = (right[there] / known.sum(axis=0)[there]).tolist()
            asked.append(Asked(task, shares, int(known.any(axis=1).sum())))
    return asked


def difficulty(aggregates: Aggregates, found: Sequence[System]) -> Figure | None:
    """The figure, in the order of the tasks; None where no task was done by several systems.

    Args:
        found: The systems of one condition.
    """
    asked = [one for one in shares_right(found, aggregates.tasks) if one.systems >= FEWEST]
    if not asked:
        return None
    figure = placed_figure(8.0, 1.6 + 0.34 * len(asked))
    axes = figure.add_subplot()
    ends = [0.0] * len(asked)
    for number, (grade, colour) in enumerate(GRADES.items()):
        parts = [one.grades[number] / len(one.shares) for one in asked]
        axes.barh(range(len(asked)), parts, left=ends, color=colour, height=0.74, label=grade)
        for line, (part, end) in enumerate(zip(parts, ends, strict=True)):
            if part >= NOTED:
                ink = "white" if grade in DARK else INK
                text = axes.text(end + part / 2, line, whole(part), color=ink, size=7)
                text.set(ha="center", va="center", in_layout=False)  # within the bar: quicker to place
        ends = [end + part for end, part in zip(ends, parts, strict=True)]
    names = short_names([one.task.name for one in asked])
    axes.set_yticks(range(len(asked)), [_label(one, name) for one, name in zip(asked, names, strict=True)])
    axes.set_ylim(len(asked) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axes.set_xlabel("Share of the questions, percent")
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(GRADES), columnspacing=1.2, title="Questions answered right by")
    return figure


def _grade(share: float) -> int:
    """The place in GRADES of a share of the systems."""
    if share in (0.0, 1.0):
        return 0 if share == 0.0 else len(GRADES) - 1
    return 1 + int(np.searchsorted([0.25, 0.5, 0.75], share - 1e-12))


def _label(one: Asked, name: str) -> str:
    head = f"{one.task.id} {shown(name, 24)}".strip()
    return f"{head}  (n={len(one.shares)}, {one.systems} systems)"
