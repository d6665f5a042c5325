"""Who leads and how surely: the ranking of each condition with what cannot be told apart, for the page.

Bounds are no contenders, and a system that lacks a task is not ranked, as in the score table. The comparisons are
those of `statistics.paired`: paired by question, corrected over all pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from r_eval.analysis.report.analysed import Analysed
from r_eval.analysis.report.payload import rounded
from r_eval.analysis.rows import Aggregates, Row
from r_eval.analysis.systems import System


def standing(aggregates: Aggregates, found: Analysed) -> list[dict[str, Any]]:
    """The ranking of each condition in which something can be compared, best first."""
    numbers = {(row.condition, row.system): place for place, row in enumerate(aggregates.rows)}
    ranked = []
    for condition in aggregates.conditions:
        rows = [row for row in aggregates.under(condition) if not row.baseline and row.ranks["all"] is not None]
        names = {row.system for row in rows}
        own = [system for system in found.systems if system.condition == condition and system.name in names]
        if len(own) > 1:
            ranked.append(_ranked(condition, rows, own, found.shared, numbers))
    return ranked


def _ranked(
    condition: str,
    rows: Sequence[Row],
    own: Sequence[System],
    shared: Mapping[str, Mapping[str, str]],
    numbers: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    from r_eval.analysis.statistics.board import board
    from r_eval.analysis.statistics.paired import pairwise
    from r_eval.analysis.statistics.ranking import ranking

    scores = {system.name: {task: cell.by_question() for task, cell in system.cells.items()} for system in own}
    comparisons = pairwise(board(scores, shared))
    means = {row.system: row.overall.mean for row in rows if row.system in scores and row.overall.mean is not None}
    places = ranking(means, comparisons)
    first = places[0].system
    return {
        "condition": condition,
        "places": [
            {
                "row": numbers[condition, place.system],
                "highest": place.highest,
                "lowest": place.lowest,
                "groups": place.groups,
            }
            for place in places
        ],
        "lead": [
            {
                "row": numbers[condition, one.b if one.a == first else one.a],
                "lead": rounded(one.difference if one.a == first else -one.difference),
                "low": rounded(one.low if one.a == first else -one.high),
                "high": rounded(one.high if one.a == first else -one.low),
                "p": rounded(one.adjusted),
                "apart": one.better == first,
                "questions": one.questions,
                "detectable": rounded(one.detectable),
            }
            for one in comparisons
            if first in (one.a, one.b) and one.questions
        ],
    }
