"""Whether the statistics keep their promises: simulated runs of which the truth is known.

Right-or-wrong scores and F1-like ones, 1 to 21 systems, 5 to 400 questions per task, alone or in 5 to 12 clusters, in
one task or in twelve. Printed are, in percent: how often intervals of 95 % hold the true mean and the true difference,
how often a family of equal systems has any significant difference, how often a true difference of the minimum
detectable effect is significant (80 is promised), and how many intervals contradict their verdict (none may).

A score is right where a normal number lies below a threshold. It is a sum of parts that systems and questions share:
of a cluster, of a question, of a system in a cluster, and of its own. So true means are exact.

    python benchmarks/coverage.py [--quick]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from r_eval.analysis.statistics import ALPHA, ScorePairs, compare, mean_of_groups
from r_eval.analysis.statistics.comparisons import PairedDifferences

Floats = NDArray[np.float64]

TRUTHS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
PAIRS = ((0.1, 0.1), (0.1, 0.2), (0.3, 0.3), (0.3, 0.5), (0.5, 0.5), (0.8, 0.9), (0.9, 0.9))
EQUAL = (0.1, 0.3, 0.5, 0.9)
BASES = (0.1, 0.4)
PARTS = {"cluster": 0.15, "question": 0.35, "system": 0.10, "own": 0.40}
"""Shares of the variance; of questions alone, those of the clusters are the questions'."""
GRADES = 3
"""Of an F1-like score, on half of the questions; the others are right or wrong."""
AT_ONCE = 1 << 20
"""Scores drawn at once."""


@dataclass(frozen=True)
class Shape:
    """What a run looks like: `questions` in each task, in `clusters` of uneven size (0: alone)."""

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
        """The cluster of each question, the last ones twice as large as the first."""
        if not self.clusters:
            return np.arange(self.tasks * self.questions)
        ends = np.cumsum(np.linspace(1, 2, self.clusters))
        within = np.searchsorted(ends / ends[-1] * self.questions, np.arange(self.questions) + 0.5)
        return (np.arange(self.tasks)[:, None] * self.clusters + within).ravel()

    def draw(self, rng: np.random.Generator, truths: Floats, runs: int) -> Floats:
        """Scores of some runs: questions x runs x systems.

        Args:
            truths: The true mean of each system; or of each question, run and system, as far as they differ.
        """
        number, systems, cluster = self.tasks * self.questions, truths.shape[-1], self.cluster
        luck = np.sqrt(PARTS["cluster"]) * rng.standard_normal((number, runs, 1))[cluster]
        luck = luck + np.sqrt(PARTS["system"]) * rng.standard_normal((number, runs, systems))[cluster]
        luck += np.sqrt(PARTS["question"]) * rng.standard_normal((number, runs, 1))

        def attempt() -> Floats:
            own = np.sqrt(PARTS["own"]) * rng.standard_normal((number, runs, systems))
            return (luck + own < ndtri(truths)).astype(float)

        first = attempt()
        if self.kind == "binary":
            return first
        graded = (first + sum(attempt() for _ in range(GRADES - 1))) / GRADES
        return np.where(rng.random((number, runs, 1)) < 0.5, graded, first)

    def batches(self, truths: Floats, runs: int, seed: int) -> Iterator[Floats]:
        """The scores of `draw`, some runs at a time; so many that all pairs of systems fit in memory."""
        rng = np.random.default_rng(seed)
        systems = truths.shape[-1]
        size = max(1, AT_ONCE // (self.tasks * self.questions * max(systems, systems * (systems - 1) // 2)))
        for start in range(0, runs, size):
            yield self.draw(rng, truths, min(size, runs - start))

    def pairs(self, truths: Sequence[float], runs: int, seed: int) -> Iterator[PairedDifferences]:
        """The tests of all pairs of systems, some runs at a time; the pairs of a run follow each other."""
        left, right = (list(side) for side in zip(*combinations(range(len(truths)), 2), strict=True))
        cluster = self.cluster if self.clusters else None
        for scores in self.batches(np.asarray(truths), runs, seed):
            flat = (scores[:, :, side].reshape(len(scores), -1) for side in (left, right))
            yield PairedDifferences(*flat, cluster, self.task)


def means(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """How often the interval of a mean holds the truth, for each of TRUTHS; of several tasks, from easy to hard."""
    shares = []
    for truth in TRUTHS:
        spread = min(truth, 1 - truth) * np.linspace(-0.9, 0.9, shape.tasks) if shape.tasks > 1 else np.zeros(1)
        held = 0
        for scores in shape.batches((truth + spread)[shape.task][:, None, None], runs, seed):
            number, own = scores.shape[:2]
            group = np.tile(np.arange(own), number)
            labels = (np.repeat(part, own) for part in (shape.cluster, shape.task))
            found = mean_of_groups(scores.ravel(), group, own, *labels)
            held += int(((found.low - 1e-12 <= truth) & (truth <= found.high + 1e-12)).sum())
        shares.append(held / runs)
    return shares


def differences(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """How often the interval of a difference holds the truth, for each of PAIRS."""
    shares = []
    for a, b in PAIRS:
        ends = (found.interval(ALPHA) for found in shape.pairs((a, b), runs, seed))
        shares.append(sum(int(((low <= a - b) & (a - b <= high)).sum()) for low, high in ends) / runs)
    return shares


def false_positives(shape: Shape, systems: int, runs: int, seed: int = 0) -> list[float]:
    """How often equal systems have any significant difference, for each of EQUAL; by Holm's first step."""
    tests = systems * (systems - 1) // 2
    return [
        sum(
            int((np.nanmin(found.p.reshape(-1, tests), axis=1) <= ALPHA / tests).sum())
            for found in shape.pairs([truth] * systems, runs, seed)
        )
        / runs
        for truth in EQUAL
    ]


def promised(shape: Shape, tests: int, base: float, runs: int, seed: int = 0) -> float:
    """The true difference that runs of this shape, having it, report as detectable on average; NaN where none is."""
    difference = 0.3
    for step in range(12):
        blocks = shape.pairs((min(0.99, base + difference), base), runs, seed + step)
        found = np.concatenate([block.detectable(ALPHA / tests) for block in blocks])
        if np.isnan(found).mean() > 0.1:
            return float("nan")
        difference += 0.7 * (float(np.nanmean(found)) - difference)
    return difference if base + difference < 0.99 else float("nan")


def power(shape: Shape, tests: int, difference: float, base: float, runs: int, seed: int = 100) -> float:
    """How often a true difference is significant among so many comparisons, all others being 0.

    By Holm's first step, p is compared with alpha / m.
    """
    blocks = shape.pairs((base + difference, base), runs, seed)
    return sum(int((block.p <= ALPHA / tests).sum()) for block in blocks) / runs


def contradictions(shape: Shape, systems: int, runs: int, seed: int = 0) -> tuple[int, int]:
    """Intervals that contradict their verdict, and comparisons; some systems are equal and some are not."""
    rng = np.random.default_rng(seed)
    left, right = (list(side) for side in zip(*combinations(range(systems), 2), strict=True))
    wrong = 0
    for _ in range(runs):
        truths = np.round(rng.beta(1, 1, systems) * 4) / 4 * 0.9 + 0.05
        scores = shape.draw(rng, truths, 1)[:, 0]
        clusters = shape.cluster if shape.clusters else None
        found = compare(ScorePairs(scores[:, left], scores[:, right], clusters, shape.task))
        wrong += int((((found.low > 0) | (found.high < 0)) != found.significant).sum())
    return wrong, runs * len(left)


MEANS = [Shape(kind, n, g) for kind in ("binary", "f1") for n in (5, 20, 100, 400) for g in (0, 5, 12) if g < n]
SEVERAL = [Shape(kind, n, g, 12) for kind in ("binary", "f1") for n, g in ((5, 0), (40, 0), (40, 12), (100, 0))]
POWER = [
    *(Shape(kind, n) for kind in ("binary", "f1") for n in (20, 40, 100, 400)),
    *(Shape(kind, n, 12) for kind in ("binary", "f1") for n in (100, 400)),
    *(Shape(kind, n, 0, 12) for kind in ("binary", "f1") for n in (5, 40)),
]
SYSTEMS = (2, 3, 8, 21)
COMPARED = 10_000
"""Comparisons per shape that are searched for contradictions, at least; over the numbers of systems."""


def shares(measure: Callable[[Shape, int], list[float]], shape: Shape, runs: int) -> str:
    found = [100 * share for share in measure(shape, runs)]
    return f"{np.mean(found):5.1f}   {' '.join(f'{share:5.1f}' for share in found)}"


def report(quick: bool) -> Iterator[str]:
    """The lines of every section."""
    runs, every = (300, 3) if quick else (2000, 1)
    shapes = [*MEANS, *SEVERAL][::every]
    yield "Intervals of means hold the truth, percent: on average, and for each truth"
    yield from (f"  {shape!s}  {shares(means, shape, runs)}" for shape in shapes)
    yield "\nIntervals of differences hold the truth, percent: on average, and for each truth"
    yield from (f"  {shape!s}  {shares(differences, shape, runs)}" for shape in shapes)
    yield "\nEqual systems of which any two differ significantly, percent of runs, at most 5 is promised"
    for shape, systems in product(shapes, SYSTEMS):
        found = false_positives(shape, systems, runs if systems < 8 else runs // 4)
        yield f"  {shape!s} {systems:2} systems  {' '.join(f'{100 * share:5.1f}' for share in found)}"
    yield "\nA true difference of the minimum detectable effect is significant, percent of runs, 80 is promised"
    for shape, systems, base in product(POWER[::every], SYSTEMS, BASES):
        tests = systems * (systems - 1) // 2
        effect = promised(shape, tests, base, max(100, runs // 5))
        share = 100 * power(shape, tests, effect, base, runs) if effect == effect else effect
        yield f"  {shape!s} {systems:2} systems from {base}  {share:5.1f}   at {100 * effect:4.1f} points"
    yield "\nIntervals that contradict their verdict, of so many"
    for shape, systems in product(shapes, SYSTEMS):
        number = (400 if quick else COMPARED) // len(SYSTEMS) // (systems * (systems - 1) // 2) + 1
        wrong, compared = contradictions(shape, systems, number)
        yield f"  {shape!s} {systems:2} systems  {wrong} of {compared:,}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs of fewer shapes: a minute")
    for line in report(parser.parse_args().quick):
        print(line, flush=True)
