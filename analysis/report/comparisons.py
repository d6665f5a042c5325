"""The comparisons that the page shows: which systems of a condition are compared, and what comes of each pair.

Those of the ranking: references, and a system that lacks a task, are neither ranked nor compared. Where
several runs ask a question of the same id in other words it is not the same question, and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from r_eval.analysis.against_clean import scores_of
from r_eval.analysis.columns import Shared
from r_eval.analysis.rows import ALL, Aggregates, Row
from r_eval.analysis.statistics.board import Board, board
from r_eval.analysis.statistics.paired import Comparison, compare_pairs, corrected, pairwise
from r_eval.analysis.systems import System
from r_eval.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparisons of one condition.

    Attributes:
        rows: The systems' rows, in the order of the board's columns.
        pairs: All pairs, with Holm's correction over them; none where there is one system only.
        by_task: Of each pair, on each task that both have scores on, with the correction over the tasks.
    """

    condition: str
    rows: list[Row]
    board: Board
    pairs: list[Comparison]
    by_task: list[list[Comparison]]


def comparisons(
    aggregates: Aggregates,
    systems: Sequence[System],
    shared: Shared,
    left_out: frozenset[tuple[str, str]] = frozenset(),
) -> list[Compared]:
    """The comparisons of every condition that has a ranked system with scores.

    Args:
        systems: With their columns.
        left_out: Questions (task, id) that take no part.
    """
    made = []
    for condition in aggregates.conditions:
        own = {system.name: system for system in systems if system.condition == condition}
        rows = [row for row in aggregates.under(condition) if _ranked(row) and row.system in own]
        if rows:
            scores = {row.system: scores_of(own[row.system], left_out) for row in rows}
            made.append(_compared(condition, rows, board(scores, shared)))
    return made


def reworded(runs: Sequence[RunFolder]) -> frozenset[tuple[str, str]]:
    """The questions (task, id) that several runs ask in other words."""
    if len(runs) < 2:
        return frozenset()
    texts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for run in runs:
        for task in run.manifest()["tasks"]:
            for question in run.questions(task["name"]):
                texts[task["name"], question.id].add(question.question)
    return frozenset(key for key, found in texts.items() if len(found) > 1)


def _ranked(row: Row) -> bool:
    return not row.reference and row.ranks[ALL] is not None


def _compared(condition: str, rows: list[Row], whole: Board) -> Compared:
    pairs = pairwise(whole)
    if not pairs or len(whole.tasks) < 2:
        return Compared(condition, rows, whole, pairs, [[] for _ in pairs])
    names = [(one.a, one.b) for one in pairs]
    tasks = [compare_pairs(whole.of(task), names) for task in whole.tasks]
    found = [corrected([one for one in of_pair if one.questions]) for of_pair in zip(*tasks, strict=True)]
    return Compared(condition, rows, whole, pairs, found)
