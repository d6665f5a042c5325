"""What the page says of matching: who suits whom, and the best of all systems by question."""

from __future__ import annotations

from typing import Any

from r_eval.analysis.matching import Suited
from r_eval.analysis.report.analysed import Analysed
from r_eval.analysis.report.payload import rounded
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.upper_bound import UpperBound


def matching_payload(aggregates: Aggregates, found: Analysed) -> dict[str, Any]:
    """The parts `suited` (by workflow and by LLM) and `bounds` of the page's data."""
    return {
        "suited": {
            "workflow": [_suited(one) for one in found.workflows],
            "llm": [_suited(one) for one in found.llms],
        },
        "bounds": [_bound(aggregates, bound) for bound in found.bounds],
    }


def _suited(one: Suited) -> dict[str, Any]:
    return {
        "condition": one.condition,
        "fixed": one.fixed,
        "axis": one.axis,
        "best": list(one.best),
        "mean": rounded(one.mean),
        "apart": one.told_apart,
        "rivals": [
            {"name": rival.name, "mean": rounded(rival.mean), "p": rounded(rival.p), "apart": rival.told_apart}
            for rival in one.rivals
        ],
    }


def _bound(aggregates: Aggregates, bound: UpperBound) -> dict[str, Any]:
    numbers = {row.system: place for place, row in enumerate(aggregates.rows) if row.condition == bound.condition}
    return {
        "condition": bound.condition,
        "mean": rounded(bound.mean),
        "tasks": [rounded(bound.tasks.get(task.name)) for task in aggregates.tasks],
        "questions": bound.questions,
        "incomplete": bound.incomplete,
        "systems": [
            {
                "row": numbers[one.system],
                "alone": rounded(one.alone),
                "drop": rounded(one.drop),
                "reached": rounded(one.reached),
            }
            for one in bound.contributions
        ],
    }
