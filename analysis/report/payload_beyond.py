"""What the page says beyond scores: read or remembered, what needs the domain, how steady, and under failures."""

from __future__ import annotations

from typing import Any

from r_eval.analysis.against_clean import AgainstClean, Beside
from r_eval.analysis.beyond import Beyond
from r_eval.analysis.closed_book import KINDS, ClosedBook
from r_eval.analysis.faithful import VERDICTS, Faithful
from r_eval.analysis.recovery import REACTIONS, Group, Recovery
from r_eval.analysis.report.payload import ends, rounded
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.stability import Stability
from r_eval.analysis.statistics.paired import Comparison


def beyond_payload(aggregates: Aggregates, found: Beyond) -> dict[str, Any]:
    """The part `beyond` of the page's data: a list a finding, empty where there is nothing for it.

    Of a line, `row` and `task` are places in the lists of that name, and -1 stands for all tasks. `parts` are shares
    [mean, low, high] in the order of the bars; a comparison has the score under the condition before that under clean.
    """
    rows = aggregates.row_places
    tasks = aggregates.task_places | {"": -1}

    def line(one: Faithful | ClosedBook | Stability | Recovery, more: dict[str, Any]) -> dict[str, Any]:
        return {"row": rows[one.condition, one.system], "task": tasks[one.task], **more}

    return {
        "beyond": {
            "faithful": [line(one, _faithful(one)) for one in found.faithful],
            "closed": [line(one, _closed(one)) for one in found.closed_book],
            "stability": [line(one, _stability(one)) for one in found.stability],
            "recovery": [line(one, _recovery(one)) for one in found.recovery],
            "against": [
                {"row": rows[one.condition, one.system], "task": tasks[task], **_pair(pair)}
                for one in found.against_clean
                for task, pair in _pairs(one)
            ],
        }
    }


def _faithful(one: Faithful) -> dict[str, Any]:
    return {
        "n": one.answers,
        "parts": [ends(one.shares[kind]) for kind in VERDICTS],
        "incomplete": one.incomplete,
        "dropped": one.dropped,
    }


def _closed(one: ClosedBook) -> dict[str, Any]:
    return {
        "n": one.questions,
        "parts": [ends(one.shares[kind]) for kind in KINDS],
        "right": rounded(one.right),
        "needs": ends(one.needs),
        "am": rounded(one.am),
        "known": rounded(one.am_knew),
    }


def _stability(one: Stability) -> dict[str, Any]:
    return {
        "n": one.samples,
        "parts": [ends(part) for part in (one.all_right, one.partly, one.all_wrong)],
        "flips": ends(one.flips),
        "leftOut": one.left_out,
    }


def _recovery(one: Recovery) -> dict[str, Any]:
    return {
        "n": one.failures,
        "calls": one.calls,
        "failed": ends(one.failed),
        "parts": [ends(one.shares[kind]) for kind in REACTIONS],
        "retries": one.counts["retried"],
        "succeeded": one.succeeded,
        "success": ends(one.success),
        "met": _group(one.met),
        "spared": _group(one.spared),
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "episodes": group.episodes,
        "score": ends(group.score),
        "clean": _means(group.clean) if group.clean else None,
    }


def _pairs(one: AgainstClean) -> list[tuple[str, Comparison]]:
    """Its comparisons by task; "" is that over several tasks."""
    if not one.by_task:
        return [(one.overall.tasks[0], one.overall)]
    return [*((pair.tasks[0], pair) for pair in one.by_task), ("", one.overall)]


def _pair(pair: Comparison) -> dict[str, Any]:
    return {**_means(pair), "p": rounded(pair.adjusted), "apart": pair.told_apart}


def _means(pair: Comparison | Beside) -> dict[str, Any]:
    return {
        "questions": pair.questions,
        "means": [rounded(pair.mean_a), rounded(pair.mean_b)],
        "difference": [rounded(pair.difference), rounded(pair.low), rounded(pair.high)],
    }
