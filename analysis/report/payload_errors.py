"""What the statistics view is given of the error analysis: how episodes end by level and task, and what hard questions
have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from r_eval.analysis.errors import FEWEST, SEPARATORS, Distribution, ErrorAnalysis, Separator, analyse_errors
from r_eval.analysis.report.payload import rounded
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import LEVELS, Aggregates
from r_eval.analysis.systems import suffixes
from r_eval.folder import RunFolder


def errors_payload(aggregates: Aggregates, runs: Sequence[RunFolder]) -> dict[str, Any]:
    """The error analysis of each run.

    Returns:
        separators: What each is called.
        fewest: Questions that a group needs to count for a separator's spread.
        runs: Of each: `separators` with their groups (value, episodes, questions, share right, ends of its interval),
            and the distributions by `levels` and `tasks` (types in the order of `TYPES`). `row` is the system's place
            in the aggregates' rows; None stands for all systems of the condition.

    Raises:
        UserError: A folder is not a run, or a record cannot be read.
    """
    places = aggregates.row_places
    tasks = aggregates.task_places
    made = [
        {"name": run.manifest()["name"]} | _of_run(analyse_errors(run, examples=0), _Rows(places, suffix), tasks)
        for run, suffix in zip(runs, suffixes(runs), strict=True)
    ]
    return {"separators": dict(SEPARATORS), "fewest": FEWEST, "runs": made}


class _Rows:
    """Finds a system's row by the name that it has in its run; systems of a later run carry that run's name."""

    def __init__(self, places: dict[tuple[str, str], int], suffix: str) -> None:
        self._places, self._suffix = places, suffix

    def place(self, of: Distribution | Separator) -> int | None:
        return self._places[of.condition, of.system + self._suffix] if of.system else None


def _of_run(found: ErrorAnalysis, rows: _Rows, tasks: dict[str, int]) -> dict[str, Any]:
    return {
        "separators": [_separator(one, rows.place(one)) for one in found.separators],
        "levels": [
            {"row": rows.place(one), "level": one.level, "types": _types(one)}
            for one in sorted(found.by_level, key=lambda one: _level(one.level))
        ],
        "tasks": [{"row": rows.place(one), "task": tasks[one.task], "types": _types(one)} for one in found.by_task],
    }


def _separator(one: Separator, row: int | None) -> dict[str, Any]:
    groups = [
        [group.value, group.episodes, group.questions, *map(rounded, (group.right, group.low, group.high))]
        for group in one.groups
    ]
    spread = rounded(one.spread)
    return {"name": one.name, "row": row, "condition": one.condition, "groups": groups} | {
        "unknown": one.unknown,
        "spread": spread,
    }


def _types(one: Distribution) -> list[int]:
    return [one.types[type_] for type_ in TYPES]


def _level(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)
