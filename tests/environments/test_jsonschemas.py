"""JSON schemas of others: references, however they are tied up, and the Python types that stand for them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.jsonschemas import identifier, inlined, shapes_in, type_name
from r_eval.environments.tools.declared import annotation_of, flaw
from tests.timing import quickest

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


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "integer"}, "int"),
        ({"type": ["number", "null"]}, "float | None"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"enum": ["a", 1, None]}, "Literal['a', 1, None]"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "title": "Both"}, "Both"),
        ({"allOf": [{"enum": ["a"], "type": "string"}], "description": "as FastAPI writes it"}, "Literal['a']"),
    ],
)
def test_a_schema_stands_for_a_python_type(schema: dict[str, Any], name: str) -> None:
    assert type_name(schema) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("getPage", "getPage"),
        ("get-page", "get_page"),
        ("GET /items/{id}", "GET_items_id"),
        ("from", "from_"),
        ("3d", "n_3d"),
        ("日本", "n"),
        ("x" * 100, "x" * 56),
        ("taken", "taken_3"),
    ],
)
def test_any_text_becomes_a_name_that_python_and_the_servers_take(text: str, name: str) -> None:
    assert identifier(text, {"taken", "taken_2"}.__contains__) == name
