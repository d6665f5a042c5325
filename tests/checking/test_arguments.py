"""Which arguments a query API is tried with."""

from __future__ import annotations

import json
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st

from r_eval.checking.arguments import Known
from r_eval.environments.schema import spec_of

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def find(
    self: Any, dish_id: str, course: Literal["starter", "dessert"] | None = None, limit: int = 3
) -> list[dict[str, Any]]:
    """Find dishes."""
    return []


SPEC = spec_of(find)


def tried(known: Known, odd: bool = False) -> list[dict[str, Any]]:
    return list(known.calls(SPEC, odd))


def test_nothing_is_tried_where_no_value_is_known() -> None:
    assert tried(Known()) == []
    assert Known().missing(SPEC) == ["dish_id"]


def test_the_id_of_a_record_is_an_argument_named_after_its_kind() -> None:
    known = Known()
    known.add([{"id": "d1"}, {"id": "d2"}], "dish")
    assert [call["dish_id"] for call in tried(known)[:2]] == ["d1", "d2"]


def test_fields_of_one_record_are_tried_together() -> None:
    known = Known()
    known.add([{"dish_id": "d1", "limit": 7}, {"dish_id": "d2", "limit": 9}], "dish")
    assert {"dish_id": "d2", "limit": 9} in tried(known)


def test_every_value_of_a_literal_and_every_default_is_tried() -> None:
    known = Known()
    known.add({"dish_id": "d1"})
    calls = tried(known)
    assert [c["course"] for c in calls if "course" in c] == ["starter", "dessert"]
    assert {"dish_id": "d1", "limit": 3} in calls


def test_the_calls_of_gold_programs_come_first() -> None:
    known = Known()
    known.add({"dish_id": "d1"})
    known.add_call("find", {"dish_id": "d9"})
    assert tried(known)[0] == {"dish_id": "d9"}


def test_values_that_nothing_has_come_where_they_are_asked_for() -> None:
    calls = tried(Known(), odd=True)
    assert {"dish_id": ""} in calls
    assert {"limit": -1} in calls


@given(DATA, DATA)
def test_any_data_can_be_learnt_from(first: Any, second: Any) -> None:
    known = Known()
    known.add(first, "dish")
    known.add(second)
    for call in tried(known, odd=True):
        assert set(call) <= {"dish_id", "course", "limit"}
        json.dumps(call)
