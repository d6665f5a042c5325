"""What the page is given: the aggregates as plain JSON, numbers rounded, names resolved."""

from __future__ import annotations

import json
import math
from typing import Any

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.responses import NAMES, TYPES
from r_eval.analysis.rows import ALL, LEVELS, Aggregates, Row
from r_eval.analysis.summary import short_names


def payload(aggregates: Aggregates) -> dict[str, Any]:
    """The page's data; lists run in the order of `tasks`, `groups` and `types`."""
    tasks = aggregates.tasks
    llms = list(dict.fromkeys(row.llm for row in aggregates.rows))
    return {
        "runs": [_run(manifest) for manifest in aggregates.runs],
        "hasEpisodes": aggregates.has_episodes,
        "scoring": [{"taxonomy": taxonomy, "threshold": limit} for taxonomy, limit in aggregates.scoring],
        "conditions": aggregates.conditions,
        "tasks": [
            {"name": task.name, "short": short, "title": task.title, "domain": task.domain}
            | {"level": task.level, "metric": task.metric, "id": task.id}
            for task, short in zip(tasks, short_names([task.name for task in tasks]), strict=True)
        ],
        "groups": [_group(key, names) for key, names in aggregates.groups.items()],
        "types": [{"key": type_, "name": NAMES[type_]} for type_ in TYPES],
        "llms": [{"name": name, "short": short} for name, short in zip(llms, short_names(llms), strict=True)],
        "workflows": list(dict.fromkeys(row.workflow for row in aggregates.rows)),
        "rows": [_row(aggregates, row) for row in aggregates.rows],
    }


def script(name: str, data: Any) -> str:
    r"""A script that sets `R_EVAL[name]`.

    The data are a string of ASCII that the page parses as JSON: no key becomes a property such as
    `__proto__`, and neither "</script>" nor U+2028 can end anything.
    """
    text = json.dumps(json.dumps(data, separators=(",", ":"), allow_nan=False))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"window.R_EVAL = window.R_EVAL || {{}};\nwindow.R_EVAL[{json.dumps(name)}] = JSON.parse({text});\n"


def _run(manifest: dict[str, Any]) -> dict[str, Any]:
    keys = ("name", "created", "updated", "state", "seed", "versions", "published", "spent", "seconds")
    reached = [budget["text"] for budget in manifest.get("budget", [])]
    return {**{key: manifest.get(key) for key in keys}, "budget": reached}


def _group(key: str, tasks: list[str]) -> dict[str, Any]:
    domain, _, level = key.rpartition("_")
    if key == ALL or level not in LEVELS or not domain:
        domain, level = key, ""
    return {"key": key, "domain": domain, "level": level, "tasks": tasks}


def _row(aggregates: Aggregates, row: Row) -> dict[str, Any]:
    return {
        "condition": row.condition,
        "system": row.system,
        "workflow": row.workflow,
        "llm": row.llm,
        "role": row.role,
        "reference": row.reference,
        "tasks": [_estimate(row.tasks[task.name]) if task.name in row.tasks else None for task in aggregates.tasks],
        "averages": [_estimate(row.averages[group]) for group in aggregates.groups],
        "ranks": [row.ranks[group] for group in aggregates.groups],
        "types": [row.types[type_] for type_ in TYPES],
        "recorded": row.recorded,
        "undecided": row.undecided,
        "unparsed": row.unparsed,
        "failures": [
            {
                "task": failure.task,
                "outcome": failure.outcome,
                "cause": failure.cause,
                "episodes": failure.episodes,
                "machinery": failure.machinery,
            }
            for failure in row.failures
        ],
    }


def _estimate(found: Estimate) -> dict[str, Any]:
    return {
        "mean": rounded(found.mean),
        "low": rounded(found.low),
        "high": rounded(found.high),
        "worst": rounded(found.worst),
        "best": rounded(found.best),
        "n": found.n,
        "questions": found.questions,
        "expected": found.expected,
        "missing": found.missing,
        "tasks": found.tasks,
        "ofTasks": found.of_tasks,
    }


def ends(found: Estimate) -> list[float | None]:
    """A mean with the ends of its interval, as the page gets them."""
    return [rounded(found.mean), rounded(found.low), rounded(found.high)]


def rounded(value: float | None) -> float | None:
    """A number as the page gets it: with six digits, None for one that is not known or no number."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
