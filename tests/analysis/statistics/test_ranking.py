"""A ranking claims no more than the comparisons allow."""

from __future__ import annotations

import numpy as np

from r_eval.analysis.statistics.board import board
from r_eval.analysis.statistics.paired import pairwise
from r_eval.analysis.statistics.ranking import Place, ranking


def ranked(**right: int) -> list[Place]:
    """Systems by how many of 200 questions they answer, the easiest first."""
    found = board({s: {"t": {f"q{n:03}": float(n < k) for n in range(200)}} for s, k in right.items()})
    return ranking({system: float(np.mean(found.column(system))) for system in found.systems}, pairwise(found))


def test_systems_far_apart_have_places_and_letters_of_their_own() -> None:
    found = ranked(weak=20, strong=180, middle=100)
    assert [(p.system, p.highest, p.lowest, p.groups) for p in found] == [
        ("strong", 1, 1, "a"),
        ("middle", 2, 2, "b"),
        ("weak", 3, 3, "c"),
    ]


def test_neighbours_that_cannot_be_told_apart_share_a_letter() -> None:
    found = ranked(one=150, two=149, three=20)
    assert [(p.system, p.groups) for p in found] == [("one", "a"), ("two", "a"), ("three", "b")]
    assert (found[0].highest, found[0].lowest, found[2].highest) == (1, 2, 3)


def test_a_system_between_two_groups_has_both_letters() -> None:
    found = ranked(one=104, two=100, three=96)
    assert [p.groups for p in found] == ["a", "ab", "b"]


def test_equal_means_share_the_lower_rank() -> None:
    assert [p.rank for p in ranked(one=100, two=100, three=20)] == [1, 1, 3]


def test_systems_that_were_not_compared_cannot_be_told_apart() -> None:
    assert [p.groups for p in ranking({"one": 0.9, "two": 0.1}, [])] == ["a", "a"]
