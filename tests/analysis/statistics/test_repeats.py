"""pass@k and pass^k against all choices of k tries."""

from __future__ import annotations

from itertools import combinations

import pytest

from r_eval.analysis.statistics.repeats import pass_at_k, pass_hat_k, repeats

CASES = [(n, right, k) for n in range(1, 7) for right in range(n + 1) for k in range(1, n + 1)]


@pytest.mark.parametrize(("tries", "right", "k"), CASES)
def test_both_are_the_share_of_all_choices(tries: int, right: int, k: int) -> None:
    choices = list(combinations([True] * right + [False] * (tries - right), k))
    assert pass_at_k(tries, right, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(tries, right, k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_they_are_means_over_questions() -> None:
    found = repeats(["q1", "q1", "q2", "q2"], [1.0, 0.0, 1.0, 0.8], 2)
    assert (found.pass_at.mean, found.pass_hat.mean) == (1.0, 0.5)
    assert found.pass_hat.low is not None


def test_a_question_with_too_few_scored_tries_is_left_out_and_counted() -> None:
    found = repeats(["q1", "q1", "q2", "q2"], [1.0, 1.0, 1.0, float("nan")], 2)
    assert (found.questions, found.short, found.pass_at.mean) == (1, 1, 1.0)


def test_a_k_that_nothing_has_gives_no_mean() -> None:
    assert repeats(["q1"], [1.0], 3).pass_at.mean is None


@pytest.mark.parametrize("k", [0, 4])
def test_a_k_out_of_range_is_an_error(k: int) -> None:
    with pytest.raises(ValueError, match="1 to 3"):
        pass_at_k(3, 1, k)
