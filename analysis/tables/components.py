"""The tables of the components of a pipeline: every number, what to take, and what was claimed of it.

Shares are percent, `length` is characters, times are seconds and tokens are counts, an episode.
"""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.claims import Checked
from r_eval.analysis.components import SHARE, Component, Curve, Point, Study
from r_eval.analysis.recommend import Behind, Otherwise, Recommendation
from r_eval.analysis.tables.scores import percent
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View


def component_sheets(
    studies: Sequence[Study], found: Sequence[Recommendation], claims: Sequence[Checked]
) -> list[Sheet]:
    """The tables that there is something for."""
    return [
        *([components(studies)] if studies else []),
        *([recommended(found)] if found else []),
        *([claimed(claims)] if claims else []),
    ]


def components(studies: Sequence[Study]) -> Sheet:
    """A line a component, value, task and metric, with its interval and how much is behind it."""
    header = ["run", "condition", "component", "value", "base", "task", "metric", "unit", "mean", "low", "high"]
    header += ["questions", "episodes", "incomplete", "moved_along", "table", "source"]
    lines = [
        [study.name, study.condition, *_line(component, curve, point)]
        for study in studies
        for component in study.components
        for curve in component.curves
        for point in curve.points
        if point.estimate.mean is not None or point.estimate.expected
    ]
    notes = [
        "Shares are percent. An interval is of 95 %, over questions, or over what they share; means alone have none."
    ]
    if any(study.protocol == "one" for study in studies):
        notes.append("One setting at a time: all others are at the base.")
    if any(study.protocol == "cross" for study in studies):
        notes.append("All combinations: a value's number is the mean over the other settings, a question at a time.")
    return Sheet("components", "Metrics by the values of a component", header, lines, [], notes, 7)


def recommended(found: Sequence[Recommendation]) -> Sheet:
    """For programs a line a value other than the best; for people a line a task and component."""
    header = [
        "run",
        "condition",
        "task",
        "component",
        "metric",
        "best",
        "mean",
        "trend",
        "certain",
        "choice",
        "cheaper",
    ]
    header += ["value", "value_mean", "difference", "low", "high", "p", "questions", "told_apart", "otherwise"]
    lines = [
        [
            *(one.study, one.condition, one.task, one.component, one.metric, ", ".join(one.best), percent(one.mean)),
            *(one.trend or None, certainty(one), one.choice, one.cheaper or None),
            *_behind(other),
            None if one.published else "yes" if other.told_apart else "no",
            "; ".join(map(otherwise, one.otherwise)) or None,
        ]
        for one in found
        for other in one.behind
    ]
    return Sheet("recommendations", "What to take", header, lines, [_view(found)], [], 6)


def claimed(claims: Sequence[Checked]) -> Sheet:
    """A line a claim: what is said, and what the figures say."""
    header = ["source", "words", "component", "task", "metric", "claim", "verdict", "figures"]
    lines = [
        [
            *(one.claim.source, one.claim.words, one.claim.component, one.claim.task, one.claim.metric),
            *(f"{one.claim.claim} {one.claim.value}".strip(), one.verdict, one.figures),
        ]
        for one in claims
    ]
    return Sheet("claims", "What is said, and what the figures say", header, lines, left=8)


def certainty(one: Recommendation) -> str:
    """Whether the best value is certain, in a word."""
    return "unknown" if one.published else "yes" if one.certain else "no"


def otherwise(one: Otherwise) -> str:
    """That a further metric wants another value, in words."""
    sure = "" if one.told_apart is None else ", for certain" if one.told_apart else ", not certain"
    return f"{one.metric} wants {one.value} ({percent(one.difference)} points{sure})"


def _line(component: Component, curve: Curve, point: Point) -> list[str | int | None]:
    found, episodes = point.estimate, point.estimate.n or point.estimate.expected
    numbers = [_number(curve, value) for value in (found.mean, found.low, found.high)]
    return [
        *(component.name, point.value, "yes" if point.value == component.base else None),
        *(curve.task, curve.metric, "percent" if curve.unit == SHARE else curve.unit, *numbers),
        *((found.questions, found.n, found.missing) if episodes else (None, None, None)),
        *(component.moved.get(point.value), point.table or None, point.source or None),
    ]


def _number(curve: Curve, value: float | None) -> str | None:
    if value is None or curve.unit == SHARE:
        return percent(value)
    return f"{value:.1f}" if curve.unit != "seconds" else f"{value:.4g}"


def _behind(other: Behind) -> list[str | int | None]:
    ends = [percent(value) for value in (other.difference, other.low, other.high)]
    p = None if other.p is None else f"{other.p:.4f}"
    return [other.value, percent(other.mean), *ends, p, other.questions or None]


def _view(found: Sequence[Recommendation]) -> View:
    header = ["task", "component", "metric", "best", "mean", "trend", "next, points behind", "certain", "take", "but"]
    lines = [
        [
            *(one.task, one.component, one.metric, ", ".join(one.best), percent(one.mean) or ABSENT),
            *(
                one.trend or ABSENT,
                _next(one),
                _sure(one),
                one.choice + (f" ({one.cheaper})" if one.cheaper else ""),
            ),
            "; ".join(map(otherwise, one.otherwise)) or ABSENT,
        ]
        for one in found
    ]
    notes = [
        "Certain: every other value is behind by more than chance, paired by question, with Holm's correction over all "
        "pairs of the component's values, at 5 %. Take: the best, or the cheapest of what cannot be told from it "
        "(fewest prompt tokens, then seconds).",
    ]
    if any(one.published for one in found):
        notes.append("Of published means nothing is certain: they have no questions to pair.")
    return View("What to take", header, lines, notes=notes, left=4)


def _sure(one: Recommendation) -> str:
    questions = max((other.questions for other in one.behind), default=0)
    return certainty(one) + (f", {questions} question{'' if questions == 1 else 's'}" if questions else "")


def _next(one: Recommendation) -> str:
    if not one.behind:
        return ABSENT
    other = one.behind[0]
    ends = "" if other.low is None else f" ({percent(other.low)} to {percent(other.high)})"
    return f"{other.value}, {percent(other.difference)}{ends}"
