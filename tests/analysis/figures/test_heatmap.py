"""The heat map: what its cells say."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.published import read_published
from r_eval.analysis.rows import Aggregates
from r_eval.folder import RunFolder

pytest.importorskip("matplotlib")

from r_eval.analysis.figures.heatmap import _colour, heat_map
from r_eval.analysis.figures.style import Style, settle, styled
from tests.analysis.figures.conftest import PAPER
from tests.analysis.figures.measuring import words


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with styled():
        yield


def said(found: Aggregates) -> list[str]:
    figure = heat_map(found, found.conditions[0], Style.of(found))
    assert figure is not None
    return words(figure)


def test_a_cell_holds_its_mean_and_the_ends_of_its_interval(paper_systems: Aggregates) -> None:
    cell = paper_systems.rows[0].tasks["wiki/high-freq"]
    found = said(paper_systems)
    assert f"{100 * (cell.mean or 0):.1f}" in found
    assert f"{100 * (cell.low or 0):.0f}–{100 * (cell.high or 0):.0f}" in found


def test_means_without_episodes_have_no_interval() -> None:
    found = said(read_published(PAPER))
    assert not any("–" in text for text in found)
    assert "Mean score, percent" in found


def test_every_system_and_task_is_named_once(paper_systems: Aggregates) -> None:
    found = said(paper_systems)
    assert sum(" · " in text for text in found) == 21
    assert {"high-freq (1-1 KS)", "soay-hard (3-5 KA)", "mean over tasks"} <= set(found)


def test_a_cell_that_lacks_episodes_is_marked_and_the_mark_explained(run: RunFolder) -> None:
    found = said(aggregate(run))
    assert any(text.endswith("*") for text in found)
    assert any("* not complete" in text for text in found)


def test_a_task_that_a_system_lacks_is_left_blank(paper_systems: Aggregates) -> None:
    found = read_published(PAPER)
    del found.rows[0].tasks["wiki/high-freq"]
    assert len(said(read_published(PAPER))) == len(said(found)) + 1


def test_long_names_beside_few_tasks_have_room(tmp_path: Path) -> None:
    lines = "".join(
        f"a-workflow-with-a-name-of-36-letters,a-large-language-model-of-36-letters,{task},10\n"
        for task in ("1-1", "2-1", "3-1")
    )
    (tmp_path / "scores.csv").write_text(f"workflow,llm,task,score\n{lines}", encoding="utf-8")
    found = read_published(tmp_path)
    figure = heat_map(found, found.conditions[0], Style.of(found))
    assert figure is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settle(figure)
    assert figure.axes[0].get_position().width > 0.2


def test_references_come_last(run: RunFolder) -> None:
    found = aggregate(run)
    names = [text for text in said(found) if text == "oracle" or text.startswith(("fc ·", "direct ·"))]
    assert (len(names), names[4]) == (5, "oracle")


def test_higher_scores_are_darker() -> None:
    shades = [sum(_colour(number / 20)) for number in range(21)]
    assert shades == sorted(shades, reverse=True)


def test_nothing_scored_makes_no_figure(make_run: Callable[..., RunFolder], tmp_path: Path) -> None:
    found = aggregate(make_run(tmp_path / "run", questions=0))
    assert heat_map(found, "clean", Style.of(found)) is None
