"""A JSON document read value by value says the same as one read whole."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.tasks.loaders import streaming
from r_eval.tasks.loaders.streaming import JsonStream, NotJson

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of a few characters, so that every value crosses its end."""
    monkeypatch.setattr(streaming, "WINDOW", 7)


def items(text: str) -> list[Any]:
    stream = JsonStream(io.StringIO(text))
    found = [item for _, item in stream.items()]
    stream.finish()
    return found


def members(text: str) -> list[tuple[str, Any]]:
    stream = JsonStream(io.StringIO(text))
    found = [(key, value) for _, key, value in stream.members()]
    stream.finish()
    return found


@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 0, 3]), st.booleans())
def test_the_items_of_a_list_are_those_that_json_reads(values: list[Any], indent: int | None, ascii: bool) -> None:
    assert items(json.dumps(values, indent=indent, ensure_ascii=ascii)) == values


@given(st.dictionaries(st.text(max_size=9), VALUES, max_size=5), st.sampled_from([None, 2]))
def test_the_members_of_an_object_are_those_that_json_reads(values: dict[str, Any], indent: int | None) -> None:
    assert dict(members(json.dumps(values, indent=indent))) == values


@given(st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_a_list_that_is_cut_off_is_refused(values: list[Any], data: st.DataObject) -> None:
    text = json.dumps(values)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(NotJson):
        items(text[:cut])


@given(st.text(max_size=60) | st.text('[]{},:"\\0123456789.eE+-tfn \n', max_size=60))
def test_whatever_is_accepted_json_accepts_too(text: str) -> None:
    try:
        found = items(text)
    except NotJson:
        return
    assert repr(found) == repr(json.loads(text))


def test_every_item_is_known_with_its_line() -> None:
    stream = JsonStream(io.StringIO('[\n 1,\n {"a":\n  2},\n\n 3]'))
    assert list(stream.items()) == [(2, 1), (3, {"a": 2}), (6, 3)]


def test_an_error_is_known_with_its_line() -> None:
    with pytest.raises(NotJson) as raised:
        items('[\n 1,\n {"a":\n  two}' + " " * 100 + "]")
    assert raised.value.line == 4


def test_a_nesting_that_is_too_deep_is_refused() -> None:
    with pytest.raises(NotJson, match="nested too deeply"):
        items("[" * 200_000)


def test_text_behind_the_end_is_refused() -> None:
    with pytest.raises(NotJson, match="behind the end"):
        items("[1] [2]")


def test_a_value_longer_than_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "LONGEST", 100)
    with pytest.raises(NotJson, match="more than 100 characters"):
        items('["' + "x" * 1000 + '"]')


def test_reading_stops_in_front_of_a_key_that_is_asked_for() -> None:
    stream = JsonStream(io.StringIO('{"a": {"b": []}, "b": [1, 2], "c": 3}'))
    assert [key for _, key, _ in stream.members(stop="b")] == ["a"]
    assert [item for _, item in stream.items()] == [1, 2]
