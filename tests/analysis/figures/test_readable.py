"""With 21 systems no text covers another and none is cut off, in any figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from r_eval.analysis.deployment import Deployed, deployment
from r_eval.analysis.published import read_published
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.systems import System, systems
from r_eval.folder import RunFolder

pytest.importorskip("matplotlib")

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.figures import figures
from r_eval.analysis.figures.style import styled
from tests.analysis.figures.conftest import PAPER, of_21_systems, taken
from tests.analysis.figures.measuring import covering, drawn, outside


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with styled():
        yield


def faults(aggregates: Aggregates, deployed: list[Deployed], found: list[System]) -> dict[str, Any]:
    faulty: dict[str, Any] = {}
    for name, figure in figures(aggregates, deployed, found):
        renderer = drawn(figure)
        if fault := [*covering(figure, renderer), *outside(figure, renderer)]:
            faulty[name] = fault
    return faulty


def test_no_text_covers_another_with_21_systems(paper_systems: Aggregates, paper_deployed: list[Deployed]) -> None:
    assert faults(paper_systems, paper_deployed, []) == {}


def test_no_text_covers_another_with_the_papers_own_means() -> None:
    assert faults(read_published(PAPER), [], []) == {}


def test_no_text_covers_another_in_a_run(run: RunFolder) -> None:
    found = systems(run)
    assert faults(aggregate(run), deployment(found), found) == {}


def test_no_text_covers_another_with_one_system(paper_systems: Aggregates) -> None:
    alone = of_21_systems()
    alone.rows = alone.rows[:1]
    assert faults(alone, taken(alone), []) == {}


def test_long_names_cover_nothing() -> None:
    found = of_21_systems()
    found.rows = found.rows[:8]
    deployed = taken(found)
    long = {llm: f"a-provider/with/{'long-' * 12}{number}" for number, llm in enumerate({r.llm: 0 for r in found.rows})}
    for row in found.rows:
        row.llm = long[row.llm]
    for one in deployed:
        one.llm = long[one.llm]
    assert faults(found, deployed, []) == {}
