"""The tables of matching: which LLM suits which workflow (and the reverse), and the best of all systems by question."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.matching import Suited
from r_eval.analysis.tables.scores import percent
from r_eval.analysis.tables.sheet import Sheet
from r_eval.analysis.upper_bound import UpperBound


def matching(found: Sequence[Suited]) -> Sheet:
    """A line a workflow (or LLM) and axis: the best, the next one, and whether they can be told apart."""
    header = ["condition", "for", "axis", "best", "mean", "next", "behind", "p", "questions", "told_apart"]
    lines = []
    for one in found:
        rival = one.rivals[0] if one.rivals else None
        lines.append(
            [
                *(one.condition, one.fixed, one.axis, ", ".join(one.best), percent(one.mean)),
                *((rival.name, percent(rival.behind)) if rival is not None else (None, None)),
                *((f"{rival.p:.4f}", rival.questions) if rival is not None and rival.p is not None else (None, None)),
                "yes" if one.told_apart else "no",
            ]
        )
    notes = [
        "Means and leads are percent, over the tasks of the axis. p is of the paired permutation test against the "
        "next, on the questions that both answered, after Holm's correction over all that were compared with the best.",
        "told_apart: whether the best can be told apart from every other at 5 %; without episodes nothing can.",
    ]
    return Sheet(
        "matching", "The best LLM for each workflow, the best workflow for each LLM", header, lines, [], notes, 4
    )


def upper_bound(found: Sequence[UpperBound]) -> Sheet:
    """A line a system, in the greedy order: its own mean, what is lost without it, and what is reached with it."""
    header = ["condition", "system", "alone", "drop", "place", "reached", "questions", "incomplete"]
    lines = [
        [
            *(bound.condition, one.system, percent(one.alone), percent(one.drop), str(one.place), percent(one.reached)),
            *(str(bound.questions), str(bound.incomplete)),
        ]
        for bound in found
        for one in bound.contributions
    ]
    notes = [
        "Each question is answered by the system that does best on it. drop: what is lost without the system; reached: "
        "with it and those above it, each the one that then adds most.",
        "incomplete: questions that some system has no score on; such a score counts 0 here, so that `alone` may "
        "lie below the table of scores.",
    ]
    return Sheet("upper_bound", "The best of all systems by question, percent", header, lines, [], notes, 2)
