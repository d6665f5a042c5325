"""The scores of several systems on the same questions, side by side: what paired comparisons are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from r_eval.analysis.statistics.moments import Floats, Integers, Layout, layout

Question = tuple[str, str]
"""Task and question id."""


@dataclass(frozen=True, slots=True)
class Board:
    """Questions x systems.

    Attributes:
        tasks: In the order given.
        questions: In the order of tasks, clusters and ids, so that clusters lie together.
        task_of: The place in `tasks` of each question.
        cluster_of: A number a cluster; no two tasks share one.
        systems: A column each.
        scores: The mean over a question's epochs, from 0 to 1; NaN where there is no score.
    """

    tasks: list[str]
    questions: list[Question]
    task_of: Integers
    cluster_of: Integers
    systems: list[str]
    scores: Floats
    layout: Layout = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", layout(self.task_of, self.cluster_of))

    def column(self, system: str) -> Floats:
        """The scores of a system."""
        return self.scores[:, self.systems.index(system)]

    def of(self, task: str) -> Board:
        """The questions of one task alone."""
        rows = np.flatnonzero(self.task_of == self.tasks.index(task))
        questions = [self.questions[row] for row in rows.tolist()]
        zeros = np.zeros(len(rows), np.int64)
        return Board([task], questions, zeros, self.cluster_of[rows], self.systems, self.scores[rows])


def board(
    scores: Mapping[str, Mapping[str, Mapping[str, float]]], clusters: Mapping[str, Mapping[str, str]] | None = None
) -> Board:
    """Scores side by side.

    Args:
        scores: By system, task and question id: the mean over the epochs.
        clusters: By task and question id, what the question shares with others, as `columns.clusters` has it; a
            question that is not in it stands alone.

    >>> board({"a": {"t": {"q1": 1.0, "q2": 0.0}}, "b": {"t": {"q2": 1.0}}}).scores.tolist()
    [[1.0, nan], [0.0, 1.0]]
    """
    shared = clusters or {}
    tasks = list(dict.fromkeys(task for by_task in scores.values() for task in by_task))
    rows: list[tuple[int, str, str]] = []
    for place, task in enumerate(tasks):
        ids = {question for by_task in scores.values() for question in by_task.get(task, ())}
        rows += sorted((place, shared.get(task, {}).get(question, question), question) for question in ids)
    numbers: dict[tuple[int, str], int] = {}
    cluster_of = np.array([numbers.setdefault(row[:2], len(numbers)) for row in rows], np.int64)
    table = [
        [by_task.get(tasks[place], {}).get(question, np.nan) for by_task in scores.values()]
        for place, _, question in rows
    ]
    return Board(
        tasks,
        [(tasks[place], question) for place, _, question in rows],
        np.array([row[0] for row in rows], np.int64),
        cluster_of,
        list(scores),
        np.array(table, np.float64).reshape(len(rows), len(scores)),
    )


def seed_of(names: Sequence[str]) -> int:
    """A seed that these names decide: the same data gives the same numbers everywhere and always."""
    import hashlib

    return int.from_bytes(hashlib.blake2b("\0".join(names).encode("utf-8"), digest_size=8).digest(), "little")
