"""The table of conditions: each system under one less the same system in the bare environment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from r_eval.analysis.against_clean import AgainstClean, Beside
from r_eval.analysis.statistics.paired import Comparison
from r_eval.analysis.tables.findings import ALL_TASKS, PLACE
from r_eval.analysis.tables.scores import percent
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View

TITLE = "Against clean, percent"
NOTES = [
    "The score under the condition less that of the same system under clean, paired by question, with its interval of "
    "95 %; over all tasks a mean over tasks. Under counterfactual the score is that on the new gold answers. p is the "
    "permutation test's; over all tasks adjusted is Holm's correction over the tool-using systems of a "
    "condition, and on a task that over the tasks of the system."
]


def against_clean_sheet(found: Sequence[AgainstClean]) -> Sheet:
    """A line a system and condition over all tasks, and one a task where there are several."""
    tested = ["difference", "low", "high", "p", "adjusted", "told_apart", "unpaired"]
    header = [*PLACE, "questions", "score", "clean", *tested]
    lines = [
        [
            *(one.system, one.workflow, one.llm, one.condition, task, pair.questions, *means(pair)),
            *difference(pair),
            *(f"{pair.p:.4g}", f"{pair.adjusted:.4g}", pair.told_apart, pair.unpaired_a + pair.unpaired_b),
        ]
        for one in found
        for task, pair in _pairs(one)
    ]
    views = [_view(condition, found) for condition in dict.fromkeys(one.condition for one in found)]
    return Sheet("against_clean", TITLE, header, lines, views, NOTES)


def _pairs(one: AgainstClean) -> Iterator[tuple[str, Comparison]]:
    for pair in one.by_task:
        yield pair.tasks[0], pair
    yield ALL_TASKS if one.by_task else one.overall.tasks[0], one.overall


def _view(condition: str, found: Sequence[AgainstClean]) -> View:
    lines = [
        [
            *(one.workflow, one.llm, task, str(pair.questions)),
            *(text or ABSENT for text in means(pair)),
            *(difference_text(pair), "< 0.001" if pair.adjusted < 0.001 else f"{pair.adjusted:.3f}"),
        ]
        for one in found
        if one.condition == condition
        for task, pair in _pairs(one)
    ]
    header = ["workflow", "llm", "task", "questions", "score", "clean", "difference", "p"]
    return View(f"{TITLE}, {condition}", header, lines, notes=NOTES, left=3)


def means(pair: Comparison | Beside | None) -> tuple[str | None, str | None]:
    """The score under the condition and that under clean, on the same questions, as percent."""
    return (percent(pair.mean_a), percent(pair.mean_b)) if pair else (None, None)


def difference(pair: Comparison | Beside | None) -> tuple[str | None, str | None, str | None]:
    """A difference and the ends of its interval as percent points."""
    if pair is None or math.isnan(pair.difference):
        return None, None, None
    return percent(pair.difference), percent(pair.low), percent(pair.high)


def difference_text(pair: Comparison | Beside | None) -> str:
    """A difference with its interval, as people read it."""
    if pair is None or math.isnan(pair.difference):
        return ABSENT
    return f"{_signed(pair.difference)} ({_signed(pair.low)} to {_signed(pair.high)})"


def _signed(share: float) -> str:
    """As percent with its sign; what is rounded to 0 has none."""
    return "0.0" if abs(share) < 0.0005 else f"{100 * share:+.1f}"
