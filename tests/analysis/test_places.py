"""Where an observation holds a text: the same answer as the response types give, and the right place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.places import TextPlaces
from r_eval.analysis.response_types import Observed

CASES = [
    ("It was written by Salman Rushdie in 1981.", "salman rushdie", ["Salman Rushdie"]),
    ('{"name":"Salman Rushdie","year":1981}', "Salman Rushdie", ["Salman Rushdie"]),
    ("In 1987 there were 7 of them; 7!", "7", ["7", "7"]),
    ("He does not know.", "no", []),
    ("The Lord of the Rings", "Lord of Rings", ["Lord of the Rings"]),
    ("首都は東京都です", "東京", ["東京"]),
    ("red,green,blue", "green", ["green"]),
    ("written in C++, not C.", "C", ["C"]),
    ("written in C++, not C.", "C++", ["C++"]),
]


@pytest.mark.parametrize(("text", "wanted", "places"), CASES)
def test_a_text_is_found_where_it_stands(text: str, wanted: str, places: list[str]) -> None:
    assert [text[start:end] for start, end in TextPlaces(text).of(wanted)] == places
    assert Observed([text]).holds(wanted) == bool(places)


def test_places_do_not_overlap() -> None:
    assert TextPlaces("ha ha ha").of("ha ha") == [(0, 5)]


def test_a_text_without_words_is_nowhere() -> None:
    assert TextPlaces("some words").of("") == []


@given(st.text(max_size=40), st.text(min_size=1, max_size=5))
def test_any_text_is_read_without_an_error_and_places_lie_in_it(text: str, wanted: str) -> None:
    assert all(0 <= start < end <= len(text) for start, end in TextPlaces(text).of(wanted))
