"""A ranking that says what it cannot say: which systems it cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from r_eval.analysis.statistics.paired import Comparison


@dataclass(frozen=True, slots=True)
class Place:
    """A system in a ranking, best first.

    Attributes:
        rank: By the mean alone; equal means share the lower number.
        highest, lowest: The ranks that it may truly have: behind those that are surely better, before those that
            are surely worse.
        groups: Letters, as in "ab": the systems of a letter are neighbours of which no two can be told apart.
    """

    system: str
    mean: float
    rank: int
    highest: int
    lowest: int
    groups: str


def ranking(means: Mapping[str, float], comparisons: Sequence[Comparison]) -> list[Place]:
    """Rank systems by their means, with what `pairwise` found about each two of them.

    Two systems that were not compared cannot be told apart.
    """
    order = sorted(means, key=lambda system: (-means[system], system))
    better = {(one.better, one.b if one.better == one.a else one.a) for one in comparisons if one.better is not None}
    apart = {frozenset(pair) for pair in better}
    letters = _letters(order, apart)
    return [
        Place(
            system,
            means[system],
            1 + sum(round(mean, 12) > round(means[system], 12) for mean in means.values()),
            1 + sum((other, system) in better for other in order),
            len(order) - sum((system, other) in better for other in order),
            letters[system],
        )
        for system in order
    ]


def _letters(order: Sequence[str], apart: set[frozenset[str]]) -> dict[str, str]:
    """Each longest run of neighbours without two that can be told apart gets a letter."""
    letters = dict.fromkeys(order, "")
    reached, used = 0, 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any(frozenset((order[k], order[end])) in apart for k in range(start, end)):
            end += 1
        if end > reached:
            for system in order[start:end]:
                letters[system] += _letter(used)
            reached, used = end, used + 1
    return letters


def _letter(number: int) -> str:
    """a to z, then a1 to z1, and so on."""
    return chr(ord("a") + number % 26) + (str(number // 26) if number >= 26 else "")
