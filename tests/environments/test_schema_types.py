"""Every kind of type that a query API may take or return: what a model is shown, and what the method gets."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import functools
import json
import re
import uuid
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from r_eval.environments.base import Environment, query_api
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec, BadArguments, shapes
from r_eval.environments.session import CallResult, Session
from r_eval.environments.signatures import spec_of, specs_of
from r_eval.environments.tools.declared import declare
from r_eval.workflows.react import api_description


class Colour(enum.Enum):
    """An enum of texts."""

    RED = "red"
    GREEN = "green"


class Size(enum.IntEnum):
    """An enum of numbers."""

    SMALL = 1
    LARGE = 2


@dataclasses.dataclass
class Place:
    """A dataclass."""

    city: str
    number: int | None = None


class Owner(BaseModel):
    """A pydantic model, inside which are others."""

    name: str
    home: Place
    likes: list[Colour] = []
    born: int = Field(default=0, alias="bornIn")


class Note(TypedDict):
    """A TypedDict."""

    text: str
    author: NotRequired[str]


class Things(Environment):
    """One query API for every kind of type."""

    @query_api
    def colour(self, colour: Colour, size: Size = Size.SMALL) -> Colour:
        """Take enums."""
        assert isinstance(colour, Colour)
        assert isinstance(size, Size)
        return colour

    @query_api
    def place(self, place: Place, others: list[Place] | None = None) -> list[Place]:
        """Take dataclasses."""
        assert isinstance(place, Place)
        return [place, *(others or [])]

    @query_api
    def owner(self, owner: Owner) -> Owner:
        """Take a pydantic model."""
        assert isinstance(owner, Owner)
        return owner

    @query_api
    def note(self, note: Note) -> dict[str, Note]:
        """Take a TypedDict."""
        return {"note": note}

    @query_api
    def choice(self, one: Literal["a", 2], maybe: str | None = None) -> Literal["a", 2]:
        """Take a literal."""
        return one

    @query_api
    def bounded(self, count: Annotated[int, Field(ge=1, le=9)] = 3) -> tuple[int, ...]:
        """Take a number between bounds."""
        return tuple(range(count))

    @query_api
    async def later(self, place: Place | None = None) -> Place | None:
        """Be async."""
        await asyncio.sleep(0)
        return place

    @query_api
    def without(self, colour: Colour = None, place: Place = None, tags: list[str] = None) -> list[Any]:  # type: ignore[assignment]  # noqa: RUF013
        """Take defaults of None that the types do not allow."""
        return [colour, place, tags]

    @query_api
    @staticmethod
    def half(number: float) -> float:
        """Be a static method."""
        return number / 2

    @staticmethod
    @query_api
    def reversed(text: str) -> str:
        """Be a static method, marked first."""
        return text[::-1]

    @query_api
    @classmethod
    def title(cls, suffix: str = "") -> str:
        """Be a class method."""
        return f"{cls.__name__}{suffix}"

    @query_api
    @functools.lru_cache  # noqa: B019
    def cached(self, day: datetime.date) -> Iterator[datetime.date]:
        """Be cached, take a date, and yield."""
        return iter([day, day + datetime.timedelta(days=1)])

    @query_api
    def described(
        self, word: Annotated[str, "The word to find."], most: Annotated[int, Field(description="How many.")] = 1
    ) -> str:
        """Take parameters that describe themselves."""
        return word * most

    @query_api
    def shadowing(self, schema: str, copy: int = 0, _private: int = 0) -> str:
        """Take names that a pydantic field cannot have.

        They are the names of its methods.

        Args:
            schema: A name, or a part
                of it.
        """
        return f"{schema}{copy}{_private}"

    @query_api
    def bare(self, anything):  # type: ignore[no-untyped-def]
        return anything


THINGS: Any = Things


def function_with(kind: Any) -> Any:
    """A function with a parameter of a type."""

    def visits(day: Any) -> int:
        """Count visits."""
        return 0

    visits.__annotations__["day"] = kind
    return visits


def spec(name: str) -> ApiSpec:
    return specs_of(THINGS)[name]


def complaint(name: str, **arguments: Any) -> str:
    with pytest.raises(BadArguments) as caught:
        spec(name).check(arguments)
    return str(caught.value)


@pytest.fixture
def call(sandbox: Sandbox) -> Any:
    session = Session(Things(), sandbox)

    def called(api: str, **arguments: Any) -> CallResult:
        return asyncio.run(session.call(api, arguments))

    return called


@pytest.mark.parametrize(
    ("api", "arguments", "value"),
    [
        ("colour", {"colour": "red", "size": 2}, "red"),
        ("place", {"place": {"city": "Rome", "number": "3"}}, [{"city": "Rome", "number": 3}]),
        ("place", {"place": '{"city": "Rome"}', "others": "[]"}, [{"city": "Rome", "number": None}]),
        (
            "owner",
            {"owner": {"name": "Ann", "home": {"city": "Rome"}, "likes": ["green"], "bornIn": 1980}},
            {"name": "Ann", "home": {"city": "Rome", "number": None}, "likes": ["green"], "bornIn": 1980},
        ),
        ("note", {"note": {"text": "x"}}, {"note": {"text": "x"}}),
        ("choice", {"one": "a", "maybe": None}, "a"),
        ("choice", {"one": "2"}, 2),
        ("bounded", {"count": "2"}, [0, 1]),
        ("later", {"place": {"city": "Rome"}}, {"city": "Rome", "number": None}),
        ("later", {}, None),
        ("without", {}, [None, None, None]),
        ("without", {"colour": None, "place": None, "tags": None}, [None, None, None]),
        ("without", {"colour": "green", "tags": '["ж"]'}, ["green", None, ["ж"]]),
        ("half", {"number": "5"}, 2.5),
        ("reversed", {"text": "Ужгород"}, "дорогжУ"),
        ("title", {"suffix": "!"}, "Things!"),
        ("cached", {"day": "2024-02-29"}, ["2024-02-29", "2024-03-01"]),
        ("described", {"word": "词", "most": 2}, "词词"),
        ("shadowing", {"schema": "s", "copy": 1, "_private": 2}, "s12"),
        ("bare", {"anything": {"x": 1}}, {"x": 1}),
    ],
)
def test_every_kind_of_type_is_taken_and_given_back_as_data(
    call: Any, api: str, arguments: dict[str, Any], value: Any
) -> None:
    result = call(api, **arguments)
    assert (result.error, result.value) == (None, value)


@pytest.mark.parametrize(
    ("api", "signature"),
    [
        (
            "colour",
            "(colour: Literal['red', 'green'], size: Literal[1, 2] = 1) -> Literal['red', 'green']",
        ),
        ("place", "(place: Place, others: list[Place] | None = None) -> list[Place]"),
        ("choice", "(one: Literal['a', 2], maybe: str | None = None) -> Literal['a', 2]"),
        ("bounded", "(count: int = 3) -> list[int]"),
        ("cached", "(day: str) -> list[str]"),
        (
            "without",
            "(colour: Literal['red', 'green'] | None = None, place: Place | None = None, "
            "tags: list[str] | None = None) -> list[Any]",
        ),
    ],
)
def test_the_stub_is_python_with_types_as_a_person_writes_them(api: str, signature: str) -> None:
    stub = spec(api).stub()
    compile(stub, "stub", "exec")
    assert stub.startswith(f"def {api}{signature}:")


def test_the_shapes_of_what_is_taken_and_given_are_shown_the_inner_ones_first() -> None:
    assert shapes(list(specs_of(THINGS).values())).splitlines() == [
        '# Place is a dict: {"city": str, "number": int | None}',
        '# Owner is a dict: {"name": str, "home": Place, "likes": list[Literal[\'red\', \'green\']], "bornIn": int}',
        '# Note is a dict: {"text": str, "author"?: str}',
    ]


def test_the_json_schema_has_no_references_and_no_titles() -> None:
    schema = spec("owner").json_schema()["properties"]["owner"]
    assert schema["properties"]["home"]["properties"]["city"] == {"type": "string"}
    assert schema["properties"]["likes"]["items"]["enum"] == ["red", "green"]
    assert "$ref" not in str(schema)
    assert "title" not in str(schema)


def test_the_docstring_describes_and_a_type_where_the_docstring_does_not() -> None:
    assert [p.description for p in spec("described").parameters] == ["The word to find.", "How many."]
    shadowing = spec("shadowing")
    assert shadowing.summary == "Take names that a pydantic field cannot have."
    assert shadowing.details == "They are the names of its methods."
    assert shadowing.parameters[0].description == "A name, or a part of it."
    assert (spec("bare").summary, spec("bare").stub()) == ("", 'def bare(anything: Any) -> Any:\n    """"""')


def declared(schema: dict[str, Any]) -> ApiSpec:
    return declare("visits", "Count visits.", {"properties": {"day": schema}, "required": ["day"]})


@pytest.mark.parametrize(
    ("visits", "form"),
    [
        (spec_of(function_with(datetime.date)), "str (date, YYYY-MM-DD)"),
        (spec_of(function_with(list[uuid.UUID])), "list[str (UUID)]"),
        (declared({"type": ["string", "null"], "format": "uri"}), "str (uri) | None"),
    ],
)
def test_the_format_of_a_text_is_shown_wherever_its_type_is(visits: ApiSpec, form: str) -> None:
    assert f"    day ({form})" in visits.stub()
    compile(visits.stub(), "stub", "exec")
    assert f"    day ({form})" in api_description(visits)
    assert visits.parameters[0].signature() == f"day: {form}"
    assert '"format": ' in json.dumps(visits.json_schema())
    with pytest.raises(BadArguments, match=re.escape(f"argument 'day' must be {form}, not {{}}")):
        visits.check({"day": {}})


@pytest.mark.parametrize(
    ("api", "arguments", "expected"),
    [
        ("colour", {"colour": "blue"}, "argument 'colour' must be Literal['red', 'green'], not 'blue'."),
        (
            "place",
            {"place": "Rome"},
            "argument 'place' must be Place (Place is {\"city\": str, \"number\"?: int | None}), not 'Rome'.",
        ),
        ("place", {"place": {"number": 3}}, "not {'number': 3} (city: Field required)."),
        ("owner", {"owner": {"name": "Ann", "home": {"city": "Rome", "number": "x"}}}, "(home.number: Input should be"),
        ("note", {"note": {}}, 'must be Note (Note is {"text": str, "author"?: str}), not {} (text: Field required)'),
        ("bounded", {"count": 0}, "must be int, not 0 (Input should be greater than or equal to 1)."),
        ("place", {"place": "[" * 100_000}, "argument 'place' must be Place"),
    ],
)
def test_a_complaint_says_which_argument_and_what_was_expected(
    api: str, arguments: dict[str, Any], expected: str
) -> None:
    message = complaint(api, **arguments)
    assert expected in message
    assert len(message) < 500
