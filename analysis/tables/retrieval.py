"""The table of retrieval: how well the searches of each system did, and whose fault its wrong answers are."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.retrieval_summary import Retrieved
from r_eval.analysis.tables.findings import PLACE, by_condition, ends, place, place_shown, with_ends, with_interval
from r_eval.analysis.tables.scores import percent
from r_eval.analysis.tables.sheet import Sheet

SHOWN = {"recall": "recall", "hit_rate": "hit rate", "ndcg": "NDCG"}
"""Metrics that stand with their intervals, with the headings that people read."""
TITLE = "Retrieval, percent"
NOTES = [
    "Of the scored episodes whose right documents or evidence are known; the metrics are percent, with intervals of "
    "95 %. Over all tasks they are means over tasks.",
    "A wrong answer is a failure of retrieval where not all that is right was found (RE), one of generation where all "
    "of it was seen (GE), and another one otherwise.",
]


def retrieval(found: Sequence[Retrieved]) -> Sheet:
    """A line a system, condition and task of which retrieval is known, and one over all tasks of a system."""
    counts = ["wrong", "retrieval_failures", "generation_failures", "other_failures"]
    shares = ["retrieval_share", "generation_share"]
    header = [*PLACE, "n", "questions", *with_ends(list(SHOWN)), "precision", "mrr", *counts, *shares]
    lines = [
        [
            *place(one),
            *(one.episodes, one.metrics["recall"].questions),
            *(number for name in SHOWN for number in ends(one.metrics[name])),
            *(percent(one.metrics[name].mean) for name in ("precision", "mrr")),
            *(one.wrong, one.retrieval, one.generation, one.other),
            *(percent(one.share(failures)) for failures in (one.retrieval, one.generation)),
        ]
        for one in found
    ]
    shown = ["workflow", "llm", "task", "n", *SHOWN.values(), "wrong", "retrieval", "generation", "other"]
    views = by_condition(f"{TITLE}, and failures of retrieval and of generation", shown, found, _shown, NOTES)
    return Sheet("retrieval", TITLE, header, lines, views, NOTES)


def _shown(one: Retrieved) -> list[str]:
    metrics = [with_interval(one.metrics[name]) for name in SHOWN]
    failures = [_failures(one, number) for number in (one.retrieval, one.generation, one.other)]
    return [*place_shown(one), str(one.episodes), *metrics, str(one.wrong), *failures]


def _failures(one: Retrieved, number: int) -> str:
    share = one.share(number)
    return str(number) if share is None else f"{number} ({100 * share:.0f} %)"
