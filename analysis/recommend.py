"""Which value of a component to take for a task, computed from the component results.

The best value is the one with the highest mean of the task's own metric. It is compared with each other value by
question (`statistics.paired`), with Holm's correction over all pairs of the component's values: the best one was chosen
by looking, and a correction over its own comparisons alone would forget that. What cannot be told from the best may be
taken as well, and of these the cheapest is the choice: deploying asks for no more than that.

Published means have no questions to pair. Of them there is a best value and a trend for each metric, and nothing is
certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from r_eval.analysis.components import SHARE, Component, Curve, Point, Study, trend
from r_eval.analysis.statistics.board import board
from r_eval.analysis.statistics.paired import ALPHA, Comparison, compare_pairs, corrected

ALIKE = 0.05
"""Tokens, and seconds, that differ by less than this share count as the same: they vary from run to run as well."""
COST = ("prompt_tokens", "seconds")


@dataclass(frozen=True, slots=True)
class Behind:
    """Another value beside the best one.

    Attributes:
        difference: The best one's mean less this one's; with questions, on those that both have.
        low, high: Ends of its 95 % interval; None without questions.
        p: After the correction; None without questions.
        questions: That both have.
    """

    value: str
    mean: float
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    questions: int = 0
    told_apart: bool = False


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A further metric that wants another value than the choice.

    Attributes:
        difference: How far the choice lies below that value by this metric.
        told_apart: Whether that is more than chance, at 5 % for this pair alone; None without questions.
    """

    metric: str
    value: str
    difference: float
    told_apart: bool | None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The value of one component to take for one task.

    Attributes:
        best: Of the highest mean; several where means are equal.
        mean: Theirs.
        base: The component's base value, "" where none is known.
        behind: All other values, best first.
        level: Values that cannot be told from the best, best first; none without questions.
        choice: What to take: the best, or the cheapest among it and its equals.
        cheaper: Why a value other than the best is taken; "" where the best is.
        trend: Of the means over ascending numbers, as `components.trend`.
        otherwise: Further metrics that want another value than the choice.
    """

    study: str
    condition: str
    task: str
    component: str
    metric: str
    published: bool
    best: tuple[str, ...]
    mean: float
    base: str
    behind: tuple[Behind, ...]
    level: tuple[str, ...]
    choice: str
    cheaper: str
    trend: str
    otherwise: tuple[Otherwise, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether one value is best, and every other is behind it by more than chance."""
        return len(self.best) == 1 and bool(self.behind) and all(one.told_apart for one in self.behind)


def recommendations(studies: Sequence[Study]) -> list[Recommendation]:
    """What to take, by study, task and component; nothing where fewer than two values have a score."""
    return [
        found
        for study in studies
        for task in dict.fromkeys(curve.task for component in study.components for curve in component.curves)
        for component in study.components
        for found in _of_task(study, component, [curve for curve in component.curves if curve.task == task])
    ]


def strongest(found: Sequence[Recommendation]) -> Recommendation | None:
    """The one to tell first: surely better than the base by most, else surely better than some value by most."""
    sure = [one for one in found if any(other.told_apart for other in one.behind)]
    return max(sure, key=lambda one: (_gain(one, one.base) > 0, _gain(one, one.base), _gain(one)), default=None)


def _gain(one: Recommendation, over: str | None = None) -> float:
    """The largest lead that is more than chance, over one value or over any."""
    leads = [other.difference for other in one.behind if other.told_apart and over in (None, other.value)]
    return max(leads, default=0.0)


def sentence(found: Sequence[Recommendation]) -> str:
    """The strongest recommendation in one sentence; "" where nothing was compared."""
    tested = [one for one in found if any(other.p is not None for other in one.behind)]
    one = strongest(tested)
    if one is None:
        names = ", ".join(dict.fromkeys(made.component for made in tested))
        most = max((other.questions for made in tested for other in made.behind), default=0)
        asked = f"{most:,} question{'' if most == 1 else 's'}"
        return f"no value of {names} can be told from the others with {asked}" if tested else ""
    apart = [other for other in one.behind if other.told_apart]
    other = next((other for other in apart if other.value == one.base), max(apart, key=lambda other: other.difference))
    p = f"{other.p:.1g}" if (other.p or 0) < 0.001 else f"{other.p:.3f}"
    sure = (other.p or 0.0) * len(tested) <= ALPHA  # it is the strongest of so many: Bonferroni's bound
    surely = " for certain" if sure else ""
    doubt = "" if sure else f"; of {len(tested)} comparisons of settings one comes out so by chance easily"
    lead = f"better than {other.value}{surely}, by {100 * other.difference:.1f} points of {one.metric} (p = {p}{doubt})"
    taken = "" if one.choice == one.best[0] else f"; {one.choice} is as good as far as can be told, and cheaper"
    return f"{one.task}: {one.component} {one.best[0]} is {lead}{taken}"


def _of_task(study: Study, component: Component, curves: Sequence[Curve]) -> Iterator[Recommendation]:
    shares = [curve for curve in curves if curve.unit == SHARE]
    main = shares if study.published else [curve for curve in shares if curve.own]
    shared = study.clusters.get(curves[0].task, {}) if curves else {}
    for curve in main:
        points = _scored(curve)
        if len(points) < 2:
            continue
        made = _recommendation(study, component, curve, points, shared)
        costs = {name: next((other for other in curves if other.metric == name), None) for name in COST}
        made = _chosen(made, costs)
        further = [other for other in shares if other is not curve] if curve.own else []
        yield replace(made, otherwise=tuple(_otherwise(made.choice, further, shared)))


def _scored(curve: Curve) -> list[Point]:
    """The points that have a mean, the highest first; equal ones stay in order."""
    there = [point for point in curve.points if point.estimate.mean is not None]
    return sorted(there, key=lambda point: -_mean(point))


def _mean(point: Point) -> float:
    return round(point.estimate.mean or 0.0, 12)


def _recommendation(
    study: Study, component: Component, curve: Curve, points: Sequence[Point], shared: Mapping[str, str]
) -> Recommendation:
    first = points[0]
    best = tuple(point.value for point in points if _mean(point) == _mean(first))
    compared = _compared(curve, points, shared)
    behind = tuple(_behind(first, point, compared.get(point.value)) for point in points[1:])
    level = tuple(one.value for one in behind if not one.told_apart) if compared else ()
    return Recommendation(
        study=study.name,
        condition=study.condition,
        task=curve.task,
        component=component.name,
        metric=curve.metric,
        published=study.published,
        best=best,
        mean=_mean(first),
        base=component.base,
        behind=behind,
        level=level,
        choice=first.value,
        cheaper="",
        trend=trend(component, curve),
    )


def _behind(first: Point, other: Point, found: Comparison | None) -> Behind:
    if found is None:
        return Behind(other.value, _mean(other), _mean(first) - _mean(other))
    ends = found.difference, found.low, found.high, found.adjusted
    return Behind(other.value, _mean(other), *ends, found.questions, found.better == first.value)


def _compared(curve: Curve, points: Sequence[Point], shared: Mapping[str, str]) -> dict[str, Comparison]:
    """The best value against each other one, by the other's name; corrected over all pairs of values."""
    scores = {point.value: {curve.task: point.scores} for point in points if point.scores}
    if len(scores) < 2:
        return {}
    pairs = list(combinations(scores, 2))  # the best one's come first, and it is the left one of them
    found = corrected(compare_pairs(board(scores, {curve.task: shared}), pairs))
    return {one.b: one for one in found if one.a == points[0].value and one.questions}


def _chosen(made: Recommendation, costs: Mapping[str, Curve | None]) -> Recommendation:
    """The same with the cheapest of the values that nobody can tell apart: fewest prompt tokens, then seconds."""
    if not made.level:
        return made
    best = made.best[0]
    tokens, seconds = ({value: _cost(costs[name], value) for value in (best, *made.level)} for name in COST)
    few = _least(list(tokens), tokens)
    quick = _least(few, seconds)
    if best in quick:
        return made
    choice = min(quick, key=lambda value: seconds[value])
    if best in few:
        why = f"{seconds[choice]:.2g} s in place of {seconds[best]:.2g} s, with as many prompt tokens"
    else:
        why = f"{tokens[choice]:.0f} prompt tokens in place of {tokens[best]:.0f}"
    return replace(made, choice=choice, cheaper=why)


def _least(values: Sequence[str], cost: Mapping[str, float]) -> list[str]:
    """The values that cost least, or as good as least."""
    least = min(cost[value] for value in values)
    return [value for value in values if cost[value] <= least * (1 + ALIKE)]


def _cost(curve: Curve | None, value: str) -> float:
    point = curve.of(value) if curve is not None else None
    return math.inf if point is None or point.estimate.mean is None else point.estimate.mean


def _otherwise(choice: str, further: Sequence[Curve], shared: Mapping[str, str]) -> Iterator[Otherwise]:
    """The metrics by which another value is ahead of the choice."""
    for curve in further:
        points = _scored(curve)
        own = next((point for point in points if point.value == choice), None)
        if own is None or _mean(points[0]) <= _mean(own):
            continue
        compared = _compared_alone(curve, points[0], own, shared)
        apart = compared.better == points[0].value if compared else None
        yield Otherwise(curve.metric, points[0].value, _mean(points[0]) - _mean(own), apart)


def _compared_alone(curve: Curve, one: Point, two: Point, shared: Mapping[str, str]) -> Comparison | None:
    scores = {point.value: {curve.task: point.scores} for point in (one, two)}
    found = compare_pairs(board(scores, {curve.task: shared}), [(one.value, two.value)])
    return found[0] if found and found[0].questions else None
