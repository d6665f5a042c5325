"""What the statistics view is given: comparisons of all pairs, the ranking, what epochs say, and the error analysis.

Rows are named by their place in the aggregates' rows, tasks by theirs in the aggregates' tasks. Lists of numbers stand
in the order that their `fields` name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from r_eval.analysis.columns import Shared
from r_eval.analysis.estimate import FEW, average
from r_eval.analysis.report.analysed import Analysed
from r_eval.analysis.report.comparisons import Compared
from r_eval.analysis.report.payload import ends, rounded
from r_eval.analysis.report.payload_errors import errors_payload
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.statistics.paired import ALPHA, MATCH, Comparison
from r_eval.analysis.statistics.ranking import ranking
from r_eval.analysis.statistics.repeats import repeats
from r_eval.analysis.systems import System

FIELDS = (
    *("questions", "clusters", "difference", "low", "high", "p", "adjusted", "detectable"),
    *("only_a", "only_b", "both", "neither", "wins", "losses", "ties", "unpaired_a", "unpaired_b"),
)
"""What the page is given of each comparison, over all tasks and on each of them."""


def statistics_payload(aggregates: Aggregates, found: Analysed) -> dict[str, Any]:
    """Comparisons, ranking, what epochs say, and the error analysis."""
    places = aggregates.row_places
    return {
        "fields": FIELDS,
        "alpha": ALPHA,
        "match": MATCH,
        "few": FEW,
        "reworded": len(found.reworded),
        "conditions": [
            _condition(compared, aggregates, {row.system: places[row.condition, row.system] for row in compared.rows})
            for compared in found.compared
        ],
        "epochs": [
            {"row": places[system.condition, system.name], "passes": passes}
            for system in found.systems
            if (system.condition, system.name) in places and (passes := _passes(system, aggregates, found.shared))
        ],
        "errors": errors_payload(aggregates, found.runs),
    }


def _condition(compared: Compared, aggregates: Aggregates, places: dict[str, int]) -> dict[str, Any]:
    tasks = aggregates.task_places
    of_task = compared.board.task_of.tolist()
    clusters = compared.board.layout.task_of.tolist()
    means = {row.system: row.overall.mean for row in compared.rows if row.overall.mean is not None}
    return {
        "name": compared.condition,
        "tasks": [
            {"task": tasks[name], "questions": of_task.count(place), "clusters": clusters.count(place)}
            for place, name in enumerate(compared.board.tasks)
        ],
        "ranking": [
            {
                "row": places[place.system],
                "rank": place.rank,
                "highest": place.highest,
                "lowest": place.lowest,
                "groups": place.groups,
            }
            for place in ranking(means, compared.pairs)
        ],
        "pairs": [
            {
                "a": places[one.a],
                "b": places[one.b],
                "all": _numbers(one),
                "tasks": [[tasks[on.tasks[0]], *_numbers(on)] for on in by_task],
            }
            for one, by_task in zip(compared.pairs, compared.by_task, strict=True)
            if one.questions
        ],
    }


def _numbers(one: Comparison) -> list[float | None]:
    """The FIELDS of a comparison; None for what cannot be said."""
    values = (float(getattr(one, name)) for name in FIELDS)
    return [rounded(value) if math.isfinite(value) else None for value in values]


def _passes(system: System, aggregates: Aggregates, shared: Shared) -> list[dict[str, Any]]:
    """pass@k and pass^k over the system's tasks, for some k; nothing where no question was tried twice."""
    tried = max((int(cell.epochs.max(initial=0)) + 1 for cell in system.cells.values()), default=1)
    found = []
    for k in _ks(tried) if tried > 1 else ():
        cells = [
            repeats(cell.questions, cell.scores.tolist(), k, clusters=shared.get(task))
            for task, cell in system.cells.items()
        ]
        of_tasks = len(aggregates.tasks)
        pass_at, pass_hat = (
            average([c.pass_at for c in cells], of_tasks),
            average([c.pass_hat for c in cells], of_tasks),
        )
        found.append(
            {"k": k, "questions": sum(cell.questions for cell in cells), "short": sum(cell.short for cell in cells)}
            | {"at": ends(pass_at), "all": ends(pass_hat), "tasks": pass_at.tasks}
        )
    return found


def _ks(tried: int) -> Iterator[int]:
    """1, 2, 4 and so on, and all tries."""
    k = 1
    while k < tried:
        yield k
        k *= 2
    yield tried
