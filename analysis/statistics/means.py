"""Means of scores over questions, and their intervals.

Questions that share a document are one cluster, not independent: the variance of a mean is the jackknife's over
clusters (Quenouille 1956), which is s^2 / n where every question is a cluster of its own. The tasks of an average are
strata: each has the same weight and a variance of its own.

The interval is Wilson's (1927) on the effective number of questions (Korn and Graubard 1998): as many independent
right-or-wrong scores as would have the variance that was found. Three rules cover what a variance cannot say:

* Right-or-wrong scores in clusters never have a lower variance than independent ones.
* A lower variance of graded scores is drawn towards that of right-or-wrong ones, as if two more clusters had been seen
  with it: a few scores other than 0 say little about a variance.
* Where all scores are 0, or all are 1, each cluster counts as one question; so does a task of a single cluster.

Independent right-or-wrong scores take the normal quantile, as their mean determines their variance; all others take
Student's, with the clusters less one as degrees of freedom (over several tasks, Satterthwaite's 1946).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ALPHA = 0.05
MATCH = 0.5
"""From this score on, a question counts as answered."""
FEW = 30
"""Below this many questions a mean says little."""
PRIOR = 2.0
"""Clusters that a variance of right-or-wrong scores counts for, next to the variance that was found."""
ROUNDING = 1e-12


class Mean(NamedTuple):
    """A mean with the ends of its interval; NaN without scores.

    `mean_of_groups` has an array in each field, with one place per group.
    """

    mean: Any
    low: Any
    high: Any
    questions: Any
    clusters: Any


class Moments(NamedTuple):
    """Questions, clusters and mean of some groups; variance (NaN below two clusters) and third moment of the mean."""

    questions: Floats
    clusters: Floats
    mean: Floats
    variance: Floats
    third: Floats


def mean(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    level: float = ALPHA,
    bounded: bool = True,
) -> Mean:
    """The mean of some questions with its interval.

    Args:
        values: One per question, its mean over epochs; NaN for a question without a value.
        clusters: What each question shares with others; absent: nothing.
        strata: The task of each question; the mean is that of the tasks' means.
        level: 0.05 for an interval of 95 %.
        bounded: Whether values lie between 0 and 1; others (seconds, tokens) get Student's interval.

    >>> [round(float(number), 3) for number in mean([1, 1, 1, 0])[:3]]
    [0.75, 0.301, 0.954]
    """
    numbers = np.asarray(values, np.float64)
    there = ~np.isnan(numbers)
    of_cluster, of_stratum = (None if labels is None else codes(labels)[there] for labels in (clusters, strata))
    one = np.zeros(there.sum(), np.int64)
    found = mean_of_groups(numbers[there], one, 1, of_cluster, of_stratum, level, bounded)
    return Mean(*(float(part[0]) for part in found[:3]), *(int(part[0]) for part in found[3:]))


def mean_of_groups(
    values: Floats,
    groups: Integers,
    number: int,
    clusters: Integers | None = None,
    strata: Integers | None = None,
    level: float = ALPHA,
    bounded: bool = True,
) -> Mean:
    """The means of many groups at once, as `mean`.

    Args:
        values: One per group and question, without NaN.
        groups: The group of each value, from 0 to `number` - 1; a group may be empty.
        clusters, strata: A number per value.
    """
    strata = np.zeros(len(values), np.int64) if strata is None else strata
    of_value, of_stratum = cross(groups, strata)
    found = moments(values, of_value, len(of_stratum), clusters)
    graded = np.bincount(of_value, (values != 0) & (values != 1), len(of_stratum)) > 0
    single = found.clusters == 1
    counted = np.where(single, 1.0, found.questions)
    spread = found.mean * (1 - found.mean) / np.maximum(1.0, counted - 1)
    variance = np.where(single, spread if bounded else np.nan, found.variance)
    if bounded:
        variance = np.where(graded, variance, np.maximum(variance, spread))
    over = Pooled(of_stratum, number, found, variance)
    if not bounded:
        half = quantile(level, over.freedom) * np.sqrt(over.variance)
        return Mean(over.mean, over.mean - half, over.mean + half, over.questions, over.clusters)
    own = over.sums(graded) > 0
    independent = ~own & (over.questions == over.clusters)
    freedom = np.where(independent, np.inf, over.freedom)
    size = _effective_size(over, counted, own)
    return Mean(over.mean, *_wilson(over.mean, size, quantile(level, freedom)), over.questions, over.clusters)


def wilson(share: ArrayLike, number: ArrayLike, level: float = ALPHA) -> tuple[Floats, Floats]:
    """Wilson's interval of a mean of `number` independent scores of which nothing more is known.

    >>> [round(float(end), 3) for end in wilson(0.5, 20)]
    [0.299, 0.701]
    """
    return _wilson(np.asarray(share, np.float64), np.asarray(number, np.float64), quantile(level, np.array(np.inf)))


class Pooled:
    """Strata with equal weight, group by group.

    Attributes:
        strata, questions, clusters: Their numbers.
        mean: Of the strata's means.
        variance, skewness: Of that mean.
        freedom: Satterthwaite's degrees of freedom of the variance.
    """

    def __init__(self, group: Integers, number: int, found: Moments, variance: Floats) -> None:
        self._group, self._number = group, number
        freedom = np.maximum(1.0, found.clusters - 1)
        self.strata = self.sums(np.ones(len(group)))
        self.questions, self.clusters = self.sums(found.questions), self.sums(found.clusters)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.mean = self.average(found.mean)
            self.variance = self.sums(variance) / self.strata**2
            self.skewness = self.sums(found.third) / self.sums(found.variance) ** 1.5
            self.freedom = self.sums(variance) ** 2 / self.sums(variance**2 / freedom)
        self.freedom = np.where(np.isfinite(self.freedom), self.freedom, np.maximum(1.0, self.sums(freedom)))

    def sums(self, of_stratum: NDArray[Any]) -> Floats:
        """The sum of a number per stratum, for each group."""
        return np.bincount(self._group, of_stratum, self._number).astype(np.float64)

    def average(self, of_stratum: Floats) -> Floats:
        """The mean of a number per stratum, for each group."""
        return self.sums(of_stratum) / self.strata

    def size(self, of_stratum: Floats) -> Floats:
        """How many independent questions a mean of strata of these sizes is worth, were they all alike."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.strata**2 / self.sums(1 / of_stratum)

    def without_bias(self, of_stratum: Floats) -> Floats:
        """What makes p (1 - p) / n of the unbiased variance p (1 - p) / (n - 1), n questions being this many."""
        size = self.size(of_stratum)
        with np.errstate(invalid="ignore"):
            return np.maximum(1.0, size - 1) / size


def _effective_size(over: Pooled, counted: Floats, graded: NDArray[np.bool_]) -> Floats:
    """The effective number of questions behind a mean between 0 and 1."""
    binary = np.clip(over.mean * (1 - over.mean), 0.0, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        independent = binary / over.size(counted)
        evidence = 4 * binary * over.clusters
        drawn = (over.variance * evidence + independent * PRIOR) / (evidence + PRIOR)
        graded_variance = np.where(over.variance < independent, drawn, over.variance)
        variance = np.where(graded, graded_variance, over.variance * over.without_bias(counted))
        size = np.where(over.strata > 0, over.clusters, np.nan)
        return np.where((binary > ROUNDING) & (variance > 0), binary / variance, size)


def _wilson(share: Floats, number: Floats, quantile: Floats) -> tuple[Floats, Floats]:
    square = quantile**2 / number
    middle = (share + square / 2) / (1 + square)
    half = np.sqrt(np.clip(square * share * (1 - share) + square**2 / 4, 0.0, None)) / (1 + square)
    return np.clip(middle - half, 0.0, None), np.clip(middle + half, None, 1.0)


def quantile(level: float, freedom: Floats) -> Floats:
    """The two-sided quantile of Student's distribution, the normal one for infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    finite = np.where(np.isfinite(freedom), freedom, 1.0)
    return np.where(np.isfinite(freedom), stdtrit(finite, 1 - level / 2), ndtri(1 - level / 2))


def moments(values: Floats, groups: Integers, number: int, clusters: Integers | None) -> Moments:
    """Mean and jackknife variance of each group; a cluster number in two groups means two clusters."""
    questions = np.bincount(groups, minlength=number).astype(np.float64)
    of_value, group = (np.arange(len(values)), groups) if clusters is None else cross(groups, clusters)
    sums, sizes = np.bincount(of_value, values, len(group)), np.bincount(of_value, minlength=len(group))
    count = np.bincount(group, minlength=number).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(groups, values, number) / questions
        influence = (sums - means[group] * sizes) / (questions[group] - sizes)  # the mean less that without the cluster
        variance = (count - 1) / count * np.bincount(group, influence**2, number)
        third = np.bincount(group, influence**3, number).astype(np.float64)
    return Moments(questions, count, means, np.where(count > 1, variance, np.nan), third)


def cross(groups: Integers, labels: Integers) -> tuple[Integers, Integers]:
    """Number the combinations of group and label that occur: the number of each value, and the group of each number."""
    width = int(labels.max(initial=0)) + 1
    keys = groups.astype(np.int64) * width + labels
    if keys.max(initial=0) > 4 * len(keys):
        found, of_value = np.unique(keys, return_inverse=True)
        return of_value, found // width
    there = np.bincount(keys) > 0
    return (np.cumsum(there) - 1)[keys], np.flatnonzero(there) // width


def codes(labels: ArrayLike) -> Integers:
    """A number for each different label."""
    return np.asarray(np.unique(np.asarray(labels), return_inverse=True)[1], np.int64)
