"""What stands for a value is of its kind, its form and about its size."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.base import Environment
from r_eval.environments.conditions.alternatives import Alternatives, replaceable
from r_eval.environments.conditions.replacing import is_number


class Graph(Environment):
    """Places."""

    def triples(self) -> Iterator[tuple[str, str, str]]:
        yield from (
            ("A", "capital", "Oslo"),
            ("B", "capital", "Lima"),
            ("A", "city", "Oslo"),
            ("B", "city", "Lima"),
            ("B", "city", "Cusco"),
            ("A", "river", "Glomma"),
            ("A", "capital", "1867"),
        )


class Records(Environment):
    """Scholars."""

    def records(self, kind: str) -> list[dict[str, Any]]:
        if kind != "person":
            raise KeyError(kind)
        return [
            {"name": "Ada Byron", "topics": ["Logic"], "h": 3},
            {"name": "Emmy Noether", "topics": ["Rings"], "h": 4},
        ]


REPLACEABLE = ["Oslo", "WY", "1867", "43,976", "7 November 1867", "北京", "Asia/Damascus", "2001: A Space Odyssey"]
NOT = ["", "yes", "False", "3", "0.5", "He", "s", "M", "dfba2cb77dae769abfe39250", "https://a.org/b", "x" * 301, "?!"]


@pytest.mark.parametrize("value", [*REPLACEABLE, *NOT])
def test_names_numbers_and_dates_can_be_replaced_and_what_stands_in_any_text_cannot(value: str) -> None:
    assert replaceable(value) is (value in REPLACEABLE)


@pytest.mark.parametrize(
    ("environment", "pool", "value", "others"),
    [
        (Graph(), [], "Oslo", ["Lima", "Cusco"]),
        (Graph(), [], "Bergen", []),
        (Records(), [], "Ada Byron", ["Emmy Noether"]),
        (Environment(), ["Oslo", "Lima"], "Oslo", ["Lima"]),
    ],
)
def test_a_name_has_others_of_its_kind_the_most_alike_first(
    environment: Environment, pool: list[str], value: str, others: list[str]
) -> None:
    assert list(Alternatives(environment, pool=pool).of(value, random.Random(0))) == others


@given(st.integers(10, 10**9), st.booleans(), st.integers())
def test_a_number_keeps_its_form_and_about_its_size(number: int, separated: bool, seed: int) -> None:
    value = f"{number:,}" if separated else str(number)
    for other in Alternatives(Environment()).of(value, random.Random(seed)):
        new = int(other.replace(",", ""))
        assert len(other) == len(value)
        assert is_number(other)
        assert abs(new - number) <= max(15, 0.3 * number)
