"""The table of closed books: of each system's right answers, how many its LLM does not give without the domain."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.closed_book import KINDS, ClosedBook
from r_eval.analysis.tables.scores import NAMES
from r_eval.analysis.tables.sheet import Sheet, View
from r_eval.analysis.tables.stability import ALL_TASKS, ends, with_interval

NOTES = [
    "Each system beside the workflow direct of the same LLM, by question. Needed: right, the LLM alone wrong. Knew: "
    "both right. Lost: the LLM alone right, and the system wrong. Percent of the questions that both have a score for; "
    "over all tasks a mean over tasks.",
    "Needs the domain: of the system's right answers, the share that the LLM alone does not give, with its interval of "
    "95 %. AM: right answers without evidence, and how many of them the LLM alone gives too.",
]


def closed_book_sheet(found: Sequence[ClosedBook]) -> Sheet:
    """A line a system, condition and task, and one over all tasks of a system."""
    shares = [f"{kind}_share{end}" for kind in KINDS for end in ("", "_low", "_high")]
    needs = ["needs", "needs_low", "needs_high"]
    counts = ["questions", "unpaired", "right", *KINDS, "am", "am_knew"]
    header = [*NAMES, "condition", "task", *counts, *needs, *shares]
    lines = [
        [
            *(one.system, one.workflow, one.llm, one.condition, one.task or ALL_TASKS, one.questions, one.unpaired),
            *map(number, (one.right, *(one.counts[kind] for kind in KINDS), one.am, one.am_knew)),
            *ends(one.needs),
            *(end for kind in KINDS for end in ends(one.shares[kind])),
        ]
        for one in found
    ]
    conditions = list(dict.fromkeys(one.condition for one in found))
    views = [_view(condition, found, len(conditions) > 1) for condition in conditions]
    return Sheet("closed_book", "What needs the domain, percent", header, lines, views, NOTES)


def _view(condition: str, found: Sequence[ClosedBook], several: bool) -> View:
    header = ["workflow", "llm", "task", "n", "right", "needs the domain", *KINDS, "AM", "AM known"]
    lines = [
        [
            *(one.workflow, one.llm, one.task or ALL_TASKS, str(one.questions), number(one.right)),
            *(with_interval(one.needs), *(with_interval(one.shares[kind]) for kind in KINDS)),
            *(number(one.am), number(one.am_knew)),
        ]
        for one in found
        if one.condition == condition
    ]
    title = f"What needs the domain, percent{f', {condition}' if several else ''}"
    return View(title, header, lines, notes=NOTES, left=3)


def number(count: float) -> str:
    """A number of questions: whole where it is, with one decimal where it is a mean over epochs."""
    return f"{count:.0f}" if abs(count - round(count)) < 1e-9 else f"{count:.1f}"
