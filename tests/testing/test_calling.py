"""What the contracts share: faults in arguments, and cut observations."""

from __future__ import annotations

import pytest

from r_eval.environments.schema import spec_of
from r_eval.environments.session import cut
from r_eval.testing.calling import Call, check_cut, mistakes, orders, written

TEXT = "One sentence. " * 20
LIST = "\n".join(["20 results.", *(f"Record {i}. It is good." for i in range(20))])


@pytest.mark.parametrize("text", [TEXT, LIST, "word " * 100, "x" * 400])
@pytest.mark.parametrize("characters", [40, 100, 150])
def test_what_a_session_cuts_is_cut_well(text: str, characters: int) -> None:
    check_cut("show()", text, cut(text, characters), characters)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (TEXT[:100], "show() does not say that it is cut"),
        (f"{TEXT[:97]} [… cut: something]", "does not say how much"),
        (f"{TEXT[:96]} [… cut: 184 more characters]", "is cut within a sentence or record"),
        (f"{TEXT[1:97]} [… cut: 183 more characters]", "is not the beginning"),
        (f"{TEXT[:195]} [… cut: 85 more characters]", "195 characters are kept instead of 100"),
    ],
)
def test_what_is_cut_badly_is_said(shown: str, said: str) -> None:
    with pytest.raises(AssertionError, match="show") as caught:
        check_cut("show()", TEXT, shown, 100)
    assert said in str(caught.value)


class Kitchen:
    def find(self, name: str, limit: int | None = None) -> None:
        """Find."""


def test_every_mistake_in_arguments_is_one_and_says_what_is_to_be_named() -> None:
    assert list(mistakes(spec_of(Kitchen.find), {"name": "egg"})) == [
        ({"name": "egg", "no such": 1}, ["'no such'"]),
        ({"namex": "egg"}, ["'namex'", "Did you mean '"]),
        ({}, ["'name'"]),
        ({"name": {"no": [None]}}, ["'name' must be str"]),
        ({"name": "egg", "limitx": None}, ["'limitx'", "Did you mean '"]),
        ({"name": "egg", "limit": {"no": [None]}}, ["'limit' must be int | None"]),
    ]


def test_orders_begin_with_every_call_in_turn() -> None:
    calls: list[Call] = [("a", {}), ("b", {}), ("c", {})]
    assert ["".join(api for api, _ in order) for order in orders(calls, 4)] == ["abc", "bca", "cab", "abc"]


def test_a_call_is_written_shortly() -> None:
    assert written(("find", {"name": "x" * 100, "limit": 2})) == f"find(name='{'x' * 59}, limit=2)"
