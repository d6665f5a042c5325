"""A record of PRGB's form is checked when it is read."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.tasks.placeholders.conftest import Make


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
