"""A record of PRGB's form is checked when it is read, and its placeholders are filled all at once."""

from __future__ import annotations

import pytest

from r_eval.tasks.placeholders.record import substitute
from tests.tasks.placeholders.conftest import Make


def test_a_number_stands_for_its_text(make: Make) -> None:
    record = make(placeholders=[{"X1": "Ann", "X10": 1987}], answer=[1987])
    assert (record.placeholder_item.placeholders[0]["X10"], record.placeholder_item.answer) == ("1987", ["1987"])


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("X1 met X10.", {"X1": "Ann", "X10": "Bo"}, "Ann met Bo."),
        ("Maxima saw Max.", {"Max": "Bo"}, "Maxima saw Bo."),
        ("X1_b", {"X1": "Ann"}, "X1_b"),
        ("<name> and <name>s", {"<name>": "Ann"}, "Ann and Anns"),
        ("5 of 5.5, 1,5 and 55", {"5": "6"}, "6 of 5.5, 1,5 and 55"),
        ("It has 5.", {"5": "6"}, "It has 6."),
        ("公司X1的总部", {"X1": "青禾"}, "公司青禾的总部"),
        ("青禾公司在青禾", {"青禾": "白石"}, "白石公司在白石"),
        ("青禾公司在青禾", {"青禾": "白石", "青禾公司": "长河厂"}, "长河厂在白石"),
        ("X1", {"X1": "X2", "X2": "Ann"}, "X2"),
        ("X1", {"X1": r"\1 \g<0>"}, r"\1 \g<0>"),
    ],
)
def test_a_placeholder_is_filled_where_it_stands_as_a_word(text: str, values: dict[str, str], filled: str) -> None:
    assert substitute(text, values) == filled
