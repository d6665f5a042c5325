"""The order of a component's values, and how a metric goes with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.components import Component, Curve, Point, label, ordered, trend
from r_eval.analysis.estimate import published


def made(values: list[str], means: list[float]) -> tuple[Component, Curve]:
    points = tuple(Point(value, published(mean)) for value, mean in zip(values, means, strict=True))
    curve = Curve("chunk_size", "t", "token_f1", "share", True, points)
    return Component("chunk_size", tuple(values), ordered(values)[1], "", (curve,)), curve


@pytest.mark.parametrize(
    ("values", "order", "numeric"),
    [
        (["128", "8", "64"], ("8", "64", "128"), True),
        (["0", "70%", "10%"], ("0", "10%", "70%"), True),
        (["16", "10%"], ("16", "10%"), False),
        (["dense", "bm25"], ("dense", "bm25"), False),
        (["8", "all"], ("8", "all"), False),
        (["nan", "1"], ("nan", "1"), False),
        (["0.5", "-1"], ("-1", "0.5"), True),
    ],
)
def test_numbers_and_per_cents_ascend_and_names_keep_their_order(
    values: list[str], order: tuple[str, ...], numeric: bool
) -> None:
    assert ordered(values) == (order, numeric)


@given(st.lists(st.text()))
def test_no_value_is_lost_by_ordering(values: list[str]) -> None:
    assert sorted(ordered(values)[0]) == sorted(values)


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([0.1, 0.2, 0.2], "rising"),
        ([0.3, 0.2, 0.1], "falling"),
        ([0.1, 0.3, 0.2], "mixed"),
        ([0.1, 0.1, 0.1], "level"),
    ],
)
def test_a_trend_is_over_ascending_values(means: list[float], expected: str) -> None:
    assert trend(*made(["8", "64", "128"], means)) == expected


def test_names_have_no_trend() -> None:
    assert trend(*made(["bm25", "dense"], [0.1, 0.2])) == ""


def test_a_single_value_has_no_trend() -> None:
    assert trend(*made(["8"], [0.1])) == ""


def test_true_and_lists_are_written_as_in_a_grid() -> None:
    assert [label(True), label([1, "é"]), label(0.5)] == ["true", '[1, "é"]', "0.5"]
