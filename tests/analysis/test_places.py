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
    ("U.S. forces", "us", ["U.S"]),
    ("They paid $1,234.00 for it", "1234", ["1,234.00"]),
    ("首都は東京都です", "東京", ["東京"]),
    ("'O\u2019Brien', they said", "OBrien", ["O\u2019Brien"]),
    ("a well-known town", "known town", ["known town"]),
    ("red,green,blue", "green", ["green"]),
    ("written in C++, not C.", "C", ["C"]),
    ("written in C++, not C.", "C++", ["C++"]),
    ("It is a SportsTeam of Oslo", "sports team", ["SportsTeam"]),
    ("soft\u00adhyphen", "softhyphen", ["soft\u00adhyphen"]),
    ("it fell to -5 degrees", "-5", ["-5"]),
    ("it fell to -5 degrees", "5", []),
]


@pytest.mark.parametrize(("text", "wanted", "places"), CASES)
def test_a_text_is_found_where_it_stands(text: str, wanted: str, places: list[str]) -> None:
    assert [text[start:end] for start, end in TextPlaces(text).of(wanted)] == places
    assert Observed([text]).holds(wanted) == bool(places)


def test_places_that_overlap_are_one() -> None:
    assert TextPlaces("ha ha ha").of("ha ha") == [(0, 8)]


def test_a_text_without_words_is_nowhere() -> None:
    assert TextPlaces("some words").of("") == []


WORDS = st.sampled_from(
    ["Lake", "Turkana", "the", "5", "1,234", "O'Brien", "U.S.", "x-ray", "é", "東京", "C++", "n\u0303"]
)
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", ", ", "; ", "\n", '"', " (", ") "]))).map(
    lambda parts: "".join(word + gap for word, gap in parts)
)


@given(TEXTS, st.lists(WORDS, min_size=1, max_size=2).map(" ".join))
def test_a_place_is_known_wherever_the_response_types_see_the_text(text: str, wanted: str) -> None:
    assert bool(TextPlaces(text).of(wanted)) == Observed([text]).holds(wanted)


@given(st.text(max_size=40), st.text(min_size=1, max_size=5))
def test_any_text_is_read_without_an_error_and_places_lie_in_it(text: str, wanted: str) -> None:
    assert all(0 <= start < end <= len(text) for start, end in TextPlaces(text).of(wanted))
