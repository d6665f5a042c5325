"""Whether the statistics keep their promises: simulated runs of which the truth is known.

Right-or-wrong scores and F1-like ones, 1 to 21 systems, 5 to 400 questions per task, alone or in 5 to 12 clusters, in
one task or in twelve. Printed are, in percent: how often intervals of 95 % hold the true mean and the true difference,
how often a family of equal systems has any significant difference, how often a true difference of the minimum
detectable effect is significant (80 is promised), and how many intervals contradict their verdict (none may).

A score is right where a normal number lies below a threshold. It is a sum of parts that systems and questions share:
of a cluster, of a question, of a system in a cluster, and of its own. So true means are exact.

    python benchmarks/coverage.py [--quick] [--only means,differences,false,power,contradictions]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from r_eval.analysis.statistics import ALPHA, Comparisons, Sample, compare, mean

Floats = NDArray[np.float64]

TRUTHS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
PAIRS = ((0.1, 0.1), (0.1, 0.2), (0.3, 0.3), (0.3, 0.5), (0.5, 0.5), (0.8, 0.9), (0.9, 0.9))
PARTS = {"cluster": 0.15, "question": 0.35, "system": 0.10, "own": 0.40}
"""Shares of the variance; of questions alone, those of the clusters are the questions'."""
GRADES = 3
"""Of an F1-like score, on half of the questions; the others are right or wrong."""


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
    def cluster(self) -> NDArray[np.int64] | None:
        """The cluster of each question, the last ones twice as large as the first."""
        if not self.clusters:
            return None
        ends = np.cumsum(np.linspace(1, 2, self.clusters))
        within = np.searchsorted(ends / ends[-1] * self.questions, np.arange(self.questions) + 0.5)
        return (np.arange(self.tasks)[:, None] * self.clusters + within).ravel()

    def draw(self, rng: np.random.Generator, truths: Sequence[float]) -> Floats:
        """Scores of one run: questions x systems, one true mean each."""
        number, systems = self.tasks * self.questions, len(truths)
        cluster = np.arange(number) if self.cluster is None else self.cluster
        of_cluster, of_system = rng.standard_normal((number, 1)), rng.standard_normal((number, systems))
        shared = [(PARTS["cluster"], of_cluster[cluster]), (PARTS["system"], of_system[cluster])]
        shared.append((PARTS["question"], rng.standard_normal((number, 1))))
        luck = sum(np.sqrt(share) * part for share, part in shared)
        own = np.sqrt(PARTS["own"]) * rng.standard_normal((GRADES, number, systems))
        parts = (luck + own < ndtri(np.asarray(truths))).astype(float)
        if self.kind == "binary":
            return np.asarray(parts[0])
        return np.where(rng.random((number, 1)) < 0.5, parts.mean(axis=0), parts[0])


def compared(shape: Shape, scores: Floats, alpha: float = ALPHA) -> Comparisons:
    """All pairs of systems, as one family."""
    left, right = (list(side) for side in zip(*combinations(range(scores.shape[1]), 2), strict=True))
    return compare(Sample(scores[:, left], scores[:, right], shape.cluster, shape.task), alpha=alpha)


def means(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """How often the interval of a mean holds the truth, for each of TRUTHS; of several tasks, from easy to hard."""
    rng = np.random.default_rng(seed)
    shares = []
    for truth in TRUTHS:
        spread = min(truth, 1 - truth) * np.linspace(-0.9, 0.9, shape.tasks) if shape.tasks > 1 else [0.0]
        held = 0
        for _ in range(runs):
            parts = [Shape(shape.kind, shape.questions, shape.clusters).draw(rng, [truth + less]) for less in spread]
            found = mean(np.concatenate(parts)[:, 0], shape.cluster, shape.task)
            held += found.low - 1e-12 <= truth <= found.high + 1e-12
        shares.append(held / runs)
    return shares


def differences(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """How often the interval of a difference holds the truth, for each of PAIRS."""
    rng = np.random.default_rng(seed)
    shares = []
    for a, b in PAIRS:
        found = [compared(shape, shape.draw(rng, (a, b))) for _ in range(runs)]
        shares.append(sum(bool(one.low[0] <= a - b <= one.high[0]) for one in found) / runs)
    return shares


def false_positives(shape: Shape, systems: int, runs: int, seed: int = 0) -> list[float]:
    """How often equal systems have any significant difference, for some true means."""
    rng = np.random.default_rng(seed)
    return [
        sum(bool(compared(shape, shape.draw(rng, [truth] * systems)).significant.any()) for _ in range(runs)) / runs
        for truth in (0.1, 0.3, 0.5, 0.9)
    ]


def promised(shape: Shape, tests: int, base: float, runs: int, seed: int = 0) -> float:
    """The true difference that runs of this shape, having it, report as detectable on average; NaN where none is."""
    difference = 0.3
    for step in range(12):
        rng = np.random.default_rng(seed + step)
        truths = (min(0.99, base + difference), base)
        found = [compared(shape, shape.draw(rng, truths), ALPHA / tests).mde[0] for _ in range(runs)]
        if np.isnan(found).mean() > 0.1:
            return float("nan")
        difference += 0.7 * (float(np.nanmean(found)) - difference)
    return difference if base + difference < 0.99 else float("nan")


def power(shape: Shape, tests: int, difference: float, base: float, runs: int, seed: int = 100) -> float:
    """How often a true difference is significant among so many comparisons, all others being 0.

    By Holm's first step, p is compared with alpha / m.
    """
    rng = np.random.default_rng(seed)
    truths = (base + difference, base)
    return sum(bool(compared(shape, shape.draw(rng, truths), ALPHA / tests).significant[0]) for _ in range(runs)) / runs


def contradictions(shape: Shape, systems: int, runs: int, seed: int = 0) -> tuple[int, int]:
    """Intervals that contradict their verdict, and comparisons; some systems are equal and some are not."""
    rng = np.random.default_rng(seed)
    wrong = number = 0
    for _ in range(runs):
        truths = np.round(rng.beta(1, 1, systems) * 4) / 4 * 0.9 + 0.05
        found = compared(shape, shape.draw(rng, truths.tolist()))
        wrong += int((((found.low > 0) | (found.high < 0)) != found.significant).sum())
        number += len(found.p)
    return wrong, number


MEANS = [Shape(kind, n, g) for kind in ("binary", "f1") for n in (5, 20, 100, 400) for g in (0, 5, 12) if g < n]
SEVERAL = [Shape(kind, n, g, 12) for kind in ("binary", "f1") for n, g in ((5, 0), (40, 0), (40, 12), (100, 0))]
POWER = [
    *(Shape(kind, n) for kind in ("binary", "f1") for n in (20, 40, 100, 400)),
    *(Shape(kind, n, 12) for kind in ("binary", "f1") for n in (100, 400)),
    *(Shape(kind, n, 0, 12) for kind in ("binary", "f1") for n in (5, 40)),
]
SYSTEMS = (2, 3, 8, 21)


def lines(chosen: Sequence[str], quick: bool) -> Iterator[str]:
    """The report, section by section."""
    runs, every = (300, 3) if quick else (2000, 1)
    shapes, power_shapes = [*MEANS, *SEVERAL][::every], POWER[::every]
    sections: list[tuple[str, str, Callable[[Shape], list[float]]]] = [
        ("means", "Intervals of means hold the truth", lambda shape: means(shape, runs)),
        ("differences", "Intervals of differences hold the truth", lambda shape: differences(shape, runs)),
    ]
    for name, title, measure in sections:
        if name in chosen:
            yield f"\n{title}, percent: on average, and for each truth"
            for shape in shapes:
                shares = [100 * share for share in measure(shape)]
                yield f"  {shape!s}  {np.mean(shares):5.1f}   {' '.join(f'{share:5.1f}' for share in shares)}"
    if "false" in chosen:
        yield "\nEqual systems of which any two differ significantly, percent of runs, at most 5 is promised"
        for shape in shapes:
            for systems in SYSTEMS:
                repeats = max(50, runs // (4 if systems > 8 else 1))
                shares = [100 * share for share in false_positives(shape, systems, repeats)]
                yield f"  {shape!s} {systems:2} systems  {max(shares):5.1f}   {' '.join(f'{s:5.1f}' for s in shares)}"
    if "power" in chosen:
        yield "\nA true difference of the minimum detectable effect is significant, percent of runs, 80 is promised"
        for shape in power_shapes:
            for systems in SYSTEMS:
                tests = systems * (systems - 1) // 2
                for base in (0.1, 0.4):
                    effect = promised(shape, tests, base, max(100, runs // 5))
                    if np.isnan(effect):
                        yield f"  {shape!s} {systems:2} systems from {base}: no difference is detectable"
                        continue
                    share = 100 * power(shape, tests, effect, base, runs)
                    yield f"  {shape!s} {systems:2} systems from {base}  {share:5.1f}   at {100 * effect:4.1f} points"
    if "contradictions" in chosen:
        yield "\nIntervals that contradict their verdict"
        for shape in shapes:
            for systems in SYSTEMS:
                wrong, number = contradictions(shape, systems, max(2, (400 if quick else 10_000) // systems**2))
                yield f"  {shape!s} {systems:2} systems  {wrong} of {number:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs of fewer shapes: some minutes")
    parser.add_argument("--only", default="means,differences,false,power,contradictions")
    given = parser.parse_args()
    for line in lines(given.only.split(","), given.quick):
        print(line, flush=True)


if __name__ == "__main__":
    main()
