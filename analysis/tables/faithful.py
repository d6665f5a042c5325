"""The table of counterfactual answers: read from the environment, or remembered from before."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.faithful import VERDICTS, Faithful
from r_eval.analysis.tables.scores import NAMES
from r_eval.analysis.tables.sheet import Sheet, View
from r_eval.analysis.tables.stability import ALL_TASKS, ends, with_interval

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
    shares = [f"{kind}_share{end}" for kind in VERDICTS for end in ("", "_low", "_high")]
    header = [*NAMES, "condition", "task", "answers", *VERDICTS, "incomplete", "dropped", *shares]
    lines = [
        [
            *(one.system, one.workflow, one.llm, one.condition, one.task or ALL_TASKS, one.answers),
            *(one.counts[kind] for kind in VERDICTS),
            *(one.incomplete, one.dropped),
            *(end for kind in VERDICTS for end in ends(one.shares[kind])),
        ]
        for one in found
    ]
    conditions = list(dict.fromkeys(one.condition for one in found))
    views = [_view(condition, found, len(conditions) > 1) for condition in conditions]
    return Sheet("faithful", TITLE, header, lines, views, NOTES)


def _view(condition: str, found: Sequence[Faithful], several: bool) -> View:
    lines = [
        [
            *(one.workflow, one.llm, one.task or ALL_TASKS, str(one.answers)),
            *(with_interval(one.shares[kind]) for kind in VERDICTS),
            *(str(one.incomplete), str(one.dropped)),
        ]
        for one in found
        if one.condition == condition
    ]
    header = ["workflow", "llm", "task", "answers", *VERDICTS, "incomplete", "dropped"]
    return View(f"{TITLE}{f', {condition}' if several else ''}", header, lines, notes=NOTES, left=3)
