"""What the page says of retrieval: how well the searches of each system did, and whose fault its wrong answers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from r_eval.analysis.report.payload import ends
from r_eval.analysis.retrieval_summary import Retrieved
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.tables.retrieval import SHOWN


def retrieval_payload(aggregates: Aggregates, found: Sequence[Retrieved]) -> dict[str, Any]:
    """The part `retrieval` of the page's data.

    `metrics` are the headings of the numbers; of a line, `row` and `task` are places in the lists of that name, and -1
    stands for all tasks.
    """
    rows = aggregates.row_places
    tasks = aggregates.task_places | {"": -1}
    lines = [
        {
            "row": rows[one.condition, one.system],
            "task": tasks[one.task],
            "n": one.episodes,
            "metrics": [ends(one.metrics[name]) for name in SHOWN],
            "wrong": one.wrong,
            "retrieval": one.retrieval,
            "generation": one.generation,
            "other": one.other,
        }
        for one in found
    ]
    return {"retrieval": {"metrics": list(SHOWN.values()), "lines": lines}}
