"""A query API's signature and docstring, in every form in which a model reads them."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import pytest

from r_eval.environments.base import Environment, query_api
from r_eval.environments.schema import ApiSpec, BadArguments
from r_eval.environments.signatures import specs_of


@dataclasses.dataclass
class Person:
    """Someone."""

    name: str
    homes: list[str]


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


def test_the_marked_methods_are_the_query_apis_those_of_base_classes_first() -> None:
    class More(People):
        """More people."""

        @query_api
        def last(self) -> str:
            """Say who is last."""
            return ""

    more: Any = More
    assert list(specs_of(more)) == ["find", "count", "bare", "last"]


def test_summary_details_and_descriptions_come_from_the_docstring(find: ApiSpec) -> None:
    assert (find.summary, find.details) == ("Find people by name.", "Names are matched loosely.")
    assert find.parameters[0].description == "A name, or a part of it."
    bare = specs_of(PEOPLE)["bare"]
    assert (bare.summary, bare.check({"anything": {"x": 1}})) == ("", {"anything": {"x": 1}})


# What is shown


# Arguments


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ({"limit": "3"}, {"limit": 3}),
        ({"limit": 3.0}, {"limit": 3}),
        ({"minimum": "0.25"}, {"minimum": 0.25}),
        ({"alive": "true"}, {"alive": True}),
        ({"alive": "no"}, {"alive": False}),
        ({"name": 7}, {"name": "7"}),
        ({"city": None}, {"city": None}),
        ({"tags": ["a", "b"]}, {"tags": ["a", "b"]}),
    ],
)
def test_what_can_safely_be_converted_is(find: ApiSpec, given: dict[str, Any], passed: dict[str, Any]) -> None:
    assert find.check({"name": "Ann"} | given) == {"name": "Ann"} | passed


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"limit": "many"}, "argument 'limit' must be int, not 'many'"),
        ({"limit": None}, "argument 'limit' must be int, not None"),
        ({"name": ["Ann"]}, "argument 'name' must be str, not ['Ann']"),
        ({"order": "size"}, "argument 'order' must be Literal['name', 'age'], not 'size'"),
        ({"tags": "a"}, "argument 'tags' must be list[str] | None, not 'a'"),
        ({"name": ["a" * 100_000]}, "argument 'name' must be str, not ['aaa"),
        (
            {"nam": "Ann"},
            "find has no argument 'nam'. Did you mean 'name'? Its arguments: name, limit, minimum, ",
        ),
        ({"n" * 100_000: 1}, "find has no argument 'nnn"),
        ({"zzz": 1}, "find has no argument 'zzz'. Its arguments: name, limit"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_wanted(find: ApiSpec, given: dict[str, Any], wanted: str) -> None:
    message = complaint(find, **({"name": "Ann"} | given))
    assert wanted in message
    assert len(message) < 300


def test_a_missing_argument_is_named_with_the_signature(find: ApiSpec) -> None:
    assert "find needs the argument 'name'. Its arguments: name: str, limit: int = 5" in complaint(find, limit=3)
    assert "Its arguments: none." in complaint(specs_of(PEOPLE)["count"], name="Ann")


def test_arguments_by_order_are_put_under_their_names(find: ApiSpec) -> None:
    assert find.bind(("Ann", 3), {"city": "Nairobi"}) == {"name": "Ann", "limit": 3, "city": "Nairobi"}
    for positional, named, why in (
        (range(8), {}, "takes at most 7 arguments, 8 were given"),
        (("Ann",), {"name": "Bob"}, "argument 'name' was given twice"),
    ):
        with pytest.raises(BadArguments, match=why):
            find.bind(positional, named)
