"""Answers that are lists."""

from __future__ import annotations

import itertools
import random

import pytest

from r_eval.analysis.metrics import get, token_f1

RIGHT = [
    "A;B;C",
    "C, B, A",
    "['c', 'b', 'a']",
    "- A\n- B\n- C",
    "1. C\n2. A\n3. B.",
    "A、B、C。",
    '{"x": ["A", "B", "C"]}',
]


@pytest.mark.parametrize("answer", RIGHT)
@pytest.mark.parametrize("name", ["list_f1", "set_f1"])
def test_order_and_notation_cost_nothing(name: str, answer: str) -> None:
    assert get(name)(answer, ["A;B;C"]) == 1.0


def test_an_element_that_is_half_right_counts_half_in_list_f1_and_nothing_in_set_f1() -> None:
    assert get("list_f1")("New York;Rome", ["York;Rome"]) == pytest.approx(2 * (2 / 3 + 1) / 4)
    assert get("set_f1")("New York;Rome", ["York;Rome"]) == 0.5


def test_an_element_said_twice_finds_its_pair_once_in_list_f1_and_is_one_in_set_f1() -> None:
    assert get("list_f1")("A;A", ["A;B"]) == 0.5
    assert get("set_f1")("A;A;B", ["A;B"]) == 1.0


def test_a_comma_in_a_single_gold_makes_no_list() -> None:
    assert get("set_f1")("Paris, France", ["Paris"]) == 0.0


def test_list_f1_is_the_best_of_all_pairings() -> None:
    dice = random.Random(0)
    for _ in range(200):
        ours, theirs = (
            [" ".join(dice.choices("klmn", k=dice.randint(1, 3))) for _ in range(dice.randint(2, 4))] for _ in "12"
        )
        short, long = sorted((ours, theirs), key=len)
        best = max(
            sum(token_f1(one, [two]) for one, two in zip(short, order, strict=False))
            for order in itertools.permutations(long)
        )
        found = get("list_f1")(";".join(ours), [";".join(theirs)])
        assert found == pytest.approx(2 * best / (len(ours) + len(theirs)))


def test_long_lists_are_scored_too() -> None:
    many = [f"name {number}" for number in range(3_000)]
    assert get("list_f1")(";".join(many), [";".join(reversed(many))]) == 1.0
