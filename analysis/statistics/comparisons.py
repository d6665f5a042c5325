"""Paired comparisons: the difference of two systems on the same questions, its p-value and its interval.

Only questions that both have a score for count. Over several tasks the difference is the mean of the tasks'
differences, each with the same weight. The p-value and the interval are one test and its inversion:

* Graded scores: Student's paired t, with the jackknife variance over clusters (`means`).
* Differences that are all -1, 0 or 1, as of right-or-wrong scores: a score test, in the manner of Wilson's interval and
  of Tango's (1998) for paired proportions. Under the hypothesis d the variance of a question's difference is psi - d^2,
  with psi the share of discordant questions, at least |d|. At d = 0 the statistic is McNemar's (1947). The effective
  number of questions is n / deff, with the design effect deff of the clusters, at least 1.
* The floor: where the variance is 0, and for a task of a single cluster, graded scores take the score test as well,
  with psi = |d|. So 100 % against 0 % on n questions has the statistic sqrt(n).

The quantiles are Student's. The comparisons of one call are a family: p-values are corrected by Holm (1979), and all
intervals have the level alpha / (m - r), of m comparisons with r rejected. The first hypothesis that Holm does not
reject has p > alpha / (m - r), all rejected ones have p <= alpha / (m - r + 1); so an interval holds 0 exactly where
the difference is not significant. The minimum detectable effect is at alpha / m, the level of Holm's first step: what
it says holds if all other differences are 0. The variance of the statistic follows from the delta method, of graded
scores with their skewness: where large differences come with a large variance, t rarely falls short. None is stated for
fewer than MDE_QUESTIONS questions or MDE_CLUSTERS clusters, where simulated power is not within 77 to 83 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from r_eval.analysis.statistics.means import ALPHA, ROUNDING, Floats, Integers, Pooled, codes, cross, moments, quantile

POWER = 0.8416212335729143
"""80 % of a standard normal distribution."""
MDE_QUESTIONS, MDE_CLUSTERS = 40, 20
IN_MEMORY = 1 << 22
"""Differences worked on at once."""


class ScorePairs(NamedTuple):
    """Scores to compare: `a` less `b`.

    Attributes:
        a, b: One score per question, or questions x pairs; NaN where there is none.
        clusters: What each question shares with others; None: nothing.
        strata: The task of each question; None: there is one task.
    """

    a: ArrayLike
    b: ArrayLike
    clusters: ArrayLike | None = None
    strata: ArrayLike | None = None


class Comparisons(NamedTuple):
    """Arrays with one place per pair; a pair without a common question has 0 questions and NaN.

    Attributes:
        strata, questions, clusters: What the difference rests on.
        mean_a, mean_b, difference: Over the common questions.
        low, high: Ends of the difference's interval at the family's level.
        p, p_adjusted: Of this pair alone, and after Holm's correction.
        significant: Whether p_adjusted is at most alpha; then and only then the interval excludes 0.
        mde: The smallest true difference that would be significant in 80 % of runs with questions like these, all other
            differences being 0; NaN where none would, and below MDE_QUESTIONS or MDE_CLUSTERS.
    """

    strata: Integers
    questions: Integers
    clusters: Integers
    mean_a: Floats
    mean_b: Floats
    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    p_adjusted: Floats
    significant: NDArray[np.bool_]
    mde: Floats


def compare(*samples: ScorePairs, alpha: float = ALPHA) -> Comparisons:
    """Compare all pairs of all samples, as one family.

    >>> found = compare(ScorePairs([1, 1, 1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    >>> [round(float(found[name][0]), 3) for name in (5, 6, 7, 8)]  # difference, low, high, p
    [0.8, 0.172, 0.952, 0.02]
    """
    blocks = [PairedDifferences(*block) for sample in samples for block in _blocks(sample)]
    if not blocks:
        none, nothing = np.empty(0, np.int64), np.empty(0)
        return Comparisons(none, none, none, *(nothing,) * 7, none > 0, nothing)
    p = np.concatenate([block.p for block in blocks])
    adjusted = holm(p)
    significant = adjusted <= alpha
    tests = int((~np.isnan(p)).sum())
    level = alpha / max(1, tests - int(significant.sum()))
    strata, questions, clusters = (
        np.concatenate(part).astype(np.int64) for part in zip(*(one.counts for one in blocks), strict=True)
    )
    estimates = [(*one.means, *one.interval(level)) for one in blocks]
    mean_a, mean_b, difference, low, high = (np.concatenate(part) for part in zip(*estimates, strict=True))
    mde = np.concatenate([block.detectable(alpha / max(1, tests)) for block in blocks])
    return Comparisons(
        strata, questions, clusters, mean_a, mean_b, difference, low, high, p, adjusted, significant, mde
    )


def holm(p: ArrayLike) -> Floats:
    """Holm's (1979) correction: the chance of any false finding stays below alpha. NaN is no test.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, np.float64)
    adjusted = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    steps = np.minimum(1.0, values[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted


def rank_intervals(means: ArrayLike, better: ArrayLike) -> tuple[Integers, Integers, Integers]:
    """Ranks by the mean, and the lowest and highest rank that each may truly have.

    Args:
        means: Equal ones share the lower number.
        better: [i, j] whether i is significantly better than j, corrected over all pairs.

    Returns:
        Rank; rank behind those that are significantly better; rank before those that are significantly worse.
    """
    values, over = np.round(np.asarray(means, np.float64), 12), np.asarray(better, bool)
    rank = 1 + (values[:, None] < values[None]).sum(axis=1)
    return rank, 1 + over.sum(axis=0), len(values) - over.sum(axis=1)


def _blocks(sample: ScorePairs) -> Iterator[tuple[Floats, Floats, Integers | None, Integers]]:
    """A sample as matrices, some pairs at a time."""
    a, b = (np.asarray(part, np.float64) for part in (sample.a, sample.b))
    a, b = (part[:, None] if part.ndim == 1 else part for part in (a, b))
    clusters = None if sample.clusters is None else codes(sample.clusters)
    if clusters is not None and clusters.max(initial=-1) == len(a) - 1:  # every question is a cluster of its own
        clusters = None
    strata = np.zeros(len(a), np.int64) if sample.strata is None else codes(sample.strata)
    step = max(1, IN_MEMORY // max(1, len(a)))
    for start in range(0, a.shape[1], step):
        yield a[:, start : start + step], b[:, start : start + step], clusters, strata


class PairedDifferences:
    """What the tests of some pairs are computed from."""

    def __init__(self, a: Floats, b: Floats, clusters: Integers | None, strata: Integers) -> None:
        question, pair = np.nonzero(~np.isnan(a) & ~np.isnan(b))
        values = np.round(a[question, pair] - b[question, pair], 12)
        of_value, of_stratum = cross(pair, strata[question])
        found = moments(values, of_value, len(of_stratum), None if clusters is None else clusters[question])
        single = found.clusters == 1
        counted = np.where(single, 1.0, found.questions)

        def stratum_mean(numbers: Floats) -> Floats:
            return np.bincount(of_value, numbers, len(of_stratum)) / found.questions

        discordant = stratum_mean(values**2)
        discordant = np.where(single, np.maximum(discordant, np.abs(found.mean)), discordant)
        simple = np.clip(discordant - found.mean**2, 0.0, None) / np.maximum(1.0, counted - 1)
        variance = np.where(single, simple, found.variance)
        graded = Pooled(of_stratum, a.shape[1], found, variance)
        scored = Pooled(of_stratum, a.shape[1], found, np.maximum(variance, simple))
        independent = Pooled(of_stratum, a.shape[1], found, simple)

        whole = np.bincount(pair, (values != np.round(values)) * 1.0, a.shape[1]) == 0
        self.counts = graded.strata, graded.questions, graded.clusters
        self._clustered = graded.clusters < graded.questions
        self._d = np.round(graded.mean, 15)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.means = (*(graded.average(stratum_mean(part[question, pair])) for part in (a, b)), graded.mean)
            self._score = whole | (graded.variance < ROUNDING**2)
            self._variance, self._skewness = graded.variance, graded.skewness
            self._freedom = np.where(self._score, scored.freedom, graded.freedom)
            effect = np.where(independent.variance > 0, scored.variance / independent.variance, 1.0)
            number = graded.size(counted)
            within = number * independent.variance * graded.without_bias(counted)
            self._psi = np.maximum(within + self._d**2, np.abs(self._d))
            self._number = number / effect
            null = np.where(self._score, self._psi / self._number, self._variance)
            statistic = np.where(self._d == 0, 0.0, self._d / np.sqrt(null))
        from scipy.special import stdtr

        self.p: Floats = np.where(graded.strata > 0, 2 * stdtr(self._freedom, -np.abs(statistic)), np.nan)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """All differences that the test does not reject at this level."""
        times = quantile(level, self._freedom)
        with np.errstate(invalid="ignore"):
            half = times * np.sqrt(self._variance)
            k = times**2 / self._number
            low = np.where(self._score, -_upper(-self._d, self._psi, k), self._d - half)
            high = np.where(self._score, _upper(self._d, self._psi, k), self._d + half)
        return np.clip(low, -1.0, None), np.clip(high, None, 1.0)

    def detectable(self, level: float) -> Floats:
        """The minimum detectable effect at 80 % power."""
        times = quantile(level, self._freedom)
        with np.errstate(invalid="ignore"):
            found = np.where(self._score, *self._detectable_effects(times))
            possible = np.where(self._score, times**2 < self._number, found <= 1)
        questions, clusters = self.counts[1:]
        return np.where(possible & (questions >= MDE_QUESTIONS) & (clusters >= MDE_CLUSTERS), found, np.nan)

    def _detectable_effects(self, times: Floats) -> tuple[Floats, Floats]:
        """By the score test and by Student's: the d whose statistic is by POWER standard deviations over a quantile."""
        low, high = np.zeros(len(self._d)), np.ones(len(self._d))
        floored = np.where(self._clustered, times**2 / (4 * self._freedom), 0.0)  # half: deff is 1 at least
        noncentral = times + POWER
        for _ in range(40):
            middle = (low + high) / 2
            psi = np.maximum(self._psi, middle)
            part = middle / psi
            spread = np.sqrt(1 - 0.75 * part**2 - psi * part**2 / 4 + floored)
            enough = middle >= np.sqrt(psi / self._number) * (times + POWER * spread)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
            variance = 1 - noncentral * self._skewness * np.sign(self._d) + noncentral**2 / (2 * self._freedom)
            noncentral = times + POWER * np.sqrt(np.maximum(variance, 0.0))
        return high, np.sqrt(self._variance) * noncentral


def _upper(d: Floats, psi: Floats, k: Floats) -> Floats:
    """The upper end of the score interval: the larger root x of (d - x)^2 = k (max(psi, |x|) - x^2)."""
    first = (d + np.sqrt(np.clip(k * (psi * (1 + k) - d**2), 0.0, None))) / (1 + k)
    both = 2 * d + k
    second = (both + np.sqrt(np.clip(both**2 - 4 * (1 + k) * d**2, 0.0, None))) / (2 * (1 + k))
    return np.where(first < psi, first, second)
