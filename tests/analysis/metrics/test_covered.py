"""Covered match: answers that hold what an expression asks for, and the published code's verdicts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.covered import covered_match, covered_match_published, uncovered
from r_eval.errors import UserError

CHARS = st.one_of(st.sampled_from("&|() ab北1"), st.characters())


def verdicts(gold: str, answer: str) -> tuple[float, float]:
    """Ours and the published one."""
    return covered_match(answer, [gold]), covered_match_published(answer, [gold])


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("tea", "They drink TEA."),
        ("a & b", "b, then a"),
        ("a | b", "b"),
        ("a&(b|c)", "c and a"),
        ("北京", "它位于北京市"),
        ("5月", "在5月"),
    ],
)
def test_an_answer_that_holds_all_is_right_by_both(gold: str, answer: str) -> None:
    assert verdicts(gold, answer) == (1, 1)


@pytest.mark.parametrize(("gold", "answer"), [("a&(b|c)", "a only"), ("(a|b)&c", "b only"), ("tea", "coffee")])
def test_an_answer_that_lacks_a_part_is_wrong_by_both(gold: str, answer: str) -> None:
    assert verdicts(gold, answer) == (0, 0)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("a & (b|c)", "a only"), ("(a|b) & c", "b only"), ("(a | b) & (c | d)", "b only")],
)
def test_a_space_outside_a_parenthesis_changes_nothing(gold: str, answer: str) -> None:
    assert verdicts(gold, answer) == (0, 1)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("1", "10 dogs"),
        ("AT&T", "the cat"),
        ("cat", "concatenate"),
        ("1月", "11月"),
        ("5", "5.5"),
        ("5", "-5 degrees"),
        ("vitamin A", "vitamin and"),
        ("мир", "мировой"),
    ],
)
def test_words_and_numbers_are_whole(gold: str, answer: str) -> None:
    assert covered_match(answer, [gold]) == 0


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("１０", "10"),
        ("10", "１０只"),
        ("Straße", "STRASSE"),
        ("new  york", "New\nYork"),
        ("1,234", "1234 people"),
        ("1234", "1,234 people"),
        ("200", "100,200 or 300"),
        ("AT&T", "AT & T"),
        ('"AT&T"', "It was AT&T."),
        ('"Paris (France)"', "Paris, France"),
        ("C++", "in C++."),
        ("€", "5 €"),
        ("서울", "서울은"),
        ("กรุงเทพ", "อยู่ที่กรุงเทพมหานคร"),
        ("café", "cafe\u0301"),
    ],
)
def test_one_text_may_be_written_in_several_ways(gold: str, answer: str) -> None:
    assert covered_match(answer, [gold]) == 1


@pytest.mark.parametrize("gold", ["a||b", "a&&b"])
def test_a_doubled_sign_is_read_as_one_where_the_published_code_stops(gold: str) -> None:
    assert verdicts(gold, "a b") == (1, 0)


@pytest.mark.parametrize("gold", ["a|", "|a", "a&", "(a", "a)", "", "Paris (France)"])
def test_a_gold_that_is_no_expression_is_an_error(gold: str) -> None:
    with pytest.raises(UserError, match=r"covered_match cannot read the gold .*: column \d+: "):
        covered_match("a", [gold])


@pytest.mark.parametrize(
    ("gold", "answer", "verdict"),
    [
        ("", "anything", 1),
        ("1", "10 dogs", 1),
        ("AT&T", "the cat", 1),
        ("Paris (France)", "france", 0),
        ("Paris (France)", "paris", 1),
        ("a|", "a", 0),
        ("|a", "a", 0),
        ("a&", "a", 0),
        ("(a", "a", 1),
        ("a)", "a", 1),
        ("()", "a", 0),
        ("１", "1", 0),
        ("a|b&c", "a", 1),
        ("a&b|c", "c", 1),
        ("a & b", "A and B", 1),
    ],
)
def test_the_published_verdict_keeps_its_oddities(gold: str, answer: str, verdict: int) -> None:
    assert covered_match_published(answer, [gold]) == verdict


def test_the_best_gold_counts_and_of_the_published_form_the_first() -> None:
    assert covered_match("b", ["a", "b"]) == 1
    assert covered_match_published("b", ["a", "b"]) == 0


def test_without_a_gold_nothing_is_right() -> None:
    assert (covered_match("a", []), covered_match_published("a", [])) == (0, 0)


def test_what_is_missing_can_be_told() -> None:
    assert uncovered("Tea, I think.", "tea & (1987 | 1988)") == ["1987", "1988"]


def test_the_metrics_are_found_by_name() -> None:
    assert get("covered_match") is covered_match
    assert get("covered_match_published") is covered_match_published


@given(st.text(CHARS, max_size=20), st.text(CHARS, max_size=20))
def test_no_answer_raises_and_no_gold_but_one_that_is_no_expression(answer: str, gold: str) -> None:
    assert covered_match_published(answer, [gold]) in (0, 1)
    try:
        score = covered_match(answer, [gold])
    except UserError:
        return
    assert score in (0, 1)
    assert (score == 1) == (not uncovered(answer, gold))


@given(st.text(st.sampled_from("ab1北ñ .,"), min_size=1, max_size=12).filter(lambda text: any(map(str.isalnum, text))))
def test_any_text_holds_itself(text: str) -> None:
    assert covered_match(f"It is: {text} .", [text]) == 1


@pytest.mark.parametrize("hostile", ["a" * 100_000, "a " * 50_000, "(" * 100_000, "中" * 33_000, "1," * 50_000])
def test_a_hostile_answer_of_100_kb_ends_fast(hostile: str) -> None:
    started = time.process_time()
    covered_match(hostile, ["a b & (中文 | 1)"])
    covered_match_published(hostile, ["a b & (中文 | 1)"])
    assert time.process_time() - started < 5
