"""Substring match, both ways round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import get

OURS, PUBLISHED = get("substring_match"), get("substring_match_published")


@pytest.mark.parametrize(
    ("answer", "golds", "score"),
    [
        ("It was founded in Paris, in 1912.", ["paris"], 1.0),
        ("It was founded in Paris.", ["London", "Paris"], 1.0),
        ("comparison", ["paris"], 0.0),
        ("10 dogs", ["1"], 0.0),
        ("Её построил Пётр Королев", ["петр королёв"], 1.0),
        ("он в北京大学读书", ["北京大学"], 1.0),
        ("", ["Paris"], 0.0),
        ("Paris", [""], 0.0),
        ("", [""], 1.0),
        ("Paris", [], 0.0),
    ],
)
def test_a_gold_is_looked_for_in_the_answer_in_whole_words(answer: str, golds: list[str], score: float) -> None:
    assert OURS(answer, golds) == score


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [("", "Paris", 1.0), ("Par", "Paris", 1.0), ("paris", "Paris", 0.0), ("in Paris", "Paris", 0.0)],
)
def test_as_published_the_answer_is_looked_for_in_the_gold(answer: str, gold: str, score: float) -> None:
    assert PUBLISHED(answer, [gold]) == score


@given(st.text(max_size=30), st.text(max_size=30))
def test_an_exact_match_of_words_is_a_substring_match(one: str, other: str) -> None:
    assert OURS(f"{one} {other}", [f"{one} {other}"]) == 1.0
