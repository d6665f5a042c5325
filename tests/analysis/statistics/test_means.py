"""Means and their intervals against scipy, a jackknife written the long way, and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from r_eval.analysis.statistics import mean, wilson
from r_eval.analysis.statistics.means import moments

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(("right", "n"), [(0, 5), (1, 4), (30, 100), (199, 200), (40, 40)])
def test_independent_right_or_wrong_scores_have_wilsons_interval(right: int, n: int) -> None:
    known = stats.binomtest(right, n).proportion_ci(method="wilson")
    found = mean([1] * right + [0] * (n - right))
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert wilson(right / n, n) == (pytest.approx(known.low), pytest.approx(known.high))


def test_the_variance_is_the_jackknifes_over_clusters() -> None:
    values, clusters = RNG.random(50), RNG.integers(0, 9, 50)
    left_out = np.array([values[clusters != cluster].mean() for cluster in range(9)])
    expected = 8 / 9 * ((left_out - values.mean()) ** 2).sum()
    found = moments(values, np.zeros(50, np.int64), 1, clusters)
    assert found.variance[0] == pytest.approx(expected)
    alone = moments(values, np.zeros(50, np.int64), 1, None)
    assert alone.variance[0] == pytest.approx(values.var(ddof=1) / 50)


def test_unbounded_values_have_students_interval() -> None:
    seconds = RNG.gamma(2, 10, 25)
    known = stats.ttest_1samp(seconds, 0).confidence_interval()
    found = mean(seconds, bounded=False)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))


def test_a_mean_over_tasks_weighs_tasks_alike() -> None:
    found = mean([1, 1, 1, 0], strata=["a", "a", "a", "b"])
    assert (found.mean, found.questions) == (0.5, 4)


def test_a_task_of_a_single_cluster_counts_as_one_question() -> None:
    scores, tasks = [1] * 15 + [0] * 5 + [1, 0] * 3, ["a"] * 20 + ["b"] * 6
    together, alone = mean(scores, [*range(20), *[20] * 6], tasks), mean(scores, strata=tasks)
    assert together.low < alone.low < alone.high < together.high


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), st.integers(0, 2)), max_size=30))
def test_an_interval_is_within_0_and_1_and_holds_its_mean(rows: list[tuple[float, int, int]]) -> None:
    scores, clusters, strata = (list(part) for part in zip(*rows, strict=True)) if rows else ([], [], [])
    found = mean(scores, clusters, strata)
    if not rows:
        assert np.isnan(found.mean)
        assert found.questions == 0
        return
    assert 0 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1
