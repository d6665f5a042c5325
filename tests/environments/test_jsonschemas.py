"""JSON schemas of others: references, however they are tied up, and the Python types that stand for them."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.jsonschemas import annotation_of, at_pointer, identifier, inlined, merged, untitled
from r_eval.environments.typenames import shape_of, shaped_in, type_name
from tests.timing import quickest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
SCHEMAS = st.recursive(
    st.fixed_dictionaries({}, optional={"type": st.sampled_from(["string", "integer", "object", "array", "odd"])})
    | st.just({"$ref": "#/$defs/A"})
    | st.just({"$ref": "#/nothing"})
    | JSON,
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


# References


def test_a_reference_is_replaced_and_its_name_kept_as_the_title() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/Name"}}, "$defs": {"Name": {"type": "string"}}}
    assert inlined(schema) == {"properties": {"a": {"type": "string", "title": "Name"}}}


def test_what_stands_beside_a_reference_is_kept() -> None:
    schema = {"$ref": "#/$defs/A", "description": "mine", "$defs": {"A": {"type": "string", "description": "its"}}}
    assert inlined(schema)["description"] == "mine"


def test_a_reference_may_point_into_another_document() -> None:
    document = {"components": {"schemas": {"a/b": {"type": "integer"}}}}
    assert inlined({"$ref": "#/components/schemas/a~1b"}, document)["type"] == "integer"


def test_a_schema_that_contains_itself_is_cut_off_by_one_that_allows_everything() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    schema = inlined({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert schema["properties"]["next"] == {}


def test_a_property_called_like_a_keyword_is_a_property() -> None:
    schema = {"properties": {"$ref": {"type": "string"}, "title": {"type": "string", "title": "T"}}}
    assert inlined(schema) == schema
    assert untitled(schema) == {"properties": {"$ref": {"type": "string"}, "title": {"type": "string"}}}


@pytest.mark.parametrize("reference", ["#/nothing", "other.json#/a", "http://127.0.0.1:9/a", "#/a/b/c", ""])
def test_a_reference_to_nowhere_allows_everything_and_is_not_fetched(reference: str) -> None:
    assert inlined({"properties": {"a": {"$ref": reference}}, "a": []})["properties"] == {"a": {}}


@pytest.mark.parametrize("levels", [8, 60])
def test_references_that_would_grow_without_end_are_refused(levels: int) -> None:
    doubling = {f"L{i}": {"properties": {key: {"$ref": f"#/$defs/L{i + 1}"} for key in "abcd"}} for i in range(levels)}

    def grow() -> None:
        with pytest.raises(
            ValueError, match=r"the schema (is nested deeper than 50 levels|has more than 10,000 parts)"
        ):
            inlined({"$ref": "#/$defs/L0", "$defs": {**doubling, f"L{levels}": {}}})

    assert quickest(grow, enough=2.0) < 2.0


def test_pointers_reach_into_lists() -> None:
    assert at_pointer({"a": [1, {"b": 2}]}, "#/a/1/b") == 2


@given(SCHEMAS)
@settings(max_examples=100)
def test_whatever_a_schema_is_it_has_a_type_and_a_shape(schema: Any) -> None:
    flat = inlined(schema)
    json.dumps(flat)
    kind = annotation_of(flat)
    assert isinstance(type_name(kind), str)
    assert all(shape_of(one) for one in shaped_in(kind).values())


# Types


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "string"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": ["number", "null"]}, "float | None"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"enum": ["a", 1, None]}, "Literal['a', 1, None]"),
        ({"const": "x"}, "Literal['x']"),
        ({"enum": [[1], "a"]}, "Any"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({}, "Any"),
        ({"type": "nonsense"}, "Any"),
        ({"properties": {"a": {}}, "title": "my thing"}, "MyThing"),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "title": "Both"}, "Both"),
    ],
)
def test_a_schema_stands_for_a_python_type(schema: dict[str, Any], name: str) -> None:
    assert type_name(annotation_of(schema)) == name


def test_an_object_has_the_shape_of_its_properties() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "at": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "required": ["id"],
    }
    kind = annotation_of(schema, "place")
    assert {name: shape_of(one) for name, one in shaped_in(kind).items()} == {
        "PlaceAt": '{"x"?: float}',
        "Place": '{"id": str, "at"?: PlaceAt}',
    }


def test_the_parts_of_an_all_of_are_one_object() -> None:
    parts = [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}]
    found = merged({"allOf": parts, "required": ["b"]})
    assert (list(found["properties"]), sorted(found["required"])) == (["a", "b"], ["a", "b"])


# Names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("find", "find"),
        ("getPage", "getPage"),
        ("get-page", "get_page"),
        ("GET /items/{id}", "GET_items_id"),
        ("from", "from_"),
        ("3d", "n_3d"),
        ("", "n"),
        ("日本", "n"),
        ("_private", "private"),
        ("x" * 100, "x" * 56),
    ],
)
def test_any_text_becomes_a_name_that_python_and_the_servers_take(text: str, name: str) -> None:
    assert identifier(text) == name


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert identifier("a-b", {"a_b", "a_b_2"}.__contains__) == "a_b_3"


@given(st.text(max_size=80))
def test_every_name_is_an_identifier(text: str) -> None:
    name = identifier(text)
    assert name.isidentifier()
    assert name.isascii()
    assert len(name) <= 60


def test_literals_compare_as_types() -> None:
    assert annotation_of({"enum": ["a"]}) == Literal["a"]
