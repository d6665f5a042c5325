"""Who leads over the last n versions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.estimate import published
from r_eval.analysis.leaderboard.entries import Entry, OfType
from r_eval.analysis.leaderboard.pipeline import Pipeline
from r_eval.analysis.leaderboard.standings import Standing, standings
from r_eval.tasks.seasons.version import Version


def entry(
    system: str, version: str, generation: float, retrieval: float | None = 0.5, reference: bool = False
) -> Entry:
    known = published(retrieval or 0.0)
    return Entry(
        *(Version.parse(version), "clean", system, *system.split("+"), reference, Pipeline()),
        retrieval=replace(known, mean=retrieval),
        generation=published(generation),
        types={"set": OfType(2, retrieval, generation)},
        questions=10,
        missing=1,
        updated=f"2026-01-{int(version.split('.')[1]):02}",
    )


BOARD = [
    entry("rag+old", "1.9.0", 0.9),
    entry("rag+m", "1.9.0", 0.2),
    entry("rag+m", "1.10.0", 0.6, 0.7),
    entry("react+m", "1.10.0", 0.8, 0.4),
    entry("direct+m", "1.10.0", 0.3, None, reference=True),
]


def by_system(found: list[Standing]) -> dict[str, Standing]:
    return {line.system: line for line in found}


def test_over_several_versions_each_weighs_the_same() -> None:
    line = by_system(standings(BOARD, 2))["rag+m"]
    assert line.generation.mean == pytest.approx(0.4)
    assert line.retrieval.mean == pytest.approx(0.6)
    assert line.total == pytest.approx(1.0)
    assert (line.questions, line.missing, line.updated) == (20, 2, "2026-01-10")


def test_the_last_version_is_the_highest_by_number() -> None:
    assert set(by_system(standings(BOARD, 1))) == {"rag+m", "react+m", "direct+m"}


def test_only_systems_on_the_newest_version_are_actual() -> None:
    found = by_system(standings(BOARD, 2))
    assert [found[name].actual for name in ("rag+old", "rag+m")] == [False, True]
    assert "rag+old" not in by_system(standings(BOARD, 2, actual=True))


def test_ranks_go_by_the_total_and_without_those_left_out() -> None:
    ranks = {name: line.rank for name, line in by_system(standings(BOARD, 2)).items()}
    assert ranks == {"rag+old": 1, "react+m": 2, "rag+m": 3, "direct+m": None}
    assert by_system(standings(BOARD, 2, actual=True))["react+m"].rank == 1


def test_equal_totals_share_the_lower_rank() -> None:
    found = standings([entry("a+m", "1.0.0", 0.5), entry("b+m", "1.0.0", 0.5), entry("c+m", "1.0.0", 0.1)], 1)
    assert [line.rank for line in found] == [1, 1, 3]


def test_where_retrieval_is_known_of_nobody_the_ranks_go_by_generation() -> None:
    found = standings([entry("a+m", "1.0.0", 0.1, None), entry("b+m", "1.0.0", 0.5, None)], 1)
    assert [(line.system, line.rank, line.total) for line in found] == [("b+m", 1, None), ("a+m", 2, None)]


def test_the_sums_of_the_published_board_come_out() -> None:
    for retrieval, generation, total in ((0.3834, 0.2078, 0.5912), (0.4336, 0.1372, 0.5708), (0.4047, 0.1156, 0.5203)):
        (line,) = standings([entry("a+m", "1.10.0", generation, retrieval)], 1)
        assert line.total == pytest.approx(total)


def test_the_types_are_averaged_over_versions() -> None:
    of_set = by_system(standings(BOARD, 2))["rag+m"].types["set"]
    assert (of_set.questions, of_set.generation) == (4, pytest.approx(0.4))


@given(st.lists(st.tuples(st.integers(0, 20), st.floats(0, 1)), min_size=1, max_size=8), st.integers(1, 9))
def test_no_line_uses_more_versions_than_asked_for(made: list[tuple[int, float]], last: int) -> None:
    board = [entry("a+m", f"1.{minor}.0", score) for minor, score in dict(made).items()]
    (line,) = standings(board, last)
    newest = sorted(board, key=lambda one: one.version or Version())[-last:]
    assert list(line.versions) == [one.version for one in newest]


def test_two_pipelines_under_one_name_stand_apart() -> None:
    first = replace(entry("rag+m", "1.9.0", 0.2), pipeline=Pipeline("bm25", "", 2))
    second = replace(entry("rag+m", "1.10.0", 0.6), pipeline=Pipeline("hybrid", "", 2))
    assert [line.pipeline.retriever for line in standings([first, second], 2)] == ["hybrid", "bm25"]
