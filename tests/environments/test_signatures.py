"""What cannot be a query API is refused when its environment is opened, with the line and what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.environments.base import Environment
from r_eval.environments.opening import open_environment
from r_eval.environments.schema import RESERVED
from r_eval.errors import UserError

HEAD = """
from __future__ import annotations

import enum
import sqlite3
import typing
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from r_eval.environments import Environment, query_api

if TYPE_CHECKING:
    from decimal import Decimal

class Row:
    '''A class whose objects are no data.'''
"""
Refusal = Callable[[str], str]


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refusal:
    """Opens a file with some code; gives what is said against it."""
    monkeypatch.chdir(tmp_path)

    def opened(code: str) -> str:
        Path("domain.py").write_text(HEAD + code, encoding="utf-8")
        with pytest.raises(UserError) as caught:
            open_environment("./domain.py")
        return str(caught.value)

    return opened


PARAMETERS = {
    "*names: str": "arguments are given by name, which *names cannot be: take a list, names: list[str]",
    "**options: str": "nothing says what **options may be: name each parameter, or take options: dict[str, str]",
    "name: str, /": "arguments are given by name, which 'name' cannot be: remove the / behind it",
    "db: sqlite3.Connection": "the parameter 'db' is of a type that JSON cannot give: take text, numbers",
    "rows: list[Row]": "the parameter 'rows' is of a type that JSON cannot give: take text",
    "key: Callable[[str], int]": "the parameter 'key' is of a type that JSON cannot give: take text",
    "one: typing.Literal[b'x']": "an Enum or Literal of a parameter has values that JSON cannot give",
    "row: enum.Enum('Rows', {'A': Row()})": "the parameter 'row' is of a type that JSON cannot give",
    "price: Decimal": "'Decimal' is not defined: import it at the top of the file, outside `if TYPE_CHECKING:`",
    "name: Strin": "the type 'Strin' is not defined",
    "missing: Any = object()": "the default of 'missing' is no JSON data (object): use None",
    "most: int = Field(3, ge=1)": "the default of 'most' is a Field: write most: Annotated[TYPE, Field(...)] = DEFAULT",
}
if sys.version_info < (3, 12):  # from then on it serves
    PARAMETERS["note: typing.TypedDict('Note', {'text': str})"] = "use `typing_extensions.TypedDict`"


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_parameter_that_no_model_can_give_is_refused(refusal: Refusal, parameters: str) -> None:
    message = refusal(f"@query_api\ndef find({parameters}) -> str:\n    return ''\n")
    assert message.startswith(f"domain.py:{HEAD.count(chr(10)) + 2}: query API find: ")
    assert PARAMETERS[parameters] in message


NO_DATA = "query API find: it returns what is no JSON data: return text, numbers, lists, dicts, dataclasses"
FUNCTIONS = {
    "def find() -> Row: ...": NO_DATA,
    "def find() -> list[Row] | None: ...": NO_DATA,
    "def find() -> dict[str, sqlite3.Cursor]: ...": NO_DATA,
    "def find() -> Callable[[], int]: ...": NO_DATA,
    "async def find() -> AsyncIterator[str]:\n    yield ''": "it yields, and async generators cannot be returned",
    **{
        f"def {name}(word: str) -> str: ...": "LLM APIs take only the letters A to Z, digits and _"
        for name in ("søk", "查找", "find_" + "x" * 60)
    },
}
METHODS = {
    "@query_api\n    def find(name: str) -> str: ...": "write def find(self, ...), or @staticmethod above it",
    "@query_api\n    def find() -> str: ...": "its first parameter is not self",
    "@property\n    @query_api\n    def find(self) -> str: ...": "it is a property, but a query API is called",
    "@query_api\n    @property\n    def find(self) -> str: ...": "marks functions and methods, not a property",
}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        *((f"@query_api\n{function}\n", message) for function, message in FUNCTIONS.items()),
        *((f"class Domain(Environment):\n    {method}\n", message) for method, message in METHODS.items()),
    ],
)
def test_what_returns_no_data_or_cannot_be_called_is_refused(refusal: Refusal, code: str, message: str) -> None:
    found = refusal(code)
    assert message in found
    assert "domain.py:" in found


def test_the_names_of_every_environment_are_reserved() -> None:
    assert {name for name in vars(Environment) if not name.startswith("_")} <= RESERVED


@pytest.mark.parametrize("name", sorted(RESERVED))
@pytest.mark.parametrize("is_method", [True, False], ids=["method", "function"])
def test_a_name_that_is_taken_is_refused(refusal: Refusal, name: str, is_method: bool) -> None:
    code = f"@query_api\ndef {name}(word: str) -> str: ...\n"
    if is_method:
        code = f"class Domain(Environment):\n    @query_api\n    def {name}(self, word: str) -> str: ...\n"
    assert f"something called '{name}' already: choose another name" in refusal(code)
