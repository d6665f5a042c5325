"""Metrics of short answers, a table of cases each; how they agree with people is in `labelled/test_answers.py`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import exact_match, get, token_f1
from r_eval.analysis.metrics.qa import covered_match
from r_eval.errors import UserError

SAME = [
    *[("", ""), ("[]", ""), ("a", "a"), ("The Nile.", "nile"), ("ＰＡＲＩＳ", "paris"), ("Sports Team", "SportsTeam")],
    *[("iPhone 12", "IPHONE 12"), ("McDonald", "mcdonald"), ("Ph.D", "PhD"), ("U.S.", "US"), ("10km", "10 km")],
    *[("J. K. Rowling", "J.K. Rowling"), ("O’Brien", "O'Brien"), ("Jean-Paul Sartre", "Jean Paul Sartre")],
    *[("1,234", "1234"), ("5.0", "5"), (".5", "0.5"), ("−5", "-5"), ("–5", "-5"), ("٣", "3"), ("3,5", "3.5")],
    *[("1.234.567,5", "1234567.5"), ("12\u202f500", "12500"), ("12'500", "12500"), ("12 500", "12500"), ("٣٫٥", "3.5")],
    *[('["California", "Los Angeles"]', "Los Angeles;California"), ("100,200", "200;100"), ("3,5", "3; 5")],
    *[("California, Los Angeles", "Los Angeles;California"), ('["Andr\\u00e9"]', "André")],
    *[("KDD", "{'info': {'name': 'KDD'}, 'issue': ''}"), ("June 8th, 1916", "8 June 1916"), ("5 kilometers", "5 km")],
    *[("forty-two", "42"), ("3.1416", "3.14"), ("twelve", "12"), ("九天", "9天"), ("12万", "120000")],
    *[("一百五十", "150"), ("二百零五", "205"), ("三十二", "32"), ("十五", "15")],
]


@pytest.mark.parametrize(("prediction", "gold"), SAME)
def test_the_same_answer_in_another_notation_matches(prediction: str, gold: str) -> None:
    assert (token_f1(prediction, [gold]), exact_match(prediction, [gold])) == (1.0, 1.0)


def test_the_best_gold_counts_and_each_alternative_needs_one() -> None:
    assert token_f1("UK", ["United Kingdom", "UK"]) == 1.0
    assert token_f1("NYC or New York", ["New York", "NYC"]) == 1.0
    assert token_f1("NYC or Boston", ["New York", "NYC"]) == 0.0


@pytest.mark.parametrize("metric", ["word_f1", "rouge_l"])
@pytest.mark.parametrize(
    ("one", "two"), [("3.1%", "1.3%"), ("-5", "5"), ("2023-05-06", "2023-06-05"), ("3.5万亿元", "5.3万亿元")]
)
def test_a_number_is_one_word(metric: str, one: str, two: str) -> None:
    assert get(metric)(one, [two]) < 1.0


words = st.text(st.sampled_from("abcdefgé北京かÀßЖي"), min_size=1, max_size=6)
lists = st.lists(words, min_size=1, max_size=5)


@given(lists.flatmap(lambda many: st.tuples(st.just(many), st.permutations(many))))
def test_the_order_and_notation_of_lists_cost_nothing(both: tuple[list[str], list[str]]) -> None:
    assert token_f1(repr(both[0]), [";".join(both[1])]) == 1.0


@given(lists, lists)
def test_case_costs_nothing_and_f1_of_words_is_symmetric(ours: list[str], theirs: list[str]) -> None:
    one, two = " ".join(ours), " ".join(theirs)
    assert token_f1(one.upper(), [two]) == token_f1(one.upper().casefold(), [two])
    assert token_f1(one, [two]) == token_f1(two, [one])
    assert exact_match(one, [two]) == 0.0 or token_f1(one, [two]) == 1.0


@pytest.mark.parametrize(
    "text",
    ["[" * 5000 + "]" * 5000, "[" + "-" * 3000 + "1]", "['\\d']", "[1if 2 else 3]", "{'a': " * 300, "[1,", "\ud800"],
)
def test_a_hostile_literal_is_only_text(text: str) -> None:
    assert token_f1(text, ["Paris"]) == 0.0


COVERED = [
    *[("tea", "They drink TEA.", 1), ("a & b", "b, then a", 1), ("a | b", "b", 1), ("a&(b|c)", "c and a", 1)],
    *[("北京", "它位于北京市", 1), ("5月", "在5月", 1), ("a&(b|c)", "a only", 0), ("(a|b) & c", "b only", 0)],
    *[("1", "10 dogs", 0), ("AT&T", "the cat", 0), ("cat", "concatenate", 0), ("1月", "11月", 0), ("5", "5.5", 0)],
    *[("5", "-5 degrees", 0), ("vitamin A", "vitamin and", 0), ("мир", "мировой", 0), ("42", "42 million", 0)],
    *[("１０", "10", 1), ("10", "１０只", 1), ("Straße", "STRASSE", 1), ("new  york", "New\nYork", 1)],
    *[("1,234", "1234 people", 1), ("1234", "1,234 people", 1), ("AT&T", "AT & T", 1), ('"AT&T"', "It was AT&T.", 1)],
    *[('"Paris (France)"', "Paris, France", 1), ("C++", "in C++.", 1), ("€", "5 €", 1), ("서울", "서울은", 1)],
    *[("กรุงเทพ", "อยู่ที่กรุงเทพมหานคร", 1), ("café", "cafe\u0301", 1), ("a||b", "a b", 1), ("Paris", "not Paris", 0)],
]


@pytest.mark.parametrize(("gold", "answer", "score"), COVERED)
def test_covered_match(gold: str, answer: str, score: float) -> None:
    assert covered_match(answer, [gold]) == score


@pytest.mark.parametrize("gold", ["a|", "|a", "a&", "(a", "a)", "", "Paris (France)"])
def test_a_gold_that_is_no_expression_is_an_error(gold: str) -> None:
    with pytest.raises(UserError, match=r"covered_match cannot read the gold .*: column \d+: "):
        covered_match("a", [gold])
