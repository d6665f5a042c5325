"""JSON and arguments as models write them are read; what is no data never is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.llms.lenient import DEEPEST, Unreadable, arguments, lenient_json, value_at, values
from tests.timing import quickest


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("before {'a': 1} after", {"a": 1}),
        ('[1, 2,] {"a": 1}', [1, 2]),
        ("{not json} {'a': 1}", {"a": 1}),
        ("{'a': True, 'b': None, 'c': (1, 2)}", {"a": True, "b": None, "c": [1, 2]}),
        ("[('a'), ('a',), ()]", ["a", ["a"], []]),
        ("[-1, +2, 1_000, .5, 1., 2e3, 0]", [-1, 2, 1000, 0.5, 1.0, 2000.0, 0]),
        ('{name: "x", $id: 1, a-b: 2, 3: 4}', {"name": "x", "$id": 1, "a-b": 2, "3": 4}),
        ('{"a": 1, // one\n "b": 2, # two\n /* three */ "c": 3}', {"a": 1, "b": 2, "c": 3}),
        ('{"a": "x" // no comma before the comment\n}', {"a": "x"}),
        ("{“a”: “x”, ‘b’: ‘it’s’}", {"a": "x", "b": "it’s"}),
        ('{"a": “x"}', {"a": "x"}),
        ('{"a": "“x”, y"}', {"a": "“x”, y"}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ("{'a': '''x\n'y' \"z\"'''}", {"a": "x\n'y' \"z\""}),
        ('{"a": "the film "Up" of 2009"}', {"a": 'the film "Up" of 2009'}),
        ("{'a': 'it's there'}", {"a": "it's there"}),
        ('{"a": "x"\n "b": 1 "c": 2}', {"a": "x", "b": 1, "c": 2}),
        ('["a"\n"b" {"c": 1} [2]]', ["a", "b", {"c": 1}, [2]]),
        ('{"a": 1,, "b": 2,}', {"a": 1, "b": 2}),
        (r'{"a": "C:\docs \"x\" \u00e9 \ud83d\ude00 \x41 \q"}', {"a": 'C:\\docs "x" é 😀 A \\q'}),
        ("{}}", {}),
        ('{"a": [1]\n\nThat is all.', {"a": [1]}),
        ('[{"a": 1}\nThat is all.', [{"a": 1}]),
    ],
)
def test_the_first_value_is_read(text: str, value: Any) -> None:
    assert lenient_json(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{", {}),
        ('{"a": "x', {"a": "x"}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x",', {"a": "x"}),
        ('{"a": [1, {"b": 2', {"a": [1, {"b": 2}]}),
        ("{'a': '''x", {"a": "x"}),
    ],
)
def test_a_cut_end_is_closed(text: str, value: Any) -> None:
    assert lenient_json(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "no value",
        "",
        "{a",
        '{"a"',
        '{"a":',
        '{"a": "x", "b',
        '{"a": tru',
        '{"a": }',
        '{"a": 1 2}',
        '{"a" 1}',
        "{1, 2}",
        '{"a": the "b" of',
        '{"a": "x" y',
        '{"a": 1\nb: 2}',
    ],
)
def test_what_is_no_value_is_none(text: str) -> None:
    assert lenient_json(text) is None


@pytest.mark.parametrize(
    "value",
    [
        "{1, 2}", "b'x'", "f'{x}'", "...", "1j", "0x10", "007", "1.2.3", "x", "NaN", "Infinity", "-inf", "1e999",
        "9" * 5000, "__import__('os').getcwd()", "lambda: 1", "[].append", "1 + 1", "True or x", "*x",
    ],
)  # fmt: skip
def test_what_is_no_data_is_never_read(value: str) -> None:
    assert lenient_json(f"{{'a': {value}}}") in (None, [])
    with pytest.raises(Unreadable):
        arguments(f"a={value})", 0)


def test_values_come_one_after_another_with_their_places() -> None:
    text = "See [1]: {'a': [2]} and {x} {'b': 3"
    found = list(values(text))
    assert [value for _, _, value in found] == [[1], {"a": [2]}, {"b": 3}]
    assert [text[start:end] for start, end, _ in found] == ["[1]", "{'a': [2]}", "{'b': 3"]


def test_a_value_after_many_that_are_none_is_still_found() -> None:
    text = "".join(f"As [{i}] says of {{it}}, f(x) = {{x | x > {i}}}. " for i in range(50))
    assert list(values(text + '{"a": 1}'))[-1][2] == {"a": 1}


def test_a_value_of_any_kind_is_read_at_a_place() -> None:
    assert value_at("x = 'a', b", 4) == ("a", 7)
    with pytest.raises(Unreadable):
        value_at("x = y", 4)


@pytest.mark.parametrize(
    ("text", "positional", "named", "rest"),
    [
        (") x", [], {}, " x"),
        ("'a', 2).b", ["a", 2], {}, ".b"),
        ("a='x', b=[1, 2],)", [], {"a": "x", "b": [1, 2]}, ""),
        ("1, a = 'it\\'s')", [1], {"a": "it's"}, ""),
        ('a: "x")', [], {"a": "x"}, ""),
        ("{'a': 1})", [{"a": 1}], {}, ""),
        ("\n  # first\n  a=1,\n)", [], {"a": 1}, ""),
    ],
)
def test_arguments_are_read(text: str, positional: list[Any], named: dict[str, Any], rest: str) -> None:
    given = arguments(text, 0)
    assert (given.positional, given.named, text[given.end :], given.cut) == (positional, named, rest, False)


def test_arguments_without_their_end_are_marked_as_cut() -> None:
    given = arguments("a='x", 0)
    assert (given.named, given.cut) == ({"a": "x"}, True)


@pytest.mark.parametrize("text", ["x)", "a=b)", "f(1))", "a b)", "a=1 b=2)", "**x)", "a==1)"])
def test_arguments_that_are_no_data_are_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        arguments(text, 0)


def test_nesting_deeper_than_any_call_is_not_read() -> None:
    assert lenient_json("[" * DEEPEST + "]" * DEEPEST) is not None
    with pytest.raises(Unreadable):
        value_at("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), 0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)


@settings(max_examples=150)
@given(objects, st.sampled_from([repr, json.dumps, lambda v: json.dumps(v, ensure_ascii=False, indent=1)]))
def test_right_json_and_python_are_read_as_they_are(value: dict[str, Any], write: Any) -> None:
    assert lenient_json(write(value)) == value


@settings(max_examples=150)
@given(objects, st.data())
def test_a_cut_value_is_none_or_an_object(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    read = lenient_json(text[: data.draw(st.integers(1, len(text)))])
    assert read is None or isinstance(read, dict | list)


PIECES = [
    *"{}[]()<>\"'“”‘’\\,:=-#/*` \n\t\0",
    "'''",
    "null",
    "True",
    "1e999",
    "\ud800",
    "\\ud800",
    "\\U99999999",
    "a",
    "1",
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=60).map("".join))
def test_no_text_raises_and_every_value_is_data(text: str) -> None:
    for start, end, value in values(text):
        assert start < end <= len(text)
        assert json.loads(json.dumps(value, allow_nan=False)) == value


@pytest.mark.parametrize(
    "piece",
    [
        "[", "{", "{[", "[]", "{} ", '{"', "{'", "[1,", "[1 ", "['a',", '{"a":', "{'a':", "{a:", '{"a":"x",', "{a:1 ",
        "[[1],", "“a", "/*", "{/*", "{//", "# ", '"""', "{'''", ",", " ", "{ ", "\\", '{"\\', "-", "9", "[9", "[1e",
        "{a",
    ],
)  # fmt: skip
@pytest.mark.parametrize("head", ["", "[", "{'a': '"])
def test_twenty_thousand_characters_are_read_in_a_fifth_of_a_second(head: str, piece: str) -> None:
    text = head + piece * (20_000 // len(piece))
    assert quickest(lambda: lenient_json(text), enough=0.2) < 0.2
