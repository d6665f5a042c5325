"""JSON schemas of others, however they are tied up: the query APIs that they declare, and how arguments are checked."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.jsonschemas import inlined, shapes_in, type_name
from r_eval.environments.schema import BadArguments, shapes
from r_eval.environments.tools.declared import DeclaredSpec, annotation_of, declare, flaw
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
            "properties": {"year": {"type": "integer"}, "to": {"type": "integer"}, "also": {"$ref": "#/$defs/Filter"}},
            "required": ["year"],
        }
    },
}
TEXT = "Find pages.\n\nThe best first.\n\nArgs:\n    lang: The language."
FIND = declare("find-pages", TEXT, SCHEMA, {"type": "object", "title": "Page", "properties": {"id": {}}})


def complaint(spec: DeclaredSpec, **arguments: Any) -> str:
    with pytest.raises(BadArguments) as caught:
        spec.check(arguments)
    return str(caught.value)


def test_it_is_shown_as_a_python_function() -> None:
    stub = FIND.stub()
    compile(stub, "stub", "exec")
    assert stub.startswith(
        "def find_pages(from_: str, page_size: int = 10, filter: Filter | None = None, "
        "tags: list[str] | None = None, lang: Literal['en', 'de'] | None = None, exact: bool | None = None, "
        "score: float | None = None, key: int | None = None) -> Page:"
    )
    assert (
        shapes([FIND]) == '# Page is a dict: {"id"?: Any}\n# Filter is a dict: {"year": int, "to"?: int, "also"?: Any}'
    )
    assert FIND.action() == "find_pages(from_, page_size?, filter?, tags?, lang?, exact?, score?, key?): Find pages."
    assert (FIND.summary, FIND.details) == ("Find pages.", "The best first.")
    assert [p.description for p in FIND.parameters if p.description] == ["Where it begins.", "The language."]
    compile(declare("a", 'Say """ or \\N or "', {}).stub(), "stub", "exec")


def test_a_pattern_is_described_since_llm_servers_refuse_those_that_they_do_not_know() -> None:
    inner = {"type": "array", "items": {"type": "string", "pattern": r"^\p{L}+$", "title": "Word"}}
    assert declare("find", "", {"properties": {"pattern": inner}}).json_schema()["properties"] == {
        "pattern": {"type": "array", "items": {"type": "string", "description": r"Pattern: ^\p{L}+$"}}
    }


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({"page_size": "3"}, {"page-size": 3}),
        ({"page-size": 3.0}, {"page-size": 3}),
        ({"from": "b"}, {"from": "b"}),
        ({"from_": 7.5}, {"from": "7.5"}),
        ({"page_size": None, "exact": None, "key": None}, {"exact": None, "key": None}),
        ({"filter": {"year": 1, "to": None, "x": None}}, {"filter": {"year": 1, "x": None}}),
        ({"exact": "yes", "score": "0.5", "key": "4"}, {"exact": True, "score": 0.5, "key": 4}),
        ({"tags": ["a", 1]}, {"tags": ["a", "1"]}),
        ({"filter": '{"year": "1999", "x": 1}', "tags": '["a"]'}, {"filter": {"year": 1999, "x": 1}, "tags": ["a"]}),
        ({"from_": "\ud800x"}, {"from": "\ufffdx"}),
    ],
)
def test_what_can_safely_be_converted_is_and_goes_out_under_its_declared_name(
    arguments: dict[str, Any], passed: dict[str, Any]
) -> None:
    checked = FIND.check({"from_": "a"} | arguments if "from" not in arguments else arguments)
    assert FIND.wired(checked) == {"from": "a"} | passed


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


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"minimum": 0.5, "multipleOf": 2, "type": "integer"}, -3, ["x"]),
        ({"type": "string", "maxLength": 1, "pattern": "^a$"}, "日本", [[1]]),
        ({"type": "string", "nullable": True}, None, [[1]]),
        ({"type": "string", "enum": [1.5, True]}, "1.5", ["1"]),
        ({"enum": [1.5, [2]]}, "left to the server", []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, [], [["a"]]),
        ({"items": [{"type": "integer"}], "type": "array"}, ["left to the server"], []),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, True, ["x", [1]]),
        ({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["b"]}]}, {"a": 1}, [{"a": "x"}]),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, [{"b": 1}]),
        ({"patternProperties": {"^x": {}}, "properties": {"a": {}}, "additionalProperties": False}, {"x": 1}, []),
    ],
)
def test_types_are_obeyed_rules_are_left_to_the_server_and_nothing_is_made_stricter(
    schema: dict[str, Any], good: Any, bad: list[Any]
) -> None:
    spec = declare("find", "", {"properties": {"n": schema}})
    assert spec.check({"n": good}) == {"n": good}
    for value in bad:
        assert complaint(spec, n=value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": {"type": "string", "pattern": "^(a|a)*$"}}, ["a" * 40 + "b"] * 1000),
        ({"type": "array", "items": {"anyOf": [{"const": i} for i in range(1000)]}}, list(range(2000))),
        ({"type": "string"}, "x" * 2_000_000),
    ],
)
def test_no_schema_holds_up_a_call(schema: dict[str, Any], value: Any) -> None:
    spec = declare("find", "", {"properties": {"n": schema}})

    def check() -> None:
        with contextlib.suppress(BadArguments):
            spec.check({"n": value})

    assert quickest(check, enough=0.15) < 0.15


@pytest.mark.parametrize("name", ["书名", "عنوان", "título", "書-名"])
def test_a_name_that_is_lost_is_its_description(name: str) -> None:
    spec = declare(name, "", {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
    assert spec.name.isascii()
    assert (spec.summary, spec.parameters[0].description) == (name, name)
    assert spec.wired({spec.parameters[0].name: "x"}) == {name: "x"}
    said = declare(name, "Finds.\n", {"type": "object", "properties": {name: {"description": "A title."}}})
    assert (said.summary, said.parameters[0].description) == ("Finds.", "A title.")


SCHEMAS = st.recursive(
    st.fixed_dictionaries({}, optional={"type": st.sampled_from(["string", "integer", "object", "array", "odd"])})
    | st.sampled_from([{"$ref": "#/$defs/A"}, {"$ref": "#/nothing"}, True, None, 7, {"minimum": "x"}]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "$ref", "title", "b-c", ""]), inner, max_size=3),
            "items": inner | st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=3),
            "allOf": st.lists(inner, max_size=3),
            "$defs": st.fixed_dictionaries({"A": inner}),
            "required": st.just(["a"]),
        },
    ),
    max_leaves=12,
)
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}


@pytest.mark.parametrize(
    ("schema", "flat"),
    [
        (
            {"properties": {"a": {"$ref": "#/$defs/Name"}}, "$defs": {"Name": {"type": "string"}}},
            {"properties": {"a": {"type": "string", "title": "Name"}}},
        ),
        (
            {"$ref": "#/$defs/A", "description": "mine", "$defs": {"A": {"type": "string", "description": "its"}}},
            {"type": "string", "title": "A", "description": "mine"},
        ),
        ({"$ref": "#/a~1b", "a/b": {"const": 1}}, {"const": 1, "title": "a~1b", "a/b": {"const": 1}}),
        (
            {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
            {"type": "object", "properties": {"next": {}}, "title": "Node"},
        ),
        *(
            ({"properties": {"a": {"$ref": reference}}, "n": 1}, {"properties": {"a": {}}, "n": 1})
            for reference in ("#/nothing", "other.json#/a", "http://127.0.0.1:9/a", "#/n/b/c", "")
        ),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 0}),
        (
            {"type": "string", "nullable": True, "enum": [1.5, True]},
            {"type": ["string", "null"], "enum": ["1.5", "true", None]},
        ),
        ({"items": [{"type": "integer"}], "required": None}, {"prefixItems": [{"type": "integer"}]}),
        ({"properties": {"a": False}}, {"properties": {"a": {"not": {}}}}),
    ],
)
def test_references_are_replaced_and_old_dialects_rewritten(schema: dict[str, Any], flat: dict[str, Any]) -> None:
    assert inlined(schema) == flat


@pytest.mark.parametrize("levels", [8, 60])
def test_references_that_would_grow_without_end_are_refused(levels: int) -> None:
    doubling = {f"L{i}": {"properties": {key: {"$ref": f"#/$defs/L{i + 1}"} for key in "abcd"}} for i in range(levels)}

    def grow() -> None:
        with pytest.raises(ValueError, match=r"the schema (is nested deeper than 50 levels|has more than 3,000 parts)"):
            inlined({"$ref": "#/$defs/L0", "$defs": {**doubling, f"L{levels}": {}}})

    assert quickest(grow, enough=2.0) < 2.0


@given(SCHEMAS)
@settings(max_examples=100)
def test_whatever_a_valid_schema_is_it_has_a_type_and_a_shape(schema: Any) -> None:
    flat = inlined(schema)
    json.dumps(flat)
    if not flaw(flat):
        annotation_of(flat)
        assert type_name(flat)
        assert all(shapes_in(flat).values())
