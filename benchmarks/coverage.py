"""How honest the statistics are: simulated runs of which the truth is known.

Prints for each kind of scores, number of questions and shape of clusters: how often the intervals of 95 % hold the true
mean (on average over true means from 0.05 to 0.95, and at the worst of them), the same for averages over tasks and
for paired differences, and how often the paired test finds a difference where there is none.

Right-or-wrong scores are few numbers only, so at one true mean and few questions no interval can hold the truth in
exactly 95 %: the average over true means says whether the method is honest.

    python benchmarks/coverage.py [--runs 2000] [--only means,tasks,differences,tests] [--peers]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from r_eval.analysis.statistics import intervals
from r_eval.analysis.statistics.bootstrap import bootstrap, percentiles
from r_eval.analysis.statistics.moments import Floats, Integers, Layout, layout, moments
from r_eval.analysis.statistics.paired import interval_of_difference
from r_eval.analysis.statistics.permutation import p_values

TRUTHS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
PAIRS = ((0.1, 0.1), (0.1, 0.2), (0.3, 0.3), (0.3, 0.5), (0.5, 0.5), (0.8, 0.9), (0.9, 0.9))
LIKENESS = 0.6
"""Share of the questions on which two systems have the same luck."""
ALIKE = 0.3
"""Correlation of the questions of a cluster."""
UNEVEN = (1, 2, 3, 6, 8)


@dataclass(frozen=True)
class Shape:
    """Questions of one task: how many, of which kind of score, in clusters of which size (0: uneven)."""

    kind: str
    questions: int
    size: int = 1

    def clusters(self) -> Integers:
        sizes: list[int] = []
        while sum(sizes) < self.questions:
            size = self.size or UNEVEN[len(sizes) % len(UNEVEN)]
            sizes.append(min(size, self.questions - sum(sizes)))
        return np.repeat(np.arange(len(sizes)), sizes)

    def __str__(self) -> str:
        of = {0: "uneven clusters", 1: "alone"}.get(self.size, f"clusters of {self.size}")
        return f"{self.kind:7} {self.questions:4} questions, {of:16} ({self.clusters()[-1] + 1} clusters)"


SHAPES = [Shape(kind, n, size) for kind in ("binary", "f1") for n in (20, 30, 100, 400) for size in (1, 4, 0)]


@dataclass(frozen=True)
class Luck:
    """What decides a system's scores besides its skill: of clusters, questions, and the parts of an F1-like score."""

    cluster: Floats
    question: Floats
    parts: Floats
    partly: Floats


def luck(rng: np.random.Generator, shape: Shape, runs: int) -> Luck:
    clusters = int(shape.clusters()[-1]) + 1
    n = shape.questions
    return Luck(rng.random((clusters, runs)), rng.random((n, runs)), rng.random((3, n, runs)), rng.random((n, runs)))


def like(rng: np.random.Generator, one: Luck, shape: Shape, runs: int) -> Luck:
    """The luck of a system that shares most of another's."""
    own = luck(rng, shape, runs)
    same = rng.random(own.question.shape) < LIKENESS
    return Luck(
        np.where(rng.random(own.cluster.shape) < LIKENESS, one.cluster, own.cluster),
        np.where(same, one.question, own.question),
        np.where(same, one.parts, own.parts),
        one.partly,
    )


def scores(shape: Shape, truth: float, given: Luck) -> Floats:
    """Questions x runs: right or wrong; or F1-like, where half of the questions have thirds of a score."""
    skill = np.full(given.question.shape, truth)
    if shape.size != 1 and 0 < truth < 1:
        from scipy.stats import beta

        spread = (1 - ALIKE) / ALIKE
        skill = beta.ppf(given.cluster, truth * spread, (1 - truth) * spread)[shape.clusters()]
    right = (given.question < skill).astype(np.float64)
    if shape.kind == "binary":
        return right
    return np.where(given.partly < 0.5, (given.parts < skill).mean(axis=0), right)


def means(shape: Shape, runs: int, seed: int = 0, truths: Sequence[float] = TRUTHS) -> list[float]:
    """How often the interval of a task's mean holds the truth, a true mean each."""
    rng = np.random.default_rng(seed)
    return [_tasks_hold(rng, shape, [truth], runs) for truth in truths]


def tasks(shape: Shape, number: int, runs: int, seed: int = 0) -> list[float]:
    """How often the interval of an average over tasks holds the truth: all alike, all weak, and from easy to hard."""
    rng = np.random.default_rng(seed)
    kinds = [[0.05] * number, [0.5] * number, list(np.linspace(0.0, 0.2, number)), list(np.linspace(0.1, 0.9, number))]
    return [_tasks_hold(rng, shape, kind, runs) for kind in kinds]


def _tasks_hold(rng: np.random.Generator, shape: Shape, truths: Sequence[float], runs: int) -> float:
    places = layout(np.zeros(shape.questions, np.int64), shape.clusters())
    found = [moments(scores(shape, truth, luck(rng, shape, runs)), places) for truth in truths]
    held, truth = 0, float(np.mean(truths))
    for run in range(runs):
        each = [(float(f.means[0, run]), float(f.variances[0, run]), float(f.clusters[0, run])) for f in found]
        steady = [intervals.steadied(mean, variance, shape.questions, number) for mean, variance, number in each]
        _, low, high = intervals.over_tasks([mean for mean, _, _ in each], steady, [number for _, _, number in each])
        held += low - 1e-12 <= truth <= high + 1e-12
    return held / runs


def pair(rng: np.random.Generator, shape: Shape, a: float, b: float, runs: int) -> Floats:
    """Differences of two systems, questions x runs."""
    one = luck(rng, shape, runs)
    return scores(shape, a, one) - scores(shape, b, like(rng, one, shape, runs))


def differences(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """How often the interval of a paired difference holds the truth, a pair of true means each."""
    rng = np.random.default_rng(seed)
    places = layout(np.zeros(shape.questions, np.int64), shape.clusters())
    shares = []
    for a, b in PAIRS:
        found = moments(pair(rng, shape, a, b, runs), places)
        held = 0
        for mean, variance, number in zip(found.means[0], found.variances[0], found.clusters[0], strict=True):
            _, low, high, _ = interval_of_difference([float(mean)], [float(variance)], [float(number)])
            held += low - 1e-12 <= a - b <= high + 1e-12
        shares.append(held / runs)
    return shares


def false_positives(shape: Shape, runs: int, seed: int = 0, number: int = 1, flips: int = 4000) -> list[float]:
    """How often the paired test finds a difference between equals at 0.05, over so many tasks, a true mean each."""
    rng = np.random.default_rng(seed)
    places = layout(np.zeros(shape.questions, np.int64), shape.clusters())
    shares = []
    for truth in (0.1, 0.3, 0.5, 0.9):
        sums = [moments(pair(rng, shape, truth, truth, runs), places).sums for _ in range(number)]
        shares.append(float((p_values(np.concatenate(sums), seed, flips) < 0.05).mean()))
    return shares


def percentile_bootstrap(shape: Shape, runs: int, seed: int = 0) -> list[float]:
    """As `means`, by the percentile bootstrap: what the interval is chosen against."""
    rng = np.random.default_rng(seed)
    places: Layout = layout(np.zeros(shape.questions, np.int64), shape.clusters())
    shares = []
    for truth in TRUTHS:
        found = moments(scores(shape, truth, luck(rng, shape, runs)), places)
        low, high = percentiles(bootstrap(found.sums, found.sizes, places, seed, 1000))
        shares.append(float(((low - 1e-12 <= truth) & (truth <= high + 1e-12)).mean()))
    return shares


def _lines(chosen: Sequence[str], runs: int, peers: bool) -> Iterator[str]:
    kinds: list[tuple[str, str, Callable[[Shape], list[float]]]] = [
        ("means", "intervals of means", lambda shape: means(shape, runs)),
        ("tasks", "averages over 4 tasks", lambda shape: tasks(shape, 4, runs)),
        ("tasks", "averages over 12 tasks", lambda shape: tasks(shape, 12, runs // 2)),
        ("differences", "paired differences", lambda shape: differences(shape, runs)),
        ("tests", "false positives", lambda shape: false_positives(shape, runs)),
        ("tests", "false positives over 12 tasks", lambda shape: false_positives(shape, runs // 2, number=12)),
    ]
    if peers:
        kinds.append(("means", "percentile bootstrap", lambda shape: percentile_bootstrap(shape, min(runs, 1000))))
    for name, title, measure in kinds:
        if name not in chosen:
            continue
        yield f"\n{title}, percent"
        for shape in SHAPES:
            shares = [100 * share for share in measure(shape)]
            each = " ".join(f"{share:5.1f}" for share in shares)
            yield f"  {shape!s:62} mean {np.mean(shares):5.1f}   {each}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="means,tasks,differences,tests")
    parser.add_argument("--peers", action="store_true", help="the percentile bootstrap beside it")
    given = parser.parse_args()
    for line in _lines(given.only.split(","), given.runs, given.peers):
        print(line, flush=True)


if __name__ == "__main__":
    main()
