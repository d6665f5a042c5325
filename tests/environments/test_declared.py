"""Query APIs declared by a JSON schema say the same, in the same words, as those read from a Python function."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.schema import BadArguments, shapes
from r_eval.environments.tools.declared import DeclaredSpec, coerced, declare
from tests.timing import quickest

SCHEMA = {
    "type": "object",
    "properties": {
        "page-size": {"type": "integer", "minimum": 1, "default": 10},
        "from": {"type": "string", "title": "From", "description": "Where it\nbegins."},
        "filter": {"$ref": "#/$defs/Filter"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "lang": {"enum": ["en", "de"]},
        "exact": {"type": ["boolean", "null"]},
        "score": {"type": "number"},
        "key": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["from"],
    "$defs": {
        "Filter": {
            "type": "object",
            "properties": {"year": {"type": "integer"}, "also": {"$ref": "#/$defs/Filter"}},
            "required": ["year"],
        }
    },
}


FIND = declare("find-pages", "", SCHEMA)


@pytest.fixture(scope="module")
def find() -> DeclaredSpec:
    text = "Find pages.\n\nThe best first.\n\nArgs:\n    lang: The language."
    return declare("find-pages", text, SCHEMA, {"type": "object", "title": "Page", "properties": {"id": {}}})


def complaint(spec: DeclaredSpec, **arguments: Any) -> str:
    with pytest.raises(BadArguments) as caught:
        spec.check(arguments)
    return str(caught.value)


# What is shown


def test_names_are_made_such_as_python_has_and_the_required_come_first(find: DeclaredSpec) -> None:
    names = [p.name for p in find.parameters]
    assert (find.name, names) == (
        "find_pages",
        ["from_", "page_size", "filter", "tags", "lang", "exact", "score", "key"],
    )


def test_a_docstring_as_description_is_read_as_one(find: DeclaredSpec) -> None:
    assert (find.summary, find.details) == ("Find pages.", "The best first.")
    assert [p.description for p in find.parameters if p.description] == ["Where it begins.", "The language."]


def test_the_stub_is_python(find: DeclaredSpec) -> None:
    stub = find.stub()
    compile(stub, "stub", "exec")
    assert stub.startswith(
        "def find_pages(from_: str, page_size: int = 10, filter: Filter | None = None, "
        "tags: list[str] | None = None, lang: Literal['en', 'de'] | None = None, exact: bool | None = None, "
        "score: float | None = None, key: int | None = None) -> Page:"
    )
    assert shapes([find]) == '# Filter is a dict: {"year": int, "also"?: Any}\n# Page is a dict: {"id"?: Any}'


def test_a_description_cannot_end_the_stubs_docstring() -> None:
    stub = declare("a", 'Say """ or \\N or "', {}).stub()
    compile(stub, "stub", "exec")


def test_the_action_marks_what_may_be_left_out(find: DeclaredSpec) -> None:
    assert find.action() == "find_pages(from_, page_size?, filter?, tags?, lang?, exact?, score?, key?): Find pages."


def test_the_json_schema_has_the_same_names_and_no_references(find: DeclaredSpec) -> None:
    schema = find.json_schema()
    assert schema["required"] == ["from_"]
    assert schema["properties"]["from_"] == {"type": "string", "description": "Where it begins."}
    assert schema["properties"]["filter"]["properties"]["also"] == {}
    assert "$" not in str(schema)


# Arguments


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ({"page_size": "3"}, {"page-size": 3}),
        ({"page_size": 3.0}, {"page-size": 3}),
        ({"page-size": 3}, {"page-size": 3}),
        ({"from": "b"}, {"from": "b"}),
        ({"from_": 7}, {"from": "7"}),
        ({"from_": 7.5}, {"from": "7.5"}),
        ({"page_size": None}, {}),
        ({"exact": None}, {"exact": None}),
        ({"exact": "yes"}, {"exact": True}),
        ({"score": "0.5"}, {"score": 0.5}),
        ({"score": 1}, {"score": 1}),
        ({"key": "4"}, {"key": 4}),
        ({"key": None}, {"key": None}),
        ({"tags": ["a", 1]}, {"tags": ["a", "1"]}),
        ({"tags": '["a"]'}, {"tags": ["a"]}),
        ({"filter": {"year": "1999"}}, {"filter": {"year": 1999}}),
        ({"filter": '{"year": 1999}'}, {"filter": {"year": 1999}}),
        ({"from_": "\ud800x"}, {"from": "?x"}),
    ],
)
def test_what_can_safely_be_converted_is_and_goes_out_under_its_declared_name(
    find: DeclaredSpec, given: dict[str, Any], passed: dict[str, Any]
) -> None:
    checked = find.check({"from_": "a"} | given if "from" not in given else given)
    assert find.wired(checked) == {"from": "a"} | passed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"frm": 1}, "find_pages has no argument 'frm'. Did you mean 'from_'? Its arguments: from_, page_size, "),
        ({"page_size": "many"}, "find_pages: argument 'page_size' must be int, not 'many'."),
        ({"page_size": 0}, "argument 'page_size' must be int, not 0 (minimum: 1)."),
        ({"page_size": 2.5}, "argument 'page_size' must be int, not 2.5."),
        ({"from_": None}, "argument 'from_' must be str, not None."),
        ({"from_": True}, "argument 'from_' must be str, not True."),
        ({"lang": "fr"}, "argument 'lang' must be Literal['en', 'de'] | None, not 'fr'."),
        ({"tags": "a"}, "argument 'tags' must be list[str] | None, not 'a'."),
        ({"tags": [["a"]]}, "argument 'tags' must be list[str] | None, not [['a']] (0: type: \"string\")."),
        (
            {"filter": {"year": "x"}},
            "must be Filter | None (Filter is {\"year\": int, \"also\"?: Any}), not {'year': 'x'} (year: type: ",
        ),
        ({"filter": {}}, '(required: ["year"])'),
        ({"score": "nan"}, "argument 'score' must be float | None, not 'nan'."),
        ({"score": float("inf")}, "argument 'score' must be float | None, not inf."),
        ({"filter": {1, 2}}, "argument 'filter' must be Filter | None"),
    ],
)
def test_a_complaint_is_worded_as_that_of_a_python_function(
    find: DeclaredSpec, given: dict[str, Any], said: str
) -> None:
    assert said in complaint(find, **{"from_": "a"} | given)


def test_a_missing_argument_is_named_with_the_signature(find: DeclaredSpec) -> None:
    assert complaint(find).startswith(
        "find_pages needs the argument 'from_'. Its arguments: from_: str, page_size: int"
    )


def test_rules_for_several_arguments_are_said_without_one() -> None:
    schema = {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert complaint(declare("either", "", schema)).endswith("Its arguments: a: Any = None, b: Any = None.")


def test_positional_arguments_are_put_under_the_names(find: DeclaredSpec) -> None:
    assert find.bind(("a", 3), {}) == {"from_": "a", "page_size": 3}


@given(
    st.dictionaries(
        st.sampled_from([*SCHEMA["properties"], "x"]),
        st.recursive(  # type: ignore[misc]
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=6,
        ),
    )
)
@settings(max_examples=200)
def test_whatever_is_given_is_taken_or_complained_about(arguments: dict[str, Any]) -> None:
    try:
        json.dumps(FIND.wired(FIND.check(arguments)), allow_nan=False).encode()
    except BadArguments as error:
        message = str(error)
        assert len(message) < 700


def test_arguments_nested_as_deep_as_a_session_lets_through_are_complained_about(find: DeclaredSpec) -> None:
    deep: Any = 1
    for _ in range(120):
        deep = {"year": 1, "also": [deep]}
    assert "find_pages: " in complaint(find, from_="a", filter=[deep])


@pytest.mark.parametrize(
    ("value", "schema", "made"),
    [
        ("1", {"enum": [1, 2]}, 1),
        ("3", {"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, 3),
        ("3", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "3"),
        ("x", {"type": "integer"}, "x"),
        ("9" * 5000, {"type": "integer"}, "9" * 5000),
        ({"a": "1"}, {"allOf": [{"properties": {"a": {"type": "integer"}}}]}, {"a": 1}),
        (True, {"type": "string"}, True),
    ],
)
def test_a_value_is_only_converted_where_nothing_is_lost(value: Any, schema: dict[str, Any], made: Any) -> None:
    assert coerced(value, schema) == made


# What cannot be declared


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "nonsense"}, "the schema of its arguments is invalid: 'nonsense' is not valid"),
        ({"properties": []}, r"the schema of its arguments is invalid: \[\] is not of type 'object'"),
        ({"properties": {"a": {"type": 3}}}, r"at properties/a/type"),
        ({"type": "string"}, 'its arguments are not an object but "string"'),
        ({"additionalProperties": {"type": "string"}}, "its schema does not name its arguments"),
        ({"patternProperties": {"^x": {}}}, "its schema does not name its arguments"),
    ],
)
def test_a_schema_that_cannot_be_offered_is_refused(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        declare("find", "", schema)


# Schemas of other dialects


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"properties": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}}, {"n": 1}, {"n": 0}),
        ({"properties": {"n": {"type": "integer", "required": True}}}, {"n": 1}, {}),
        ({"properties": {"n": {"type": "STRING"}}}, {"n": "a"}, {"n": [1]}),
        ({"properties": {"n": {"type": "string", "nullable": True}}}, {"n": None}, {"n": [1]}),
        ({"properties": {"n": {"type": "string", "enum": [1.5, True]}}}, {"n": "1.5"}, {"n": "1"}),
        ({"properties": {"n": {"type": "array", "items": [{"type": "integer"}]}}}, {"n": [1]}, {"n": ["a"]}),
        ({"properties": None, "required": None}, {}, {"n": 1}),
        ({"required": ["n"]}, {"n": {"any": [1]}}, {}),
        (
            {"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]},
            {"b": 1},
            {},
        ),
        (
            {"oneOf": [{"properties": {"n": {"const": 1}}}, {"properties": {"n": {"const": "a"}}}], "required": ["n"]},
            {"n": "a"},
            {"n": "b"},
        ),
        ({"properties": {"n": {"type": "string", "pattern": r"^[\p{L} ]+$"}}}, {"n": "Größe 東京"}, {"n": "a1"}),
        ({"properties": {"n": {"patternProperties": {"^x": {"type": "integer"}}}}}, {"n": {"x": 1, "y": 2}}, None),
        (
            {"properties": {"n": {"patternProperties": {"^x": {}}, "additionalProperties": False}}},
            {"n": {"x": 1}},
            {"n": {"y": 1}},
        ),
        ({"properties": {"n": {"pattern": "("}}}, {"n": "anything"}, None),
    ],
)
def test_schemas_of_other_dialects_are_read_as_they_are_meant(
    schema: dict[str, Any], good: dict[str, Any], bad: dict[str, Any] | None
) -> None:
    spec = declare("find", "", schema)
    assert spec.check(good) == good
    if bad is not None:
        assert complaint(spec, **bad)


def test_a_pattern_that_not_all_servers_know_is_described() -> None:
    notes: list[str] = []
    schema = {"properties": {"n": {"type": "string", "pattern": r"^\p{L}+$", "description": "A name."}}}
    shown = declare("find", "", schema, notes=notes).json_schema()
    assert shown["properties"]["n"] == {"type": "string", "description": r"A name. Pattern: ^\p{L}+$"}
    assert notes == [r"the pattern ^\p{L}+$ is only described"]


# Time


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 30 + "b"),
        ({"type": "string", "pattern": "(.*)*(.*)*(.*)*x$"}, "a" * 100_000),
        ({"type": "array", "items": {"pattern": "^(a|a)*$"}}, ["a" * 40 + "b"] * 1000),
        ({"patternProperties": {"^(a+)+$": {"type": "string"}}}, {"a" * 40 + "b": 1}),
        ({"type": "array", "uniqueItems": True}, [{"a": i} for i in range(2400)]),
        ({"type": "array", "items": {"anyOf": [{"const": i} for i in range(1000)]}}, list(range(2000))),
        ({"type": "string"}, "x" * 2_000_000),
        ({"type": "array"}, [0] * 1_000_000),
        ({"pattern": "(?:" * 150 + "a" + ")*" * 150}, "a" * 1000),
        ({"pattern": "(((a{0,99}){0,99}){0,99}){0,99}b"}, "a" * 10_000),
        ({"pattern": "(((a?){12}){12}){12}b"}, "a" * 10_000),
        ({"type": "array", "items": {"pattern": "(((a?){12}){12}){12}b"}}, ["a" * 100] * 4000),
    ],
)
def test_no_schema_holds_up_a_call(schema: dict[str, Any], value: Any) -> None:
    spec = declare("find", "", {"properties": {"n": schema}})

    def check() -> None:
        with contextlib.suppress(BadArguments):
            spec.check({"n": value})

    assert quickest(check, enough=0.15) < 0.15


def test_a_schema_of_the_result_that_is_none_is_left_out() -> None:
    assert declare("find", "", {}, {"properties": []}).returns_schema() == {}


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert declare("find.it", "", {}, None, {"find_it"}).name == "find_it_2"
    assert declare("Finish", "", {}).name == "Finish_2"
