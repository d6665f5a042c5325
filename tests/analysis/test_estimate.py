"""Intervals against values known from elsewhere."""

from __future__ import annotations

import random

import pytest

from r_eval.analysis.estimate import average, interval, of_scores


def test_the_interval_is_wilsons() -> None:
    assert interval(0.3, 50) == pytest.approx((0.1910, 0.4375), abs=1e-4)


@pytest.mark.parametrize(("mean", "ends"), [(0.0, (0.0, 0.30850)), (1.0, (0.69150, 1.0))])
def test_all_wrong_and_all_right_have_the_exact_interval(mean: float, ends: tuple[float, float]) -> None:
    assert interval(mean, 10) == pytest.approx(ends, abs=1e-5)


def test_an_average_of_equal_tasks_is_as_sure_as_all_their_episodes() -> None:
    found = average([of_scores(10, 20, 20)] * 3, 3)
    assert (found.low, found.high) == pytest.approx(interval(0.5, 60))


def test_19_of_20_intervals_hold_the_true_mean() -> None:
    rng = random.Random(7)
    held = 0
    for _ in range(1000):
        scores = [rng.choice([0.0, 0.0, 0.4, 1.0]) for _ in range(25)]
        low, high = interval(sum(scores) / 25, 25)
        held += low <= 0.35 <= high
    assert held >= 940


def test_without_an_episode_there_is_no_interval() -> None:
    assert of_scores(0.0, 0, 5).low is None
