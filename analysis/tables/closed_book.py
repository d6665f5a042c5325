"""The table of closed books: of each system's right answers, how many its LLM does not give without the domain."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.closed_book import KINDS, ClosedBook
from r_eval.analysis.tables.findings import PLACE, by_condition, ends, place, place_shown, with_ends, with_interval
from r_eval.analysis.tables.sheet import Sheet

TITLE = "What needs the domain, percent"
NOTES = [
    "Each system beside the workflow direct of the same LLM, by question. Needed: right, the LLM alone wrong. Knew: "
    "both right. Lost: the LLM alone right, and the system wrong. Percent of the questions that both have a score for; "
    "over all tasks a mean over tasks.",
    "Needs the domain: of the system's right answers, the share that the LLM alone does not give, with its interval of "
    "95 %. AM: right answers without evidence, and how many of them the LLM alone gives too.",
]


def closed_book_sheet(found: Sequence[ClosedBook]) -> Sheet:
    """A line a system, condition and task, and one over all tasks of a system."""
    shares = with_ends(["needs", *(f"{kind}_share" for kind in KINDS)])
    counts = ["questions", "unpaired", "right", *KINDS, "am", "am_knew"]
    header = [*PLACE, *counts, *shares]
    lines = [
        [
            *(*place(one), one.questions, one.unpaired),
            *map(number, (one.right, *(one.counts[kind] for kind in KINDS), one.am, one.am_knew)),
            *(end for of in (one.needs, *(one.shares[kind] for kind in KINDS)) for end in ends(of)),
        ]
        for one in found
    ]
    shown = ["workflow", "llm", "task", "n", "right", "needs the domain", *KINDS, "AM", "AM known"]
    views = by_condition(TITLE, shown, found, _shown, NOTES)
    return Sheet("closed_book", TITLE, header, lines, views, NOTES)


def _shown(one: ClosedBook) -> list[str]:
    shares = map(with_interval, (one.needs, *(one.shares[kind] for kind in KINDS)))
    return [*place_shown(one), str(one.questions), number(one.right), *shares, number(one.am), number(one.am_knew)]


def number(count: float) -> str:
    """A number of questions: whole where it is, with one decimal where it is a mean over epochs."""
    return f"{count:.0f}" if abs(count - round(count)) < 1e-9 else f"{count:.1f}"
