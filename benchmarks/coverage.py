"""Checks the statistics with simulated runs whose true values are known.

Binary and F1-like scores, 1 to 21 systems, 5 to 400 questions per task, independent or in 5 to 12 clusters, in one task
or twelve. Prints in percent: the coverage of 95 % intervals of means and differences, the rate at which a family of
equal systems has any significant difference, the power at the minimum detectable effect (80 expected), and the number
of intervals that contradict their verdict (none expected).

A score is right if a normal variable is below a threshold. The variable is a sum of effects of the cluster, the
question, the system in the cluster and noise, so that true means are exact.

    python -m benchmarks.coverage [--runs 2000] [--every 1]

`--runs 300 --every 3` takes a minute: fewer runs of every third shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks.measure import options
from r_eval.analysis.statistics import ALPHA, ScorePairs, compare, mean_of_groups
from r_eval.analysis.statistics.comparisons import PairedDifferences

Floats = NDArray[np.float64]

TRUTHS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
PAIRS = ((0.1, 0.1), (0.1, 0.2), (0.3, 0.3), (0.3, 0.5), (0.5, 0.5), (0.8, 0.9), (0.9, 0.9))
EQUAL = (0.1, 0.3, 0.5, 0.9)
BASES = (0.1, 0.4)
PARTS = {"cluster": 0.15, "question": 0.35, "system": 0.10, "own": 0.40}
"""Shares of the variance; without clusters, each question is its own cluster."""
GRADES = 3
"""Grades of an F1-like score on half of the questions; the others are binary."""
AT_ONCE = 1 << 20
"""Scores per batch."""


@dataclass(frozen=True)
class Shape:
    """The shape of a run: `questions` per task, in `clusters` of uneven size (0: independent)."""

    kind: str
    questions: int
    clusters: int = 0
    tasks: int = 1

    def __str__(self) -> str:
        shared = f"{self.clusters} clusters" if self.clusters else "alone"
        return f"{self.kind:6} {self.tasks:2} x {self.questions:3} questions, {shared:11}"

    @property
    def task(self) -> NDArray[np.int64]:
        """The task of each question."""
        return np.repeat(np.arange(self.tasks), self.questions)

    @property
    def cluster(self) -> NDArray[np.int64]:
        """The cluster of each question; the last cluster is twice as large as the first."""
        if not self.clusters:
            return np.arange(self.tasks * self.questions)
        ends = np.cumsum(np.linspace(1, 2, self.clusters))
        within = np.searchsorted(ends / ends[-1] * self.questions, np.arange(self.questions) + 0.5)
        return (np.arange(self.tasks)[:, None] * self.clusters + within).ravel()

    def draw(self, rng: np.random.Generator, truths: Floats, runs: int) -> Floats:
        """Scores of several runs: questions x runs x systems.

        Args:
            truths: The true means, broadcast over questions, runs and systems.
        """
        number, systems, cluster = self.tasks * self.questions, truths.shape[-1], self.cluster
        luck = np.sqrt(PARTS["cluster"]) * rng.standard_normal((number, runs, 1))[cluster]
        luck = luck + np.sqrt(PARTS["system"]) * rng.standard_normal((number, runs, systems))[cluster]
        luck += np.sqrt(PARTS["question"]) * rng.standard_normal((number, runs, 1))

        def attempt() -> Floats:
            noise = np.sqrt(PARTS["own"]) * rng.standard_normal((number, runs, systems))
            return (luck + noise < ndtri(truths)).astype(float)

        scores = attempt()
        if self.kind == "binary":
            return scores
        graded = (scores + sum(attempt() for _ in range(GRADES - 1))) / GRADES
        return np.where(rng.random((number, runs, 1)) < 0.5, graded, scores)

    def batches(self, truths: Floats, runs: int, seed: int) -> Iterator[Floats]:
        """The scores of `draw` in batches whose pairs of systems fit in memory."""
        rng = np.random.default_rng(seed)
        systems = truths.shape[-1]
        size = max(1, AT_ONCE // (self.tasks * self.questions * max(systems, systems * (systems - 1) // 2)))
        for start in range(0, runs, size):
            yield self.draw(rng, truths, min(size, runs - start))

    def pairs(self, truths: Sequence[float], runs: int, seed: int) -> Iterator[PairedDifferences]:
        """The tests of all pairs of systems in batches; the pairs of a run are adjacent."""
        left, right = (list(side) for side in zip(*combinations(range(len(truths)), 2), strict=True))
        cluster = self.cluster if self.clusters else None
        for scores in self.batches(np.asarray(truths), runs, seed):
            flat = (scores[:, :, side].reshape(len(scores), -1) for side in (left, right))
            yield PairedDifferences(*flat, cluster, self.task)


def means(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """Coverage of the interval of a mean for each of TRUTHS; several tasks range from easy to hard."""
    shares = []
    for truth in TRUTHS:
        spread = min(truth, 1 - truth) * np.linspace(-0.9, 0.9, shape.tasks) if shape.tasks > 1 else np.zeros(1)
        n_covered = 0
        for scores in shape.batches((truth + spread)[shape.task][:, None, None], runs, seed):
            number, columns = scores.shape[:2]
            group = np.tile(np.arange(columns), number)
            labels = (np.repeat(part, columns) for part in (shape.cluster, shape.task))
            mean = mean_of_groups(scores.ravel(), group, columns, *labels)
            n_covered += int(((mean.low - 1e-12 <= truth) & (truth <= mean.high + 1e-12)).sum())
        shares.append(n_covered / runs)
    return shares


def differences(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """Coverage of the interval of a difference for each of PAIRS."""
    shares = []
    for a, b in PAIRS:
        ends = (paired.interval(ALPHA) for paired in shape.pairs((a, b), runs, seed))
        shares.append(sum(int(((low <= a - b) & (a - b <= high)).sum()) for low, high in ends) / runs)
    return shares


def false_positives(shape: Shape, systems: int, runs: int, seed: int = 0) -> list[float]:
    """Rate of any significant difference between equal systems for each of EQUAL, by Holm's first step."""
    tests = systems * (systems - 1) // 2
    rates = []
    for truth in EQUAL:
        smallest = (np.nanmin(b.p.reshape(-1, tests), axis=1) for b in shape.pairs([truth] * systems, runs, seed))
        rates.append(sum(int((p <= ALPHA / tests).sum()) for p in smallest) / runs)
    return rates


def detectable_effect(shape: Shape, tests: int, base: float, runs: int, seed: int = 0) -> float:
    """The true difference at which runs report that difference as detectable on average; NaN if there is none."""
    difference = 0.3
    for step in range(12):
        blocks = shape.pairs((min(0.99, base + difference), base), runs, seed + step)
        effects = np.concatenate([block.detectable(ALPHA / tests) for block in blocks])
        if np.isnan(effects).mean() > 0.1:
            return float("nan")
        difference += 0.7 * (float(np.nanmean(effects)) - difference)
    return difference if base + difference < 0.99 else float("nan")


def power(shape: Shape, tests: int, difference: float, base: float, runs: int, seed: int = 100) -> float:
    """Power for a true difference among a number of comparisons, all others being 0.

    By Holm's first step, p is compared with alpha / m.
    """
    blocks = shape.pairs((base + difference, base), runs, seed)
    return sum(int((block.p <= ALPHA / tests).sum()) for block in blocks) / runs


def contradictions(shape: Shape, systems: int, runs: int, seed: int = 0) -> tuple[int, int]:
    """The number of intervals that contradict their verdict, and of comparisons; some systems are equal."""
    rng = np.random.default_rng(seed)
    left, right = (list(side) for side in zip(*combinations(range(systems), 2), strict=True))
    n_contradictions = 0
    for _ in range(runs):
        truths = np.round(rng.beta(1, 1, systems) * 4) / 4 * 0.9 + 0.05
        scores = shape.draw(rng, truths, 1)[:, 0]
        clusters = shape.cluster if shape.clusters else None
        comparison = compare(ScorePairs(scores[:, left], scores[:, right], clusters, shape.task))
        n_contradictions += int((((comparison.low > 0) | (comparison.high < 0)) != comparison.significant).sum())
    return n_contradictions, runs * len(left)


MEANS = [Shape(kind, n, g) for kind in ("binary", "f1") for n in (5, 20, 100, 400) for g in (0, 5, 12) if g < n]
SEVERAL = [Shape(kind, n, g, 12) for kind in ("binary", "f1") for n, g in ((5, 0), (40, 0), (40, 12), (100, 0))]
POWER = [
    *(Shape(kind, n) for kind in ("binary", "f1") for n in (40, 100, 400)),
    *(Shape(kind, n, 20) for kind in ("binary", "f1") for n in (100, 400)),
    *(Shape(kind, n, 0, 12) for kind in ("binary", "f1") for n in (5, 40)),
]
SYSTEMS = (2, 3, 8, 21)


def shares(measure: Callable[[Shape, int], list[float]], shape: Shape, runs: int) -> str:
    percentages = [100 * share for share in measure(shape, runs)]
    return f"{np.mean(percentages):5.1f}   {' '.join(f'{share:5.1f}' for share in percentages)}"


def report(runs: int, every: int) -> Iterator[str]:
    """The lines of every section."""
    shapes = [*MEANS, *SEVERAL][::every]
    for name, measure in (("means", means), ("differences", differences)):
        yield f"Coverage of intervals of {name}, percent: on average and per true value"
        yield from (f"  {shape!s}  {shares(measure, shape, runs)}" for shape in shapes)
    yield "\nRuns in which any two equal systems differ significantly, percent, at most 5 expected"
    for shape, systems in product(shapes, SYSTEMS):
        rates = false_positives(shape, systems, runs if systems < 8 else max(1, runs // 4))
        yield f"  {shape!s} {systems:2} systems  {' '.join(f'{100 * share:5.1f}' for share in rates)}"
    yield "\nPower at the minimum detectable effect, percent of runs, 80 expected"
    for shape, systems, base in product(POWER[::every], SYSTEMS, BASES):
        tests = systems * (systems - 1) // 2
        effect = detectable_effect(shape, tests, base, max(100, runs // 5))
        share = 100 * power(shape, tests, effect, base, runs) if effect == effect else effect
        yield f"  {shape!s} {systems:2} systems from {base}  {share:5.1f}   at {100 * effect:4.1f} points"
    yield "\nIntervals that contradict their verdict, of the number of comparisons"
    for shape, systems in product(shapes, SYSTEMS):
        number = 5 * runs // len(SYSTEMS) // (systems * (systems - 1) // 2) + 1
        yield "  {!s} {:2} systems  {} of {:,}".format(shape, systems, *contradictions(shape, systems, number))


if __name__ == "__main__":
    chosen = options(__doc__, runs=2000, every=1)
    for line in report(chosen.runs, chosen.every):
        print(line, flush=True)
