"""The table of counterfactual answers: read from the environment, or remembered from before."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.faithful import VERDICTS, Faithful
from r_eval.analysis.tables.findings import PLACE, by_condition, ends, place, place_shown, with_ends, with_interval
from r_eval.analysis.tables.sheet import Sheet

TITLE = "Read or remembered, percent"
NOTES = [
    "Of the answers where the environment's values were replaced. Faithful: the new gold answer, which only the "
    "environment tells. Leaked: the old one, which only a memory tells. Other: neither, or both alike. Percent, with "
    "intervals of 95 %; over all tasks a mean over tasks.",
    "Where there are only two answers, such as yes and no, a wrong guess counts as leaked. Incomplete: episodes "
    "without an answer, for the machinery's sake or not run yet. Dropped: questions that could not be changed.",
]


def faithful_sheet(found: Sequence[Faithful]) -> Sheet:
    """A line a system, condition and task, and one over all tasks of a system."""
    shares = with_ends([f"{kind}_share" for kind in VERDICTS])
    header = [*PLACE, "answers", *VERDICTS, "incomplete", "dropped", *shares]
    lines = [
        [
            *(*place(one), one.answers),
            *(one.counts[kind] for kind in VERDICTS),
            *(one.incomplete, one.dropped),
            *(end for kind in VERDICTS for end in ends(one.shares[kind])),
        ]
        for one in found
    ]
    shown = ["workflow", "llm", "task", "answers", *VERDICTS, "incomplete", "dropped"]
    views = by_condition(TITLE, shown, found, _shown, NOTES)
    return Sheet("faithful", TITLE, header, lines, views, NOTES)


def _shown(one: Faithful) -> list[str]:
    shares = [with_interval(one.shares[kind]) for kind in VERDICTS]
    return [*place_shown(one), str(one.answers), *shares, str(one.incomplete), str(one.dropped)]
