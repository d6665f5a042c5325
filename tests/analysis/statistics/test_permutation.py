"""The permutation test against SciPy's, and its false positives in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage import Shape, false_positives
from r_eval.analysis.statistics.permutation import p_values


def mid_p(values: np.ndarray) -> float:
    """From SciPy's exact null distribution of the sum."""
    found = stats.permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    sizes, seen = np.abs(found.null_distribution), abs(values.sum())
    return float(np.mean(sizes > seen + 1e-9) + 0.5 * np.mean(np.abs(sizes - seen) <= 1e-9))


@pytest.mark.parametrize("kind", ["binary", "graded"])
def test_few_clusters_have_the_exact_p_of_scipy(kind: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        values = rng.integers(-2, 3, rng.integers(2, 9)).astype(float)
        values = values if kind == "binary" else values * rng.random(len(values))
        assert p_values(values[:, None], 0)[0] == pytest.approx(mid_p(values) if values.any() else 1.0)


def mcnemar(wins: int, losses: int) -> float:
    """The mid-p of McNemar's test."""
    tie = stats.binom.pmf(wins, wins + losses, 0.5) * (1 if wins == losses else 2) / 2
    return float(stats.binomtest(wins, wins + losses).pvalue - tie)


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (9, 2), (3, 3), (1, 11)])
def test_right_or_wrong_scores_have_mcnemars_mid_p(wins: int, losses: int) -> None:
    values = np.array([1.0] * wins + [-1.0] * losses)
    assert p_values(values[:, None], 0)[0] == pytest.approx(mcnemar(wins, losses))


@pytest.mark.parametrize(("wins", "losses"), [(12, 3), (20, 15), (70, 40), (200, 199)])
def test_random_flips_come_close_to_all_flips(wins: int, losses: int) -> None:
    values = np.array([1.0] * wins + [-1.0] * losses) / (wins + losses)
    assert p_values(values[:, None], 1)[0] == pytest.approx(mcnemar(wins, losses), abs=0.01)


def test_a_p_is_never_0() -> None:
    assert p_values(np.ones((200, 1)), 0)[0] > 0


def test_the_order_of_the_two_systems_does_not_matter() -> None:
    values = np.random.default_rng(6).normal(0.1, 1, (60, 4))
    assert p_values(values, 7).tolist() == p_values(-values, 7).tolist()


def test_a_pair_has_the_same_p_beside_other_pairs() -> None:
    values = np.random.default_rng(8).choice([-1.0, 0.0, 1.0], (80, 5))
    assert p_values(values, 9)[3] == pytest.approx(p_values(values[:, [3]], 9)[0], abs=1e-9)


def test_without_a_difference_p_is_1() -> None:
    assert p_values(np.zeros((10, 1)), 0).tolist() == [1.0]


@pytest.mark.parametrize("size", [1, 4, 0], ids=["alone", "clusters", "uneven"])
@pytest.mark.parametrize("kind", ["binary", "f1"])
def test_equals_are_told_apart_in_3_to_7_percent(kind: str, size: int) -> None:
    shares = false_positives(Shape(kind, 30, size), 300, number=6, flips=2000)
    assert 0.03 <= np.mean(shares) <= 0.07


def test_few_questions_of_one_task_tell_equals_apart_less_often_still() -> None:
    assert max(false_positives(Shape("binary", 20), 500, flips=2000)) <= 0.05
