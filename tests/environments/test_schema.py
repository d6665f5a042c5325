"""A query API's signature and docstring, in every form in which a model reads them."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import pytest

from r_eval.environments.base import Environment, query_api
from r_eval.environments.schema import ApiSpec, BadArguments, clip, shapes, type_name
from r_eval.environments.signatures import spec_of, specs_of


@dataclasses.dataclass
class Address:
    """Where one lives."""

    city: str
    number: int | None


@dataclasses.dataclass
class Person:
    """Someone."""

    name: str
    homes: list[Address]


class People(Environment):
    """People and where they live."""

    @query_api
    def find(
        self,
        name: str,
        limit: int = 5,
        minimum: float = 0.5,
        alive: bool = True,
        city: str | None = None,
        order: Literal["name", "age"] = "name",
        tags: list[str] | None = None,
    ) -> list[Person]:
        """Find people by name.

        Names are matched loosely.

        Args:
            name: A name, or a part
                of it.
            limit: At most so many.
        """
        return []

    @query_api
    def count(self) -> int:
        """Count everybody."""
        return 0

    @query_api
    def bare(self, anything):  # type: ignore[no-untyped-def]
        return anything

    def hidden(self) -> None:
        """Not a query API."""


PEOPLE: Any = People


@pytest.fixture(scope="module")
def find() -> ApiSpec:
    return specs_of(PEOPLE)["find"]


def complaint(spec: ApiSpec, **arguments: Any) -> str:
    with pytest.raises(BadArguments) as caught:
        spec.check(arguments)
    return str(caught.value)


# What is read


def test_only_marked_methods_are_query_apis_in_the_order_of_the_class() -> None:
    assert list(specs_of(PEOPLE)) == ["find", "count", "bare"]


def test_a_subclass_adds_its_own_after_those_that_it_inherits() -> None:
    class More(People):
        """More people."""

        @query_api
        def last(self) -> str:
            """Say who is last."""
            return ""

    more: Any = More
    assert list(specs_of(more)) == ["find", "count", "bare", "last"]


def test_summary_and_details_come_from_the_docstring(find: ApiSpec) -> None:
    assert find.summary == "Find people by name."
    assert find.details == "Names are matched loosely."


def test_a_parameters_description_is_one_line(find: ApiSpec) -> None:
    assert find.parameters[0].description == "A name, or a part of it."


def test_a_method_without_docstring_and_types_is_an_api_all_the_same() -> None:
    spec = spec_of(People.bare, is_bound=True)
    assert (spec.name, spec.summary, [p.name for p in spec.parameters]) == ("bare", "", ["anything"])
    assert spec.check({"anything": {"x": 1}}) == {"anything": {"x": 1}}


# What is shown


def test_the_json_schema_is_what_function_calling_wants(find: ApiSpec) -> None:
    schema = find.json_schema()
    assert schema["type"] == "object"
    assert schema["required"] == ["name"]
    assert schema["properties"]["name"] == {"type": "string", "description": "A name, or a part of it."}
    assert schema["properties"]["limit"]["default"] == 5
    assert schema["properties"]["order"]["enum"] == ["name", "age"]
    assert "title" not in schema
    assert not any("title" in entry for entry in schema["properties"].values())


def test_the_json_schema_of_an_api_without_parameters_has_no_properties() -> None:
    schema = specs_of(PEOPLE)["count"].json_schema()
    assert (schema["type"], schema["properties"]) == ("object", {})


def test_the_action_marks_what_may_be_left_out(find: ApiSpec) -> None:
    assert find.action() == "find(name, limit?, minimum?, alive?, city?, order?, tags?): Find people by name."


def test_the_stub_is_python(find: ApiSpec) -> None:
    stub = find.stub()
    compile(stub, "stub", "exec")
    assert stub.startswith("def find(name: str, limit: int = 5, minimum: float = 0.5, alive: bool = True, ")
    assert "city: str | None = None, order: Literal['name', 'age'] = 'name'" in stub
    assert ") -> list[Person]:" in stub
    assert "name: A name, or a part of it." in stub


def test_the_shapes_name_every_field_of_what_comes_back(find: ApiSpec) -> None:
    assert shapes([find]).splitlines() == [
        '# Address is a dict: {"city": str, "number": int | None}',
        '# Person is a dict: {"name": str, "homes": list[Address]}',
    ]


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (str, "str"),
        (str | None, "str | None"),
        (list[Person], "list[Person]"),
        (dict[str, list[int]], "dict[str, list[int]]"),
        (Literal["a", 1], "Literal['a', 1]"),
        (Any, "Any"),
        (None, "None"),
    ],
)
def test_types_are_named_as_a_person_writes_them(annotation: Any, name: str) -> None:
    assert type_name(annotation) == name


# Arguments


def test_arguments_that_fit_are_passed_on_and_defaults_left_to_the_method(find: ApiSpec) -> None:
    assert find.check({"name": "Ann", "limit": 2}) == {"name": "Ann", "limit": 2}


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ({"limit": "3"}, {"limit": 3}),
        ({"limit": 3.0}, {"limit": 3}),
        ({"minimum": "0.25"}, {"minimum": 0.25}),
        ({"minimum": 1}, {"minimum": 1.0}),
        ({"alive": "true"}, {"alive": True}),
        ({"alive": "no"}, {"alive": False}),
        ({"name": 7}, {"name": "7"}),
        ({"name": 7.5}, {"name": "7.5"}),
        ({"city": None}, {"city": None}),
        ({"tags": ["a", "b"]}, {"tags": ["a", "b"]}),
    ],
)
def test_what_can_safely_be_converted_is(find: ApiSpec, given: dict[str, Any], passed: dict[str, Any]) -> None:
    assert find.check({"name": "Ann"} | given) == {"name": "Ann"} | passed


def test_an_unknown_argument_is_told_the_closest_and_all(find: ApiSpec) -> None:
    message = complaint(find, nam="Ann")
    assert "find has no argument 'nam'" in message
    assert "Did you mean 'name'?" in message
    assert "Its arguments: name, limit, minimum, alive, city, order, tags." in message


def test_an_argument_that_nothing_is_close_to_gets_no_guess(find: ApiSpec) -> None:
    assert "Did you mean" not in complaint(find, zzz="Ann")


def test_an_api_without_arguments_says_so() -> None:
    assert "Its arguments: none." in complaint(specs_of(PEOPLE)["count"], name="Ann")


def test_a_missing_argument_is_named_with_the_signature(find: ApiSpec) -> None:
    message = complaint(find, limit=3)
    assert "find needs the argument 'name'" in message
    assert "name: str, limit: int = 5" in message


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"limit": "many"}, "argument 'limit' must be int, not 'many'"),
        ({"limit": 2.5}, "argument 'limit' must be int, not 2.5"),
        ({"limit": None}, "argument 'limit' must be int, not None"),
        ({"name": ["Ann"]}, "argument 'name' must be str, not ['Ann']"),
        ({"name": None}, "argument 'name' must be str, not None"),
        ({"city": {"x": 1}}, "argument 'city' must be str | None, not {'x': 1}"),
        ({"order": "size"}, "argument 'order' must be Literal['name', 'age'], not 'size'"),
        ({"tags": "a"}, "argument 'tags' must be list[str] | None, not 'a'"),
        ({"tags": [["a"]]}, "argument 'tags' must be list[str] | None"),
    ],
)
def test_a_wrong_type_is_named_with_what_is_wanted(find: ApiSpec, given: dict[str, Any], wanted: str) -> None:
    message = complaint(find, **({"name": "Ann"} | given))
    assert "find: " in message
    assert wanted in message


def test_no_complaint_is_longer_than_a_few_lines(find: ApiSpec) -> None:
    assert len(complaint(find, name=["a" * 100_000])) < 300
    assert len(complaint(find, **{"n" * 100_000: 1})) < 300


def test_arguments_by_order_are_put_under_their_names(find: ApiSpec) -> None:
    assert find.bind(("Ann", 3), {"city": "Nairobi"}) == {"name": "Ann", "limit": 3, "city": "Nairobi"}


def test_too_many_arguments_are_counted(find: ApiSpec) -> None:
    with pytest.raises(BadArguments, match="find takes at most 7 arguments, 8 were given"):
        find.bind(range(8), {})


def test_an_argument_given_twice_is_named(find: ApiSpec) -> None:
    with pytest.raises(BadArguments, match="find: argument 'name' was given twice"):
        find.bind(("Ann",), {"name": "Bob"})


def test_clipped_text_says_that_it_was() -> None:
    assert clip("short") == "short"
    assert clip("a" * 100, 10) == "a" * 9 + "…"
