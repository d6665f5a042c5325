"""Paired comparisons: what is paired, what is counted, and Holm's correction."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from r_eval.analysis.statistics.board import Board, board
from r_eval.analysis.statistics.paired import compare, compare_by_task, flipped, holm, pairwise


def made(*columns: list[float], tasks: int = 1, clusters: int = 0) -> Board:
    """Systems a, b, ... on questions q0, q1, ...; NaN is no score."""
    scores = {
        system: {
            f"t{task}": {f"q{n}": score for n, score in enumerate(column) if n % tasks == task and score == score}
            for task in range(tasks)
        }
        for system, column in zip("abcdefgh", columns, strict=False)
    }
    shared = {
        f"t{task}": {f"q{n}": f"c{n // (clusters or 1)}" for n in range(len(columns[0]))} for task in range(tasks)
    }
    return board(scores, shared if clusters else None)


def test_holms_correction_is_that_of_statsmodels() -> None:
    known = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    rng = random.Random(11)
    for _ in range(10):
        p = [rng.random() ** 3 for _ in range(rng.randint(1, 40))]
        assert holm(p) == pytest.approx(list(known.multipletests(p, method="holm")[1]))


def test_the_interval_of_questions_alone_is_the_paired_t_of_scipy() -> None:
    rng = np.random.default_rng(12)
    one, two = rng.random(40), rng.random(40)
    found = compare(made(one.tolist(), two.tolist()), "a", "b")
    known = stats.ttest_rel(one, two).confidence_interval()
    assert (found.low, found.high) == pytest.approx((known.low, known.high))


def test_questions_are_counted_by_who_answers_them() -> None:
    found = compare(made([1, 1, 0, 0, 0.6], [1, 0, 1, 0, 0.7]), "a", "b")
    assert (found.only_a, found.only_b, found.both, found.neither) == (1, 1, 2, 1)
    assert (found.wins, found.losses, found.ties) == (1, 2, 2)


def test_what_only_one_has_is_left_out_and_counted() -> None:
    found = compare(made([1, 1, math.nan, 0], [0, math.nan, 1, 0]), "a", "b")
    assert (found.questions, found.unpaired_a, found.unpaired_b, found.difference) == (2, 1, 1, 0.5)


def test_tasks_weigh_the_same_whatever_their_size() -> None:
    scores = {
        "a": {"t": {"q1": 1.0}, "u": dict.fromkeys("wxyz", 0.0)},
        "b": {"t": {"q1": 0.0}, "u": dict.fromkeys("wxyz", 0.0)},
    }
    assert compare(board(scores), "a", "b").difference == 0.5


def test_systems_without_a_common_question_have_no_difference() -> None:
    found = compare(made([1, math.nan], [math.nan, 1]), "a", "b")
    assert (found.questions, math.isnan(found.difference), found.told_apart) == (0, True, False)


def test_a_clear_difference_is_told_apart_and_names_the_better_one() -> None:
    found = compare(made([0] * 30, [1] * 20 + [0] * 10), "a", "b")
    assert (found.told_apart, found.better) == (True, "b")
    assert found.high < 0


def test_equal_systems_cannot_be_told_apart_and_the_interval_says_how_far_that_goes() -> None:
    found = compare(made([1, 0] * 15, [1, 0] * 15), "a", "b")
    assert (found.p, found.better) == (1.0, None)
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 30) - 1, 1 - 0.025 ** (1 / 30)))


def test_clusters_make_the_same_difference_less_sure() -> None:
    one, two = [1, 1, 1, 0, 1, 0] * 8, [0, 1, 0, 0, 1, 0] * 8
    alone, shared = compare(made(one, two), "a", "b"), compare(made(one, two, clusters=12), "a", "b")
    assert (alone.clusters, shared.clusters) == (48, 4)
    assert alone.p < 0.01 < 0.05 < shared.p


def test_all_pairs_are_corrected_together() -> None:
    rng = np.random.default_rng(13)
    found = pairwise(made(*[(rng.random(60) < skill).astype(float).tolist() for skill in (0.2, 0.5, 0.6, 0.9)]))
    assert [one.adjusted for one in found] == holm([one.p for one in found])


def test_a_pair_among_others_is_as_it_is_alone() -> None:
    rng = np.random.default_rng(14)
    full = made(*[(rng.random(60) < 0.5).astype(float).tolist() for _ in range(4)], tasks=3)
    among = next(one for one in pairwise(full) if (one.a, one.b) == ("b", "d"))
    alone = compare(full, "b", "d")
    assert (among.p, among.low, *among.bootstrap) == pytest.approx((alone.p, alone.low, *alone.bootstrap))


def test_the_two_systems_can_change_places() -> None:
    rng = np.random.default_rng(15)
    full = made(rng.random(50).tolist(), rng.random(50).tolist(), tasks=2)
    one, two = compare(full, "a", "b"), compare(full, "b", "a")
    assert (one.p, one.low, one.wins) == (two.p, pytest.approx(-two.high), two.losses)


def test_tasks_without_a_common_question_are_no_comparison() -> None:
    found = compare_by_task(made([1, math.nan, 0, 1], [0, 1, 0, 1], tasks=2), "a", "b")
    assert [(one.tasks, one.questions) for one in found] == [(("t0",), 2), (("t1",), 1)]
    assert compare_by_task(made([1, math.nan], [0, 1], tasks=2), "a", "b")[0].tasks == ("t0",)


def test_flipped_questions_are_named() -> None:
    assert flipped(made([1, 0, 1], [0, 1, 1]), "a", "b") == ([("t0", "q0")], [("t0", "q1")])


def test_the_smallest_difference_that_shows_is_found_in_8_of_10_runs() -> None:
    rng = np.random.default_rng(16)
    seen = compare(made(rng.random(80).tolist(), rng.random(80).tolist()), "a", "b")
    spread = math.sqrt(2 / 12)
    known = spread / math.sqrt(80) * (stats.t.ppf(0.975, 79) + stats.norm.ppf(0.8))
    assert seen.detectable == pytest.approx(known, rel=0.2)


def test_the_same_data_gives_the_same_numbers() -> None:
    columns = [np.random.default_rng(17 + n).random(40).tolist() for n in range(3)]
    assert pairwise(made(*columns)) == pairwise(made(*columns))
