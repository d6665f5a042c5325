"""A mean with what must stand beside it: how many episodes, how sure, and what the missing ones allow.

The interval is Wilson's (1927), the score interval of a proportion. A score between 0 and 1 with mean p has
a variance of at most p(1 - p), that of a proportion, so the interval is never too narrow on that account;
it stays within 0 and 1 and holds for few episodes, unlike the normal one. Where all scores are 0 (or all 1)
it is the exact one of Clopper and Pearson (1934). For an average over tasks the episodes count as many as a
single sample of the same variance has (Korn and Graubard 1998).

The bounds are no statistics: they are what the mean would be if every missing episode scored 0, or 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959963984540054
"""97.5 % of a standard normal distribution: an interval of 95 %."""


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

    @property
    def missing(self) -> int:
        """Episodes that have no score yet."""
        return max(0, (self.expected or self.n) - self.n)

    @property
    def complete(self) -> bool:
        """Whether every task is there, with every episode."""
        return self.missing == 0 and self.tasks == self.of_tasks and self.mean is not None


def of_scores(total: float, n: int, expected: int) -> Estimate:
    """The estimate of one cell, from the sum of its scores."""
    expected = max(expected, n)
    if n == 0:
        return Estimate(None, 0, expected, None, None, 0.0, 1.0, 0, 1)
    mean = total / n
    low, high = interval(mean, n)
    return Estimate(mean, n, expected, low, high, total / expected, (total + expected - n) / expected)


def published(mean: float, episodes: int | None = None) -> Estimate:
    """The estimate of a cell of which only the mean is known; an interval where the episodes are."""
    low, high = interval(mean, episodes) if episodes else (None, None)
    return Estimate(mean, episodes or 0, episodes, low, high, mean, mean)


def average(cells: Sequence[Estimate], of_tasks: int) -> Estimate:
    """The mean over tasks, each with the same weight; the tasks without a score are left out and counted."""
    there = [cell for cell in cells if cell.mean is not None]
    n = sum(cell.n for cell in cells)
    known = [cell.expected for cell in cells if cell.expected is not None]
    expected = sum(known) if len(known) == len(cells) and cells else None
    if not there:
        return Estimate(None, n, expected, None, None, None, None, 0, of_tasks)
    mean = math.fsum(cell.mean for cell in there if cell.mean is not None) / len(there)
    low, high = _average_interval(mean, there)
    worst = math.fsum(cell.worst for cell in cells if cell.worst is not None) / len(cells)
    best = math.fsum(cell.best for cell in cells if cell.best is not None) / len(cells)
    return Estimate(mean, n, expected, low, high, worst, best, len(there), of_tasks)


def _average_interval(mean: float, cells: Sequence[Estimate]) -> tuple[float | None, float | None]:
    if any(cell.n == 0 for cell in cells):
        return None, None
    if _certain(mean):
        return interval(mean, len(cells) * min(cell.n for cell in cells))
    means = [(cell.mean or 0.0, cell.n) for cell in cells]
    variance = math.fsum(p * (1 - p) / n for p, n in means) / len(cells) ** 2
    effective = mean * (1 - mean) / variance if variance > 0 else sum(n for _, n in means)
    return interval(mean, effective)


def interval(mean: float, n: float) -> tuple[float, float]:
    """95 % interval of a mean of `n` scores between 0 and 1.

    >>> [round(end, 3) for end in interval(0.5, 20)], [round(end, 3) for end in interval(0.0, 20)]
    ([0.299, 0.701], [0.0, 0.168])
    """
    if _certain(mean):
        beyond = 1 - 0.025 ** (1 / n)
        return (0.0, beyond) if mean < 0.5 else (1 - beyond, 1.0)
    square = Z * Z / n
    middle = (mean + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(mean * (1 - mean) / n + square / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _certain(mean: float) -> bool:
    return mean < 1e-12 or mean > 1 - 1e-12
