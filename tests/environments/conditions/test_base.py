"""What an environment around another one passes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from r_eval.environments.base import Environment
from r_eval.environments.conditions.base import Wrapped
from tests.environments.conditions.shelves import Shelves


class Rich(Shelves):
    """Books with everything."""

    closed = False

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        return [api]

    def render(self, api: str, value: Any) -> str:
        return f"rendered {api}"

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [{"kind": kind}]

    def triples(self) -> Iterator[tuple[str, str, str]]:
        yield "Ada", "wrote", "notes"

    def close(self) -> None:
        self.closed = True


def test_every_part_of_an_environment_is_passed_on() -> None:
    inner = Rich()
    outer = Wrapped(inner)
    assert list(outer.specs()) == list(inner.specs()) == ["books", "count", "go"]
    assert outer.description == "Books with everything."
    assert outer.version == inner.version
    assert outer.retrieved_ids("books", []) == ["books"]
    assert outer.render("books", []) == "rendered books"
    assert outer.records("book") == [{"kind": "book"}]
    assert list(outer.triples()) == [("Ada", "wrote", "notes")]
    assert asyncio.run(outer.call("count", {})) == 7


def test_no_method_of_an_environment_is_forgotten() -> None:
    public = {name for name in vars(Environment) if not name.startswith("_")} - {"query_apis", "timeout"}
    assert public <= set(vars(Wrapped))


def test_an_opened_copy_does_not_change_the_environment_inside() -> None:
    inner = Rich()
    opened = Wrapped(inner).open()
    asyncio.run(opened.call("go", {"shelf": 3}))
    opened.close()
    assert (inner.shelf, inner.closed) == (0, False)
    assert (opened.inner.shelf, opened.inner.closed) == (3, True)  # type: ignore[attr-defined]


def test_a_kind_that_the_environment_does_not_have_is_not_there() -> None:
    with pytest.raises(KeyError):
        Wrapped(Shelves()).records("book")
