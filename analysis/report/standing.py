"""Who leads and how surely: the ranking of each condition with what cannot be told apart, for the page.

References are not ranked, and a system that lacks a task is not ranked, as in the score table. The comparisons are
those of `statistics.paired`: paired by question, corrected over all pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from r_eval.analysis.report.analysed import Analysed
from r_eval.analysis.report.comparisons import Compared
from r_eval.analysis.report.payload import rounded
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.statistics.ranking import ranking


def standing(aggregates: Aggregates, found: Analysed) -> list[dict[str, Any]]:
    """The ranking of each condition in which something can be compared, best first."""
    numbers = aggregates.row_places
    return [_ranked(compared, numbers) for compared in found.compared if compared.pairs]


def _ranked(compared: Compared, numbers: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    condition = compared.condition
    means = {row.system: row.overall.mean for row in compared.rows if row.overall.mean is not None}
    places = ranking(means, compared.pairs)
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
            for one in compared.pairs
            if first in (one.a, one.b) and one.questions
        ],
    }
