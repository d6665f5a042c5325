"""Intervals against values known from elsewhere."""

from __future__ import annotations

import random

import pytest

from r_eval.analysis.estimate import average, interval, of_questions, of_scores


def test_the_interval_is_wilsons() -> None:
    assert interval(0.3, 50) == pytest.approx((0.1910, 0.4375), abs=1e-4)


@pytest.mark.parametrize(("mean", "ends"), [(0.0, (0.0, 0.30850)), (1.0, (0.69150, 1.0))])
def test_all_wrong_and_all_right_have_the_exact_interval(mean: float, ends: tuple[float, float]) -> None:
    assert interval(mean, 10) == pytest.approx(ends, abs=1e-5)


def test_an_average_of_equal_tasks_is_as_sure_as_all_their_episodes() -> None:
    found = average([of_scores(10, 20, 20)] * 3, 3)
    assert (found.low, found.high) == pytest.approx(
        interval(0.5, 60), abs=0.003
    )  # Student's quantile, not the normal one


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


def test_the_epochs_of_a_question_are_averaged_first() -> None:
    found = of_questions(["q1", "q1", "q1", "q2"], [1.0, 1.0, 1.0, 0.0], 4)
    assert (found.mean, found.n, found.questions) == (0.5, 4, 2)


def test_epochs_add_no_certainty_where_they_agree() -> None:
    once = of_questions([f"q{n}" for n in range(20)], [1.0, 0.0] * 10, 20)
    twice = of_questions([f"q{n}" for n in range(20)] * 2, [1.0, 0.0] * 20, 40)
    assert (once.low, once.high) == (twice.low, twice.high)


def test_questions_that_share_a_template_count_as_one() -> None:
    names = [f"q{n:02}" for n in range(20)]
    scores = [1.0] * 10 + [0.0] * 10
    alone = of_questions(names, scores, 20)
    shared = of_questions(names, scores, 20, {name: f"t{n // 5}" for n, name in enumerate(names)})
    assert (alone.clusters, shared.clusters) == (20, 4)
    assert shared.low < alone.low < alone.high < shared.high


def test_all_right_is_as_sure_as_there_are_clusters() -> None:
    found = of_questions(["q1", "q2", "q3", "q4"], [1.0] * 4, 4, {"q1": "t", "q2": "t"})
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 3), 1.0))


def test_fewer_than_30_questions_are_few() -> None:
    names = [f"q{n}" for n in range(30)]
    assert of_questions(names[:29], [1.0] * 29, 29).few
    assert not of_questions(names, [1.0] * 30, 30).few
