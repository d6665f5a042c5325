"""Intervals of means between 0 and 1: which formula, and why this one.

In simulations with a known truth (`benchmarks/coverage.py`: right-or-wrong scores and F1-like ones, alone and in
clusters, 20 to 400 questions, true means from 0.05 to 0.95) the bootstrap over questions is too sure of itself where
they are few: its percentile intervals of 95 % hold the truth in 86 to 91 % of the runs with 20 or 30 questions, and
in 71 to 82 % with 5 to 9 clusters. Bootstrap-t intervals hold it, at up to twice the width. So an interval here is
Wilson's (1927) score interval, with three changes:

* The variance is that of the data over clusters (`moments`), not p(1 - p) / n: the interval counts as many questions as
  an independent sample of the same variance would have (Korn and Graubard 1998).
* The quantile is Student's, with the clusters less one as degrees of freedom; for an average over tasks,
  Satterthwaite's.
* A variance below that of right-or-wrong scores is drawn towards it, as if PRIOR clusters more had been seen with
  that one; few scores other than 0 (or 1) say little about a variance.

It holds the truth in 93 to 97 % of the runs, on average over the true means, with 20 clusters or more, and in 96 to
99 % with 5 to 9. Where all scores are 0, or all are 1, it is the exact interval of Clopper and Pearson (1934) for the
number of clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Z = 1.959963984540054
"""97.5 % of a standard normal distribution: an interval of 95 %."""

PRIOR = 2.0
"""Clusters' worth of belief that scores vary as right-or-wrong ones do; chosen by the simulations."""

TAIL = 0.025


def certain(mean: float) -> bool:
    """Whether a mean is 0 or 1, but for rounding."""
    return mean < 1e-12 or mean > 1 - 1e-12


def steadied(mean: float, variance: float, questions: float, clusters: float) -> float:
    """The variance of a task's mean, never implausibly small; with one cluster, that of a single right-or-wrong score.

    Args:
        variance: From `moments`; NaN with one cluster.
    """
    if clusters < 2:
        return max(mean * (1 - mean), 0.1875)
    if certain(mean):
        unseen = 0.5 / (clusters + 1)
        return unseen * (1 - unseen) / (clusters + 1)
    binary = mean * (1 - mean) / questions
    if variance >= binary:
        return variance
    evidence = 4 * mean * (1 - mean) * clusters
    return (variance * evidence + binary * PRIOR) / (evidence + PRIOR)


def pooled(variances: Sequence[float], clusters: Sequence[float]) -> tuple[float, float]:
    """The variance of the mean over tasks, and Satterthwaite's (1946) degrees of freedom for it."""
    total = math.fsum(variances)
    if total <= 0:
        return 0.0, math.inf
    spread = math.fsum(v * v / max(1.0, g - 1) for v, g in zip(variances, clusters, strict=True))
    return total / len(variances) ** 2, total * total / spread


def student(freedom: float) -> float:
    """97.5 % of Student's distribution."""
    from scipy.special import stdtrit

    return Z if math.isinf(freedom) else float(stdtrit(freedom, 1 - TAIL))


def exact(mean: float, clusters: float) -> tuple[float, float]:
    """Clopper and Pearson's interval where all of `clusters` scores are 0, or all are 1."""
    beyond = 1 - TAIL ** (1 / clusters)
    return (0.0, beyond) if mean < 0.5 else (1 - beyond, 1.0)


def wilson(mean: float, variance: float, quantile: float = Z) -> tuple[float, float]:
    """The score interval of a mean strictly between 0 and 1 that has this variance.

    >>> [round(end, 3) for end in wilson(0.5, 0.5 * 0.5 / 20)]
    [0.299, 0.701]
    """
    square = quantile**2 * variance / (mean * (1 - mean))
    middle = (mean + square / 2) / (1 + square)
    half = math.sqrt(quantile**2 * variance + square**2 / 4) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def over_tasks(
    means: Sequence[float], variances: Sequence[float], clusters: Sequence[float]
) -> tuple[float, float, float]:
    """The mean over tasks, each with the same weight, and the ends of its 95 % interval; one task is the common case.

    Args:
        variances: Steadied ones.
    """
    mean = math.fsum(means) / len(means)
    if certain(mean):
        return mean, *exact(mean, len(clusters) * min(clusters))
    variance, freedom = pooled(variances, clusters)
    return mean, *wilson(mean, variance, student(freedom))
