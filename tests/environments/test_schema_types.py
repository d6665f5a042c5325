"""Every kind of type that a query API may take or return: what a model is shown, and what the method gets."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import functools
import json
import math
import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from r_eval.environments.base import Environment, query_api
from r_eval.environments.schema import ApiSpec, BadArguments, shapes
from r_eval.environments.signatures import specs_of
from r_eval.environments.tools.declared import declare
from r_eval.workflows.react import api_description
from tests.environments.conftest import Ask


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


class Pick(BaseModel):
    """A model whose fields have defaults, and cannot be null."""

    colour: Colour = Colour.RED
    tags: list[str | None] = []


def giving_back(kind: Any) -> type[Environment]:
    """An environment whose query API takes something of a type and gives it back."""

    def back(self: Environment, it: Any) -> Any:
        """Give something back."""
        return it

    back.__annotations__ = {"it": kind, "return": kind}
    return type("Back", (Environment,), {"back": query_api(back)})


def spec_with(kind: Any) -> ApiSpec:
    return specs_of(giving_back(kind))["back"]


BOUNDED = Annotated[int, Field(ge=1, le=9)]
ROME = {"city": "Rome", "number": None}
COLOURS = "Literal['red', 'green']"


@pytest.mark.parametrize(
    ("kind", "written", "argument", "value"),
    [
        (Colour, COLOURS, "red", Colour.RED),
        (Size, "Literal[1, 2]", 2, Size.LARGE),
        (Place, "Place", {"city": "Rome", "number": "3"}, Place("Rome", 3)),
        (Place, "Place", '{"city": "Rome"}', Place("Rome")),
        (list[Place] | None, "list[Place] | None", "[]", []),
        (Iterable[int] | None, "list[int] | None", ["1"], [1]),
        (Owner, "Owner", {"name": "Ann", "home": ROME, "bornIn": 1}, Owner(name="Ann", home=Place("Rome"), bornIn=1)),
        (Note, "Note", {"text": "x"}, {"text": "x"}),
        (Note, "Note", {"text": "x", "author": None}, {"text": "x"}),
        (list[Place], "list[Place]", '[{"city": "Rome", "number": null}]', [Place("Rome")]),
        (Pick | None, "Pick | None", {"colour": None, "tags": [None]}, Pick(tags=[None])),
        (Literal["a", 2], "Literal['a', 2]", "2", 2),
        (BOUNDED, "int", "2", 2),
        (float, "float", "5", 5.0),
        (tuple[int, ...], "list[int]", ["1"], (1,)),
        (datetime.date, "str", "2024-02-29", datetime.date(2024, 2, 29)),
    ],
)
def test_every_kind_of_type_is_written_as_python_taken_as_what_it_is_and_given_back_as_data(
    ask: Ask, kind: Any, written: str, argument: Any, value: Any
) -> None:
    spec = spec_with(kind)
    compile(spec.stub(), "stub", "exec")
    assert spec.stub().startswith(f"def back(it: {written}) -> {written}:")
    checked = spec.check({"it": argument})["it"]
    assert (checked, type(checked)) == (value, type(value))
    result = ask(giving_back(kind)(), "back", it=argument)
    assert (result.error, result.value) == (None, to_jsonable_python(value))


class Things(Environment):
    """One query API for every kind of function."""

    @query_api
    async def later(self, place: Place | None = None) -> Place | None:
        """Be async."""
        await asyncio.sleep(0)
        return place

    @query_api
    def without(self, colour: Colour = None, tags: list[str] = None) -> list[Any]:  # type: ignore[assignment]  # noqa: RUF013
        """Take defaults of None that the types do not allow."""
        return [colour, tags]

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
        """Be cached, and yield."""
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


@pytest.mark.parametrize(
    ("api", "signature", "arguments", "value"),
    [
        ("later", "(place: Place | None = None) -> Place | None", {"place": {"city": "Rome"}}, ROME),
        (
            "without",
            f"(colour: {COLOURS} | None = None, tags: list[str] | None = None) -> list[Any]",
            {"colour": None, "tags": '["ж"]'},
            [None, ["ж"]],
        ),
        ("half", "(number: float) -> float", {"number": "5"}, 2.5),
        ("reversed", "(text: str) -> str", {"text": "Ужгород"}, "дорогжУ"),
        ("title", "(suffix: str = '') -> str", {"suffix": "!"}, "Things!"),
        ("title", "(suffix: str = '') -> str", {"suffix": None}, "Things"),
        ("cached", "(day: str) -> list[str]", {"day": "2024-02-29"}, ["2024-02-29", "2024-03-01"]),
        ("described", "(word: str, most: int = 1) -> str", {"word": "词", "most": 2}, "词词"),
        (
            "shadowing",
            "(schema: str, copy: int = 0, _private: int = 0) -> str",
            {"schema": "s", "copy": 1, "_private": 2},
            "s12",
        ),
        ("bare", "(anything: Any) -> Any", {"anything": {"x": 1}}, {"x": 1}),
    ],
)
def test_every_kind_of_function_is_a_query_api(
    ask: Ask, api: str, signature: str, arguments: dict[str, Any], value: Any
) -> None:
    assert Things().specs()[api].stub().startswith(f"def {api}{signature}:")
    result = ask(Things(), api, **arguments)
    assert (result.error, result.value) == (None, value)


def test_the_shapes_of_what_is_taken_and_given_are_shown_the_inner_ones_first() -> None:
    assert shapes([spec_with(Owner), spec_with(tuple[Note, int])]).splitlines() == [
        '# Place is a dict: {"city": str, "number": int | None}',
        '# Owner is a dict: {"name": str, "home": Place, "likes": list[Literal[\'red\', \'green\']], "bornIn": int}',
        '# Note is a dict: {"text": str, "author"?: str}',
    ]


def test_the_json_schema_has_no_references_and_no_titles() -> None:
    schema = spec_with(Owner).json_schema()["properties"]["it"]
    assert schema["properties"]["home"]["properties"]["city"] == {"type": "string"}
    assert schema["properties"]["likes"]["items"]["enum"] == ["red", "green"]
    assert "$ref" not in str(schema)
    assert "title" not in str(schema)


def test_the_docstring_describes_and_a_type_where_the_docstring_does_not() -> None:
    described, shadowing, bare = (Things().specs()[name] for name in ("described", "shadowing", "bare"))
    assert [p.description for p in described.parameters] == ["The word to find.", "How many."]
    assert shadowing.summary == "Take names that a pydantic field cannot have."
    assert shadowing.details == "They are the names of its methods."
    assert shadowing.parameters[0].description == "A name, or a part of it."
    assert (bare.summary, bare.stub()) == ("", 'def bare(anything: Any) -> Any:\n    """"""')


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (datetime.date, "str (date, YYYY-MM-DD)"),
        (list[uuid.UUID], "list[str (UUID)]"),
        ({"type": ["string", "null"], "format": "uri"}, "str (uri) | None"),
    ],
)
def test_the_format_of_a_text_is_shown_wherever_its_type_is(kind: Any, form: str) -> None:
    schema = {"properties": {"it": kind}, "required": ["it"]}
    spec = declare("back", "", schema) if isinstance(kind, dict) else spec_with(kind)
    assert f"    it ({form})" in spec.stub()
    compile(spec.stub(), "stub", "exec")
    assert f"    it ({form})" in api_description(spec)
    assert spec.parameters[0].signature() == f"it: {form}"
    assert '"format": ' in json.dumps(spec.json_schema())
    with pytest.raises(BadArguments, match=re.escape(f"argument 'it' must be {form}, not {{}}")):
        spec.check({"it": {}})


@pytest.mark.parametrize(
    ("kind", "argument", "expected"),
    [
        (Colour, "blue", f"argument 'it' must be {COLOURS}, not 'blue'."),
        (Place, "Rome", 'must be Place (Place is {"city": str, "number"?: int | None}), not \'Rome\'.'),
        (Place, {"number": 3}, "not {'number': 3} (city: Field required)."),
        (Place, "[" * 100_000, "argument 'it' must be Place"),
        (Owner, {"name": "Ann", "home": {"city": "Rome", "number": "x"}}, "(home.number: Input should be"),
        (Note, {}, 'must be Note (Note is {"text": str, "author"?: str}), not {} (text: Field required)'),
        *((float, nan, "must be float, not ") for nan in (math.nan, "NaN", '"NaN"', "-Infinity", [math.nan])),
        (BOUNDED, 0, "must be int, not 0 (Input should be greater than or equal to 1)."),
    ],
)
def test_a_complaint_says_which_argument_and_what_was_expected(kind: Any, argument: Any, expected: str) -> None:
    with pytest.raises(BadArguments) as caught:
        spec_with(kind).check({"it": argument})
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 500
