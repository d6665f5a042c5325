"""From answers to recall, precision and the combined score."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.quest_eval import UNANSWERABLE, Pair, published, score
from r_eval.analysis.quest_eval.scores import QuestScore

FIGURE_6 = [Pair("red fox", "red wolf"), Pair("Nairobi", "Nairobi"), Pair("1912", UNANSWERABLE)]
"""F1 of 0.5 and of 1, and one question that the generated text does not answer."""

answers = st.sampled_from(["Kenya", "in Kenya", "1912", UNANSWERABLE, None])
pairs = st.lists(st.builds(Pair, answers, answers), max_size=8)


def test_figure_6_of_the_paper() -> None:
    found = score(FIGURE_6)
    assert found.recall == pytest.approx(2 / 3)
    assert found.precision == pytest.approx(0.75)
    assert found.precision_all == pytest.approx(0.5)
    assert found.combined == pytest.approx(0.5)


def test_figure_6_by_the_published_rule() -> None:
    found = published(["红色 狐狸", "内罗毕", "1912"], ["红色", "内罗毕", "无法推断"])
    assert found.recall == pytest.approx(2 / 3)
    assert found.precision == pytest.approx((0.5 + 1) / 2)


def test_what_the_reference_does_not_answer_is_left_out_but_of_the_denominator_of_all() -> None:
    found = score([*FIGURE_6, Pair(UNANSWERABLE, "Oz")])
    assert (found.recall, found.precision, found.combined) == pytest.approx((2 / 3, 0.75, 0.5))
    assert found.precision_all == pytest.approx(1.5 / 4)
    assert (found.n_questions, found.n_gt_unanswerable, found.n_gm_unanswerable, found.n_dropped) == (4, 1, 1, 1)


def test_a_question_without_a_reply_under_its_id_is_in_no_score_and_is_counted() -> None:
    found = score([*FIGURE_6, Pair("Kenya", None), Pair(None, "Kenya"), Pair(UNANSWERABLE, None)])
    assert (found.recall, found.precision, found.combined) == pytest.approx((2 / 3, 0.75, 0.5))
    assert (found.n_misaligned, found.n_gt_unanswerable, found.n_dropped) == (2, 1, 3)


def test_a_text_that_answers_nothing_scores_0() -> None:
    found = score([Pair("Kenya", UNANSWERABLE), Pair("1912", UNANSWERABLE)])
    assert (found.recall, found.precision, found.precision_all, found.combined) == (0.0, 0.0, 0.0, 0.0)
    assert found.scored


@pytest.mark.parametrize(
    ("pair", "why"),
    [(Pair(UNANSWERABLE, "Oz"), "unusable"), (Pair("Kenya", None), "unread"), (Pair(None, "Oz"), "unread")],
)
def test_where_no_question_counts_there_is_no_score_but_a_cause(pair: Pair, why: str) -> None:
    found = score([pair])
    assert not found.scored
    assert all(math.isnan(value) for value in (found.recall, found.precision, found.precision_all, found.combined))
    assert found.why == why


def test_without_questions_there_is_no_score() -> None:
    assert score([]).why == "unread"


def test_where_no_question_counts_the_published_rule_gives_0() -> None:
    assert published(["无法推断"], ["肯尼亚"]) == (0.0, 0.0)
    assert published(["肯尼亚"], ["无法推断"]) == (0.0, 0.0)


def test_the_published_rule_takes_a_full_stop_for_an_answer() -> None:
    assert published(["肯尼亚"], ["无法推断。"]).recall == 1.0


def test_the_published_rule_does_not_put_unequal_lists_together() -> None:
    with pytest.raises(ValueError, match="shorter"):
        published(["肯尼亚", "1912"], ["肯尼亚"])


@given(pairs)
def test_every_question_is_used_dropped_or_both_sides_add_up(given: list[Pair]) -> None:
    found = score(given)
    used = [pair for pair in given if pair.gold not in (None, UNANSWERABLE) and pair.given is not None]
    assert found.n_questions == found.n_dropped + len(used)
    assert found.scored == bool(used)
    assert bool(found.why) != found.scored


@given(pairs)
def test_combined_is_recall_times_precision(given: list[Pair]) -> None:
    found = score(given)
    if found.scored:
        assert found.combined == pytest.approx(found.recall * found.precision)
        assert found.precision_all <= found.precision + 1e-12


@given(pairs)
def test_the_order_of_questions_does_not_matter(given: list[Pair]) -> None:
    one: QuestScore = score(given)
    two = score(sorted(given, key=str))
    assert repr(one) == repr(two)


@given(st.lists(st.sampled_from(["Kenya", "1912", "北京大学", UNANSWERABLE]), min_size=1))
def test_the_reference_itself_scores_1(golds: list[str]) -> None:
    found = score([Pair(gold, gold) for gold in golds])
    assert not found.scored or (found.recall, found.precision, found.combined) == (1.0, 1.0, 1.0)
