"""Intervals against other implementations of the same formulas, and at the edges."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from r_eval.analysis.statistics import intervals


def test_wilsons_interval_is_that_of_scipy() -> None:
    rng = random.Random(3)
    for _ in range(500):
        n = rng.randint(2, 500)
        right = rng.randint(1, n - 1)
        known = stats.binomtest(right, n).proportion_ci(method="wilson")
        found = intervals.wilson(right / n, right / n * (1 - right / n) / n)
        assert found == pytest.approx((known.low, known.high), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 30, 400])
@pytest.mark.parametrize("right", ["none", "all"])
def test_all_wrong_and_all_right_have_the_exact_interval_of_scipy(n: int, right: str) -> None:
    count = n if right == "all" else 0
    known = stats.binomtest(count, n).proportion_ci(method="exact")
    assert intervals.exact(count / n, n) == pytest.approx((known.low, known.high), abs=1e-9)


@pytest.mark.parametrize("freedom", [1, 4, 19, 99.5])
def test_the_quantile_is_students(freedom: float) -> None:
    assert intervals.student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom))


def test_the_degrees_of_freedom_of_equal_tasks_add_up() -> None:
    variance, freedom = intervals.pooled([0.01] * 3, [20.0] * 3)
    assert (variance, freedom) == (pytest.approx(0.03 / 9), pytest.approx(57))


def test_a_variance_above_that_of_right_or_wrong_scores_is_kept() -> None:
    assert intervals.steadied(0.5, 0.05, 20, 5) == 0.05


def test_an_implausibly_small_variance_is_drawn_up_less_where_there_is_much_evidence() -> None:
    few, many = intervals.steadied(0.1, 1e-6, 20, 20), intervals.steadied(0.1, 1e-6 / 100, 2000, 2000)
    assert few * 20 > 10 * many * 2000 > 0


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(1, 50), st.integers(1, 5)), min_size=1, max_size=6)
)
def test_an_interval_is_within_0_and_1_and_holds_its_mean(tasks: list[tuple[float, float, int, int]]) -> None:
    means = [mean for mean, _, _, _ in tasks]
    steady = [
        intervals.steadied(
            mean, spread * mean * (1 - mean) / clusters if clusters > 1 else math.nan, clusters * each, clusters
        )
        for mean, spread, clusters, each in tasks
    ]
    mean, low, high = intervals.over_tasks(means, steady, [float(clusters) for _, _, clusters, _ in tasks])
    assert 0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1


def test_one_cluster_alone_says_next_to_nothing() -> None:
    steady = intervals.steadied(0.5, math.nan, 40, 1)
    _, low, high = intervals.over_tasks([0.5], [steady], [1.0])
    assert high - low > 0.9
