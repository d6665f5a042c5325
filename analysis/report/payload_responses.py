"""What the page says of the response types: how the episodes of each system and task ended, why, and at what threshold.

Read from the kept scores, one record at a time; no episode is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.sensitivity import Sensitivity, sensitivity
from r_eval.analysis.systems import suffixes
from r_eval.folder import RunFolder


def responses_payload(aggregates: Aggregates, runs: Sequence[RunFolder]) -> dict[str, Any]:
    """The parts `whys`, `ends` and `sensitivity` of the page's data.

    `ends` has a line [row, task, type, why, episodes] for each of these that there is; row, task, type and why are
    places in the lists of that name. A why of "" is a right answer.

    Args:
        runs: Those that have episodes, in the order of the aggregates.
    """
    rows = aggregates.row_places
    tasks = aggregates.task_places
    ends: Counter[tuple[int, int, int, str]] = Counter()
    changed: dict[int, Sensitivity] = {}
    for run, suffix in zip(runs, suffixes(runs), strict=True):
        for cell in run.cells():
            place = rows[cell.condition, cell.system + suffix]
            for record in run.scores(cell).values():
                ends[place, tasks[cell.task], TYPES.index(record["response_type"]), record["cause"]] += 1
        for one in sensitivity(run):
            place = rows[one.condition, one.system + suffix]
            changed[place] = _added(changed[place], one) if place in changed else one
    words = [word for word in ("", *CAUSES) if any(word == end[3] for end in ends)]
    lines = [[row, task, type_, words.index(word), number] for (row, task, type_, word), number in ends.items()]
    return {
        "whys": [{"key": word, "text": CAUSES.get(word, "")} for word in words],
        "ends": sorted(lines),
        "sensitivity": [_sensitivity(place, one) for place, one in sorted(changed.items())],
    }


def _added(one: Sensitivity, other: Sensitivity) -> Sensitivity:
    """A system that two runs have on different tasks; only the thresholds that both have stay."""
    return Sensitivity(
        one.system,
        one.condition,
        one.taxonomy,
        one.threshold,
        one.episodes + other.episodes,
        one.undecided + other.undecided,
        {at: one.types[at] + other.types[at] for at in one.types if at in other.types},
    )


def _sensitivity(row: int, one: Sensitivity) -> dict[str, Any]:
    return {
        "row": row,
        "threshold": one.threshold,
        "episodes": one.episodes,
        "at": list(one.types),
        "types": [[counts[type_] for type_ in TYPES] for counts in one.types.values()],
    }
