"""A record of PRGB's form is checked when it is read, and its placeholders are filled all at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from r_eval.tasks.placeholders.record import held, substituted
from tests.tasks.placeholders.conftest import Make

TEXTS = st.text(st.sampled_from("X10 _.北a"), max_size=20)


@pytest.mark.parametrize(
    ("id", "subtask", "kind"),
    [
        ("filter-1", "filter", "filtering"),
        ("combination_v3-12", "combination_v3", "combination"),
        ("compare_ad-2", "compare_ad", "reasoning"),
        ("combination_v9-2", "combination_v9", "reasoning"),
        (17, "17", "reasoning"),
    ],
)
def test_the_id_tells_the_task(make: Make, id: Any, subtask: str, kind: str) -> None:
    record = make(id=id)
    assert (record.subtask, record.kind) == (subtask, kind)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": " "}, "is empty"),
        ({"query": ""}, "is empty"),
        ({"golden_doc": []}, "golden_doc: holds no document"),
        ({"golden_doc": ["  "]}, "is empty"),
        ({"noise_doc_level1": [""]}, "is empty"),
        ({"noise_doc_level2": "text"}, "valid list"),
        ({"placeholders": [{"X1": "Ann"}]}, "1 variants of the placeholders, but 6 answers"),
        ({"placeholders": [], "answer": []}, "holds no variant"),
        ({"placeholders": [{"X1": ""}], "answer": ["a"]}, "is empty"),
        ({"placeholders": [{"": "Ann"}], "answer": ["a"]}, "is empty"),
        ({"placeholders": [{"X1": True}], "answer": ["a"]}, "valid string"),
        ({"placeholders": [{"X1": "Ann"}], "answer": ["a|"]}, r"answer 1 \('a\|'\), column 3: a text is missing"),
        ({"query": "\ud800"}, "half of a surrogate pair"),
    ],
)
def test_a_broken_record_is_refused(make: Make, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        make(**changes)


@pytest.mark.parametrize("part", ["id", "query", "golden_doc", "noise_doc_level3", "placeholder_item"])
def test_no_part_may_be_missing(make: Make, part: str) -> None:
    data = make().model_dump()
    del data[part]
    with pytest.raises(ValidationError, match=f"{part}\n"):
        type(make()).model_validate(data)


def test_a_number_stands_for_its_text(make: Make) -> None:
    record = make(placeholders=[{"X1": "Ann", "X10": 1987}], answer=[1987])
    assert (record.placeholder_item.placeholders[0]["X10"], record.placeholder_item.answer) == ("1987", ["1987"])


def test_a_sound_record_has_no_oddity(make: Make) -> None:
    assert make().oddities() == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"placeholders": [{"X1": "Ann", "X10": "1"}, {"X1": "Bo"}], "answer": ["a", "b"]}, "lacks a placeholder"),
        ({"golden_doc": ["X1 built it."]}, "in none of the right documents"),
        ({"query": "When did X1 build it?"}, "in the question"),
    ],
)
def test_what_is_odd_is_told(make: Make, changes: dict[str, Any], what: str) -> None:
    (found,) = make(**changes).oddities()
    assert what in found


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("X1 met X10.", {"X1": "Ann", "X10": "Bo"}, "Ann met Bo."),
        ("X10 met X1.", {"X1": "Ann"}, "X10 met Ann."),
        ("Maxima saw Max.", {"Max": "Bo"}, "Maxima saw Bo."),
        ("Max's hat, (Max)", {"Max": "Bo"}, "Bo's hat, (Bo)"),
        ("X1_b", {"X1": "Ann"}, "X1_b"),
        ("<name> and <name>s", {"<name>": "Ann"}, "Ann and Anns"),
        ("5 of 5.5, 1,5 and 55", {"5": "6"}, "6 of 5.5, 1,5 and 55"),
        ("It has 5.", {"5": "6"}, "It has 6."),
        ("Amélie, Am", {"Am": "Bo"}, "Amélie, Bo"),
        ("公司X1的总部", {"X1": "青禾"}, "公司青禾的总部"),
        ("青禾公司在青禾", {"青禾": "白石"}, "白石公司在白石"),
        ("青禾公司在青禾", {"青禾": "白石", "青禾公司": "长河厂"}, "长河厂在白石"),
        ("X1", {"X1": "X2", "X2": "Ann"}, "X2"),
        ("X1", {"X1": r"\1 \g<0>"}, r"\1 \g<0>"),
        ("a.c abc", {"a.c": "Ann"}, "Ann abc"),
        ("x1", {"X1": "Ann"}, "x1"),
        ("nothing", {}, "nothing"),
    ],
)
def test_a_placeholder_is_filled_where_it_stands_as_a_word(text: str, values: dict[str, str], filled: str) -> None:
    assert substituted(text, values) == filled


def test_the_placeholders_of_a_text_are_known() -> None:
    assert held("X1 met X10.", frozenset({"X1", "X2", "X10"})) == {"X1", "X10"}
    assert held("X1", frozenset()) == set()


@given(
    TEXTS,
    st.dictionaries(st.text(st.sampled_from("X10_北.("), min_size=1, max_size=4), st.text(max_size=4), max_size=4),
)
def test_a_text_changes_where_it_holds_a_placeholder_and_not_else(text: str, values: dict[str, str]) -> None:
    marked = {token: f"<{value}>" for token, value in values.items()}
    assert (substituted(text, marked) == text) == (not held(text, frozenset(values)))
    assert substituted(text, {token: token for token in values}) == text
