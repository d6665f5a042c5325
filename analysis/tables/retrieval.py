"""The table of retrieval: how well the searches of each system did, and whose fault its wrong answers are."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.retrieval_summary import Retrieved
from r_eval.analysis.tables.scores import NAMES, percent
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View

SHOWN = {"recall": "recall", "hit_rate": "hit rate", "ndcg": "NDCG"}
"""Metrics that stand with their intervals, with the headings that people read."""
ALL_TASKS = "all tasks"
NOTES = [
    "Of the scored episodes whose right documents or evidence are known; the metrics are percent, with intervals of "
    "95 %. Over all tasks they are means over tasks.",
    "A wrong answer is a failure of retrieval where not all that is right was found (RE), one of generation where all "
    "of it was seen (GE), and another one otherwise.",
]


def retrieval(found: Sequence[Retrieved]) -> Sheet:
    """A line a system, condition and task of which retrieval is known, and one over all tasks of a system."""
    ends = [f"{name}{end}" for name in SHOWN for end in ("", "_low", "_high")]
    counts = ["wrong", "retrieval_failures", "generation_failures", "other_failures"]
    shares = ["retrieval_share", "generation_share"]
    header = [*NAMES, "condition", "task", "n", "questions", *ends, "precision", "mrr", *counts, *shares]
    lines = [
        [
            *(one.system, one.workflow, one.llm, one.condition, one.task or ALL_TASKS),
            *(one.episodes, one.metrics["recall"].questions),
            *(number for name in SHOWN for number in _ends(one.metrics[name])),
            *(percent(one.metrics[name].mean) for name in ("precision", "mrr")),
            *(one.wrong, one.retrieval, one.generation, one.other),
            *(percent(one.share(failures)) for failures in (one.retrieval, one.generation)),
        ]
        for one in found
    ]
    conditions = list(dict.fromkeys(one.condition for one in found))
    views = [_view(condition, found, len(conditions) > 1) for condition in conditions]
    return Sheet("retrieval", "Retrieval, percent", header, lines, views, NOTES)


def _ends(found: Estimate) -> tuple[str | None, ...]:
    return percent(found.mean), percent(found.low), percent(found.high)


def _view(condition: str, found: Sequence[Retrieved], several: bool) -> View:
    header = ["workflow", "llm", "task", "n", *SHOWN.values(), "wrong", "retrieval", "generation", "other"]
    lines = [
        [
            *(one.workflow, one.llm, one.task or ALL_TASKS, str(one.episodes)),
            *(_shown(one.metrics[name]) for name in SHOWN),
            *(str(one.wrong), *(_failures(one, number) for number in (one.retrieval, one.generation, one.other))),
        ]
        for one in found
        if one.condition == condition
    ]
    title = f"Retrieval, percent, and failures of retrieval and of generation{f', {condition}' if several else ''}"
    return View(title, header, lines, notes=NOTES, left=3)


def _shown(found: Estimate) -> str:
    if found.mean is None:
        return ABSENT
    known = found.low is not None and found.high is not None
    ends = f" ({100 * (found.low or 0):.1f} to {100 * (found.high or 0):.1f})" if known else ""
    return f"{100 * found.mean:.1f}{ends}"


def _failures(one: Retrieved, number: int) -> str:
    share = one.share(number)
    return str(number) if share is None else f"{number} ({100 * share:.0f} %)"
