"""What the page says of retrieval: how well the searches of each system did, and whose fault its wrong answers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.report.payload import rounded
from r_eval.analysis.retrieval_summary import Retrieved
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.tables.retrieval import SHOWN


def retrieval_payload(aggregates: Aggregates, found: Sequence[Retrieved]) -> dict[str, Any]:
    """The part `retrieval` of the page's data.

    `metrics` are the headings of the numbers; of a line, `row` and `task` are places in the lists of that name, and -1
    stands for all tasks.
    """
    rows = {(row.condition, row.system): place for place, row in enumerate(aggregates.rows)}
    tasks = {task.name: place for place, task in enumerate(aggregates.tasks)} | {"": -1}
    lines = [
        {
            "row": rows[one.condition, one.system],
            "task": tasks[one.task],
            "n": one.episodes,
            "metrics": [_numbers(one.metrics[name]) for name in SHOWN],
            "wrong": one.wrong,
            "retrieval": one.retrieval,
            "generation": one.generation,
            "other": one.other,
        }
        for one in found
    ]
    return {"retrieval": {"metrics": list(SHOWN.values()), "lines": lines}}


def _numbers(found: Estimate) -> list[float | None]:
    return [rounded(found.mean), rounded(found.low), rounded(found.high)]
