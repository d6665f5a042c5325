"""Names as a reference list writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.errors import UserError
from r_eval.tasks.graphs.names import Names, read_names

LISTED = Names([("Roman Miroshnichenko", "R. Miroshnichenko"), ("Ryan Otter",), ("Oslo",), ("Marie Curie",)])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("oslo", "Oslo"),
        ("  OSLO ", "Oslo"),
        ("R. Miroshnichenko", "Roman Miroshnichenko"),
        ("Roman Miroshnishenko", "Roman Miroshnichenko"),
        ("Ryan", "Ryan"),
        ("Marie Curie University", "Marie Curie University"),
        ("1867", "1867"),
        ("", ""),
    ],
)
def test_a_name_becomes_the_listed_one_where_it_is_close(raw: str, expected: str) -> None:
    assert LISTED.normalised(raw) == expected


def test_a_name_that_is_equally_like_two_stays_as_it_is() -> None:
    assert Names([("Johann Strauss 1",), ("Johann Strauss 2",)]).normalised("Johann Strauss") == "Johann Strauss"


def test_a_spelling_of_two_names_stands_for_neither() -> None:
    assert Names([("Paris, France", "Paris"), ("Paris, Texas", "Paris")]).normalised("Paris") == "Paris"


def test_numbers_are_never_close() -> None:
    assert Names([("12345",)]).normalised("12346") == "12346"


@given(st.lists(st.text(alphabet="abcdeé ", min_size=1, max_size=12), min_size=1, max_size=8))
def test_neither_the_lists_order_nor_that_of_the_names_matters(texts: list[str]) -> None:
    listed, asked = texts[::2], texts[1::2]
    forward, backward = Names((t,) for t in listed), Names((t,) for t in reversed(listed))
    assert [forward.normalised(t) for t in asked] == [backward.normalised(t) for t in reversed(asked)][::-1]


def test_a_list_is_read_with_other_spellings_after_tabs(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Oslo\tChristiania\n\nBergen\n", encoding="utf-8")
    assert read_names(tmp_path / "names.txt").normalised("christiania") == "Oslo"


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(UserError, match="holds no name"):
        read_names(tmp_path / "names.txt")
