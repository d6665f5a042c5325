"""A mean with what must stand beside it: how many episodes, how sure, and what the missing ones allow.

The interval is of 95 %; `statistics.intervals` says which one it is, and why. The epochs of a question are averaged
first, and questions that share a template or a document count as one cluster. For an average over tasks the tasks are
strata: each with the same weight, and each unsure on its own account.

The bounds are no statistics: they are what the mean would be if every missing episode scored 0, or 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from r_eval.analysis.statistics import intervals
from r_eval.analysis.statistics.intervals import Z

FEW = 30
"""Below this many questions a mean says little."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over episodes, or over tasks.

    Attributes:
        mean: From 0 to 1; None where nothing was scored.
        n: Episodes scored.
        expected: Episodes that the run asks for; None where that is not known (published results).
        low, high: Ends of the 95 % interval; None without episodes.
        worst, best: The mean if every missing episode scored 0, or 1.
        tasks: Tasks averaged over, and of how many.
        of_tasks: Tasks that the average should cover.
        questions: Different questions among the episodes; 0 where only the mean is known.
        clusters: Independent ones among them: questions that share a template or document count once.
        variance: Of the mean, as the interval takes it; None without episodes.
    """

    mean: float | None
    n: int
    expected: int | None
    low: float | None
    high: float | None
    worst: float | None
    best: float | None
    tasks: int = 1
    of_tasks: int = 1
    questions: int = 0
    clusters: int = 0
    variance: float | None = None

    @property
    def missing(self) -> int:
        """Episodes that have no score yet."""
        return max(0, (self.expected or self.n) - self.n)

    @property
    def complete(self) -> bool:
        """Whether every task is there, with every episode."""
        return self.missing == 0 and self.tasks == self.of_tasks and self.mean is not None

    @property
    def few(self) -> bool:
        """Whether there are scores, and of fewer than FEW questions."""
        return 0 < (self.questions or self.n) < FEW


def of_questions(
    questions: Sequence[str], scores: Sequence[float], expected: int, clusters: Mapping[str, str] | None = None
) -> Estimate:
    """The estimate of one cell.

    Args:
        questions: The question of each scored episode.
        scores: The score of each.
        expected: Episodes that the run asks for.
        clusters: What each question shares with others; a question that is not in it stands alone.
    """
    n, expected = len(scores), max(expected, len(scores))
    if n == 0:
        return Estimate(None, 0, expected, None, None, 0.0, 1.0, 0, 1)
    by_question: dict[str, list[float]] = {}
    for question, score in zip(questions, scores, strict=True):
        by_question.setdefault(question, []).append(score)
    means = {question: math.fsum(own) / len(own) for question, own in by_question.items()}
    mean, spread, number = over_clusters(means, clusters or {})
    variance = intervals.steadied(mean, spread, len(means), number)
    _, low, high = intervals.over_tasks([mean], [variance], [number])
    total = math.fsum(scores)
    bounds = total / expected, (total + expected - n) / expected
    return Estimate(mean, n, expected, low, high, *bounds, questions=len(means), clusters=number, variance=variance)


def over_clusters(values: Mapping[str, float], clusters: Mapping[str, str]) -> tuple[float, float, int]:
    """The mean of some questions, its jackknife variance over clusters, and how many of these there are.

    Args:
        values: Of each question.
        clusters: As for `of_questions`.
    """
    import numpy as np

    from r_eval.analysis.statistics.moments import layout, moments

    order = sorted(values, key=lambda question: clusters.get(question, question))
    names = np.array([clusters.get(question, question) for question in order], object)
    column = np.array([[values[question]] for question in order])
    found = moments(column, layout(np.zeros(len(order), np.int64), names))
    return math.fsum(values.values()) / len(values), float(found.variances[0, 0]), int(found.clusters[0, 0])


def of_ratio(
    questions: Sequence[str], parts: Sequence[float], wholes: Sequence[float], clusters: Mapping[str, str] | None = None
) -> Estimate:
    """The share that parts are of their wholes, a ratio of two sums over questions; wholes of 0 take no part.

    Its variance is that of the usual linear form, in which a question counts as much as its whole is large. Where all
    wholes are 1 that is the plain mean.
    """
    sums: dict[str, list[float]] = {}
    for question, part, whole in zip(questions, parts, wholes, strict=True):
        if whole:
            sum_ = sums.setdefault(question, [0.0, 0.0])
            sum_[0] += part
            sum_[1] += whole
    if not sums:
        return of_questions([], [], 0)
    total = math.fsum(whole for _, whole in sums.values())
    ratio = math.fsum(part for part, _ in sums.values()) / total
    mean = total / len(sums)
    values = [ratio + (part - ratio * whole) / mean for part, whole in sums.values()]
    return of_questions(list(sums), values, 0, clusters)


def of_scores(total: float, n: int, expected: int) -> Estimate:
    """The estimate of one cell of which only the sum of the scores is known; as of independent questions."""
    expected = max(expected, n)
    if n == 0:
        return Estimate(None, 0, expected, None, None, 0.0, 1.0, 0, 1)
    low, high = interval(total / n, n)
    bounds = total / expected, (total + expected - n) / expected
    return Estimate(total / n, n, expected, low, high, *bounds, clusters=n, variance=_binary(total / n, n))


def published(mean: float, episodes: int | None = None) -> Estimate:
    """The estimate of a cell of which only the mean is known; an interval where the episodes are."""
    if not episodes:
        return Estimate(mean, 0, episodes, None, None, mean, mean)
    low, high = interval(mean, episodes)
    variance = _binary(mean, episodes)
    return Estimate(mean, episodes, episodes, low, high, mean, mean, clusters=episodes, variance=variance)


def average(cells: Sequence[Estimate], of_tasks: int) -> Estimate:
    """The mean over tasks, each with the same weight; the tasks without a score are left out and counted."""
    there = [cell for cell in cells if cell.mean is not None]
    n = sum(cell.n for cell in cells)
    known = [cell.expected for cell in cells if cell.expected is not None]
    expected = sum(known) if len(known) == len(cells) and cells else None
    if not there:
        return Estimate(None, n, expected, None, None, None, None, 0, of_tasks)
    mean = math.fsum(cell.mean for cell in there if cell.mean is not None) / len(there)
    low, high, variance = _average_interval(there)
    worst = math.fsum(cell.worst for cell in cells if cell.worst is not None) / len(cells)
    best = math.fsum(cell.best for cell in cells if cell.best is not None) / len(cells)
    questions, clusters = sum(cell.questions for cell in there), sum(cell.clusters for cell in there)
    bounds = low, high, worst, best
    return Estimate(mean, n, expected, *bounds, len(there), of_tasks, questions, clusters, variance)


def _average_interval(cells: Sequence[Estimate]) -> tuple[float | None, float | None, float | None]:
    variances = [cell.variance for cell in cells if cell.variance is not None]
    if len(variances) < len(cells):
        return None, None, None
    numbers = [float(cell.clusters) for cell in cells]
    _, low, high = intervals.over_tasks([cell.mean or 0.0 for cell in cells], variances, numbers)
    return low, high, intervals.pooled(variances, numbers)[0]


def interval(mean: float, n: float) -> tuple[float, float]:
    """95 % interval of the mean of `n` independent scores of which nothing more is known: Wilson's, or the exact one.

    A score between 0 and 1 with mean p has a variance of at most p(1 - p), so it is never too narrow on that account.

    >>> [round(end, 3) for end in interval(0.5, 20)], [round(end, 3) for end in interval(0.0, 20)]
    ([0.299, 0.701], [0.0, 0.168])
    """
    if intervals.certain(mean):
        return intervals.exact(mean, n)
    return intervals.wilson(mean, mean * (1 - mean) / n, Z)


def _binary(mean: float, n: int) -> float:
    return intervals.steadied(mean, mean * (1 - mean) / n, n, n)
