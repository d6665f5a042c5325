"""Where an axis of costs is broken."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.figures.axis import MOST, SPREAD, parts

Spans = list[tuple[float, float]]


@st.composite
def spans(draw: st.DrawFn) -> Spans:
    lows = draw(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=25))
    return [(low, low * draw(st.floats(1.0, 50.0))) for low in lows]


@given(spans())
def test_every_span_lies_whole_in_one_part(found: Spans) -> None:
    made = parts(found)
    assert all(any(part.low <= low and high <= part.high for part in made) for low, high in found)
    assert sum(part.systems for part in made) == len(found)


@given(spans())
def test_parts_stand_in_order_apart_from_each_other(found: Spans) -> None:
    made = parts(found)
    assert 1 <= len(made) <= MOST
    assert all(one.high < two.low for one, two in itertools.pairwise(made))
    assert all(part.low < part.high for part in made)
    assert all(part.low > 0 for part in made if part.logarithmic)


@pytest.mark.parametrize(
    ("found", "count", "logarithmic"),
    [
        ([(1.0, 2.0), (3.0, 19.0)], 1, [False]),
        ([(1.0, 2.0), (100.0, 120.0)], 2, [False, False]),
        ([(1.0, 2.0), (3.0, 9.0), (12.0, 30.0), (60.0, 200.0)], 1, [True]),
        ([(1.0, 1.5), (100.0, 110.0), (9e3, 1e4), (4e6, 5e6)], 3, None),
        ([(1.0, 1.0)], 1, [False]),
    ],
)
def test_an_axis_is_broken_where_systems_lie_orders_apart(
    found: Spans, count: int, logarithmic: list[bool] | None
) -> None:
    made = parts(found)
    assert len(made) == count
    assert logarithmic is None or [part.logarithmic for part in made] == logarithmic


def test_an_axis_of_one_part_begins_at_0_unless_it_is_logarithmic() -> None:
    assert parts([(2.0, 2.0 * SPREAD)])[0].low == 0.0
    assert parts([(2.0, 3.0 * SPREAD)])[0].low > 0.0
