"""What the repaired token F1 and exact match decide."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import exact_match, token_f1

words = st.text(st.sampled_from("abcdefgé北京かÀßЖي"), min_size=1, max_size=6)
texts = st.one_of(
    st.lists(words, min_size=1, max_size=6).map(" ".join),
    st.text(max_size=20),
    st.sampled_from(["", "yes", "no", "true", "C++", "1.5", "-5", "the", "['a', 'b']", '{"k": 1}', "A;B", "3,000"]),
)
open_texts = st.lists(words, min_size=1, max_size=6).map(" ".join)
stops = st.sampled_from([".", "。", "।", "!", "؟", "…", " .", "。。"])


@given(texts)
def test_a_text_matches_itself(text: str) -> None:
    assert (token_f1(text, [text]), exact_match(text, [text])) == (1.0, 1.0)


@given(texts, texts)
def test_f1_is_symmetric(one: str, two: str) -> None:
    assert token_f1(one, [two]) == token_f1(two, [one])


@given(
    texts,
    st.lists(texts, min_size=1, max_size=4).flatmap(lambda golds: st.tuples(st.just(golds), st.permutations(golds))),
)
def test_the_order_of_golds_does_not_matter(prediction: str, golds: tuple[list[str], list[str]]) -> None:
    assert token_f1(prediction, golds[0]) == token_f1(prediction, golds[1])


@given(open_texts, open_texts, stops)
def test_a_trailing_stop_of_any_script_costs_nothing(prediction: str, gold: str, stop: str) -> None:
    assert token_f1(prediction + stop, [gold]) == token_f1(prediction, [gold])


@given(open_texts, open_texts)
def test_case_costs_nothing(prediction: str, gold: str) -> None:
    assert token_f1(prediction.upper(), [gold]) == token_f1(prediction.upper().casefold(), [gold])


@given(st.lists(words, min_size=1, max_size=5).flatmap(lambda many: st.tuples(st.just(many), st.permutations(many))))
def test_the_order_of_list_values_does_not_matter(lists: tuple[list[str], list[str]]) -> None:
    assert token_f1(repr(lists[0]), [";".join(lists[1])]) == 1.0


@given(texts, st.lists(texts, min_size=1, max_size=3), texts)
def test_another_gold_never_lowers_the_score(prediction: str, golds: list[str], more: str) -> None:
    assert token_f1(prediction, [*golds, more]) >= token_f1(prediction, golds)


@given(texts, texts)
def test_an_exact_match_has_f1_1(prediction: str, gold: str) -> None:
    assert exact_match(prediction, [gold]) == 0.0 or token_f1(prediction, [gold]) == 1.0


EQUAL = [
    ("", ""),
    ("[]", ""),
    ("a", "a"),
    ("The Nile.", "nile"),
    ("ＰＡＲＩＳ", "paris"),
    ("Sports Team", "SportsTeam"),
    ("iPhone 12", "IPHONE 12"),
    ("McDonald", "mcdonald"),
    ("Ph.D", "PhD"),
    ("U.S.", "US"),
    ("J. K. Rowling", "J.K. Rowling"),
    ("O’Brien", "O'Brien"),
    ("Jean-Paul Sartre", "Jean Paul Sartre"),
    ("1,234", "1234"),
    ("5.0", "5"),
    (".5", "0.5"),
    ("−5", "-5"),
    ("٣", "3"),
    ("10km", "10 km"),
    ('["California", "Los Angeles"]', "Los Angeles;California"),
    ("['California', 'Los Angeles']", "Los Angeles;California"),
    ("California, Los Angeles", "Los Angeles;California"),
    ("100,200", "200;100"),
    ("KDD", "{'info': {'name': 'KDD'}, 'issue': ''}"),
    ('["Andr\\u00e9"]', "André"),
]


@pytest.mark.parametrize(("prediction", "gold"), EQUAL)
def test_f1_is_1_for_the_same_answer_written_otherwise(prediction: str, gold: str) -> None:
    assert token_f1(prediction, [gold]) == 1.0


@pytest.mark.parametrize(("prediction", "gold"), EQUAL)
def test_exact_match_accepts_the_same_answer_written_otherwise(prediction: str, gold: str) -> None:
    assert exact_match(prediction, [gold]) == 1.0


@pytest.mark.parametrize(
    ("prediction", "gold"),
    [
        ("", "x"),
        ("x", ""),
        ("1.5", "15"),
        ("v1.5", "v15"),
        ("-5", "5"),
        ("C++", "C"),
        ("1 5", "15"),
        ("+", "-"),
        ("the", "a"),
    ],
)
def test_f1_is_0_for_another_answer(prediction: str, gold: str) -> None:
    assert token_f1(prediction, [gold]) == 0.0


@pytest.mark.parametrize(
    ("prediction", "gold"),
    [
        ("yes, they were", "yes"),
        ("Yes.", "yes"),
        ('["yes"]', "yes"),
        ("No, there is no reason to say so", "no"),
        ("The answer is no.", "no"),
        ("The statement is false", "false"),
        ("It is not true", "false"),
        ("True: both are rivers.", "true"),
    ],
)
def test_a_closed_question_is_answered_by_a_sentence(prediction: str, gold: str) -> None:
    assert token_f1(prediction, [gold]) == 1.0


@pytest.mark.parametrize(
    ("prediction", "gold"),
    [
        ("no", "yes"),
        ("true or false", "false"),
        ("yes or no", "no"),
        ("No information was found", "no"),
        ("I know nothing", "no"),
        ("yes", "true"),
        ("they were", "yes"),
        ("It is not true", "true"),
        ("Yes, although in truth no", "yes"),
    ],
)
def test_a_closed_question_is_not_answered_by_chance(prediction: str, gold: str) -> None:
    assert token_f1(prediction, [gold]) == 0.0


def test_a_semicolon_no_longer_fuses_values() -> None:
    assert token_f1("Los Angeles", ["Los Angeles;California"]) == pytest.approx(0.8)


def test_the_best_gold_counts() -> None:
    assert token_f1("UK", ["United Kingdom", "UK"]) == 1.0


def test_chinese_is_compared_by_character() -> None:
    assert token_f1("北京市", ["北京"]) == pytest.approx(0.8)


def test_exact_match_wants_every_value() -> None:
    assert exact_match("California", ["Los Angeles;California"]) == 0.0


def test_exact_match_allows_no_explanation() -> None:
    assert exact_match("yes, they were", ["yes"]) == 0.0


@pytest.mark.parametrize(
    "text",
    ["[" * 5000 + "]" * 5000, "[" + "-" * 3000 + "1]", "['\\d']", "[1if 2 else 3]", "{'a': " * 300, "[1,", "\ud800"],
)
def test_a_hostile_literal_is_only_text(text: str) -> None:
    assert token_f1(text, ["Paris"]) == 0.0


def test_short_pairs_are_scored_at_a_useful_speed() -> None:
    pairs = [(f"answer {number % 977}, perhaps", [f"answer {number % 31}"]) for number in range(50_000)]
    begun = time.process_time()
    for prediction, golds in pairs:
        token_f1(prediction, golds)
    assert time.process_time() - begun < 2.0
