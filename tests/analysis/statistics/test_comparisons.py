"""Paired comparisons against scipy and statsmodels, and the rules of a family."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from r_eval.analysis.statistics import ALPHA, ScorePairs, compare, holm, rank_intervals

PAIRS = 3000


def test_graded_scores_have_the_paired_t_test_of_scipy() -> None:
    rng = np.random.default_rng(1)
    for n in (2, 7, 40):
        a, b = rng.random((n, PAIRS)), rng.random((n, PAIRS))
        known = stats.ttest_rel(a, b)
        found = compare(ScorePairs(a, b))
        assert np.allclose(found.p, known.pvalue)
        level = ALPHA / max(1, PAIRS - found.significant.sum())
        ends = known.confidence_interval(1 - level)
        assert np.allclose(found.low, np.maximum(-1, ends.low))
        assert np.allclose(found.high, np.minimum(1, ends.high))


def test_right_or_wrong_scores_have_mcnemars_statistic() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables", reason="statsmodels is not installed")
    rng = np.random.default_rng(2)
    a, b = (rng.random((2, 60, 200)) < 0.6).astype(float)
    found = compare(ScorePairs(a, b))
    for pair in range(200):
        only_a, only_b = ((a - b)[:, pair] == 1).sum(), ((a - b)[:, pair] == -1).sum()
        known = tables.mcnemar([[0, only_a], [only_b, 0]], exact=False, correction=False)
        assert found.p[pair] == pytest.approx(2 * stats.t.sf(np.sqrt(known.statistic), 59))


def test_the_ends_of_a_score_interval_are_the_differences_that_the_test_just_rejects() -> None:
    """(d - x)^2 = k (max(psi, |x|) - x^2), with psi the share of questions that one of the two answers rightly."""
    rng = np.random.default_rng(7)
    for n in (5, 12, 40):
        for agreement in (0.2, 0.9):
            a = rng.random((n, 60)) < rng.random(60)
            b = np.where(rng.random((n, 60)) < agreement, a, ~a)
            for pair in range(60):
                found = compare(ScorePairs(a[:, pair] * 1.0, b[:, pair] * 1.0))
                d, psi = found.difference[0], np.mean(a[:, pair] != b[:, pair])
                k = stats.t.ppf(1 - ALPHA / 2, n - 1) ** 2 / n
                for x in (found.low[0], found.high[0]):
                    assert abs(x) == 1 or (d - x) ** 2 == pytest.approx(k * (max(psi, abs(x)) - x**2), abs=1e-9)


def test_holms_correction_is_that_of_statsmodels() -> None:
    known = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    rng = np.random.default_rng(4)
    for size in (1, 2, 30):
        p = rng.random(size) ** 3
        assert np.allclose(holm(p), known.multipletests(p, method="holm")[1])
    assert np.isnan(holm([0.01, np.nan])[1])
    assert holm([0.01, np.nan])[0] == 0.01


def test_no_interval_contradicts_its_verdict() -> None:
    rng = np.random.default_rng(5)
    number = 0
    for questions in (5, 12, 40, 100):
        for clusters in (None, rng.integers(0, 5, questions)):
            for _ in range(40):
                truths = rng.random(8)
                kinds = rng.random((questions, 8)) if rng.random() < 0.5 else np.ones((questions, 8))
                scores = (rng.random((questions, 8)) < truths) * kinds
                left, right = np.triu_indices(8, 1)
                found = compare(ScorePairs(scores[:, left], scores[:, right], clusters))
                assert (((found.low > 0) | (found.high < 0)) == found.significant).all()
                assert ((found.low <= found.difference) & (found.difference <= found.high)).all()
                number += len(found.p)
    assert number > 8000


@pytest.mark.parametrize("clusters", [None, np.arange(40) % 12], ids=["documents", "templates"])
def test_all_against_nothing_is_significant_among_21_systems(clusters: np.ndarray | None) -> None:
    scores = np.zeros((40, 21))
    scores[:, 0] = 1
    left, right = np.triu_indices(21, 1)
    found = compare(ScorePairs(scores[:, left], scores[:, right], clusters))
    assert found.significant.tolist() == [True] * 20 + [False] * 190
    assert (found.low[:20] > 0.1).all()


def test_a_pair_without_a_common_question_counts_for_nothing() -> None:
    a, b = np.array([[1.0, 1.0]] * 10), np.array([[0.0, np.nan]] * 10)
    found, alone = compare(ScorePairs(a, b)), compare(ScorePairs(a[:, 0], b[:, 0]))
    assert found.p_adjusted[0] == alone.p_adjusted[0]
    assert (found.questions[1], found.significant[1]) == (0, False)
    assert compare().p.size == 0


def test_tasks_weigh_alike_and_one_of_a_single_cluster_counts_as_one_question() -> None:
    a, tasks = [1] * 15 + [0] * 5 + [1, 1, 0, 1, 1, 1], ["a"] * 20 + ["b"] * 6
    together = compare(ScorePairs(a, [0] * 26, [*range(20), *[20] * 6], tasks))
    alone = compare(ScorePairs(a, [0] * 26, strata=tasks))
    assert together.difference[0] == together.mean_a[0] == alone.difference[0] == pytest.approx((15 / 20 + 5 / 6) / 2)
    assert alone.p[0] < together.p[0] < 1


@pytest.mark.parametrize(("n", "per_cluster", "known"), [(39, 1, False), (40, 1, True), (76, 4, False), (80, 4, True)])
def test_a_detectable_effect_is_stated_from_40_questions_in_20_clusters_on(
    n: int, per_cluster: int, known: bool
) -> None:
    a, b = np.arange(n) % 2, np.arange(n) % 3 == 0
    assert np.isfinite(compare(ScorePairs(a, b, np.arange(n) // per_cluster)).mde[0]) == known


def test_ranks_that_significant_differences_leave_open() -> None:
    better = np.zeros((4, 4), bool)
    better[0, 3] = better[1, 3] = True
    rank, low, high = rank_intervals([0.9, 0.8, 0.8, 0.1], better)
    assert rank.tolist() == [1, 2, 2, 4]
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [(1, 3), (1, 3), (1, 4), (3, 4)]
