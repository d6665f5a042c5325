"""The two-ring charts: one a system, with shares that are those of the bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from r_eval.analysis.published import read_published
from r_eval.analysis.rows import Aggregates

pytest.importorskip("matplotlib")

from r_eval.analysis.figures.rings import _across, response_rings
from r_eval.analysis.figures.style import Style, styled
from tests.analysis.figures.conftest import PAPER, of_21_systems
from tests.analysis.figures.measuring import words


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with styled():
        yield


def said(found: Aggregates) -> list[str]:
    figure = response_rings(found, "clean", Style.of(found))
    assert figure is not None
    return words(figure)


def test_each_system_has_a_chart_with_its_number_of_episodes(paper_systems: Aggregates) -> None:
    assert said(paper_systems).count("n=1200") == 21


def test_the_middle_says_how_many_answers_match() -> None:
    found = of_21_systems()
    found.rows = found.rows[:1]
    found.rows[0].types = Counter(EM=30, AM=11, GE=9, RE=40, ME=0, TE=10)
    found.rows[0].recorded = 100
    assert {"41 %", "30", "11", "9", "40", "10"} <= set(said(found))


def test_published_means_have_no_rings() -> None:
    found = read_published(PAPER)
    assert response_rings(found, "clean", Style.of(found)) is None


@pytest.mark.parametrize(("count", "across"), [(1, 1), (6, 6), (7, 4), (12, 6), (13, 5), (21, 6)])
def test_the_lines_are_about_equally_full(count: int, across: int) -> None:
    assert _across(count) == across
