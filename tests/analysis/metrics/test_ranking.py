"""Ranking metrics; tests of agreement are beside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics.ranking import RANKING, hit_rate, mrr, precision, recall

ids = st.sampled_from("abcdef")


@pytest.mark.parametrize("name", sorted(RANKING))
@given(st.lists(ids, max_size=8), st.sets(ids), st.integers(1, 8))
def test_a_ranking_scores_from_0_to_1_and_no_more_than_a_hit(
    name: str, found: list[str], right: set[str], k: int
) -> None:
    assert 0 <= RANKING[name](found, right, k) <= hit_rate(found, right, k) + 1e-12


@pytest.mark.parametrize("name", sorted(RANKING))
@given(st.lists(ids, max_size=8), st.sets(ids), st.integers(1, 8))
def test_an_id_found_again_changes_nothing(name: str, found: list[str], right: set[str], k: int) -> None:
    assert RANKING[name](found + found, right, k) == RANKING[name](found, right, k)


def test_a_right_id_that_is_named_twice_is_one() -> None:
    assert recall(["a"], ["a", "a"], 1) == 1.0


def test_precision_is_over_k_however_few_were_found() -> None:
    assert (precision(["a"], {"a"}, 4), mrr(["x", "a"], {"a"}, 1)) == (0.25, 0.0)


def test_k_must_be_1_or_more() -> None:
    with pytest.raises(ValueError, match="k is 0"):
        recall(["a"], {"a"}, 0)
