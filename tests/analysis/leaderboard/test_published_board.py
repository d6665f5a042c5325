"""Figures that DRAGON's authors published, held against the board: sums, what cannot exceed what, order of versions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.estimate import published
from r_eval.analysis.leaderboard.entries import Entry
from r_eval.analysis.leaderboard.page import payload
from r_eval.analysis.leaderboard.pipeline import Pipeline
from r_eval.analysis.leaderboard.standings import standings
from r_eval.analysis.metrics.ranking import hit_rate, ndcg, recall
from r_eval.tasks.seasons.version import Version

BOARD = [(0.3834, 0.2078, 0.5912), (0.4336, 0.1372, 0.5708), (0.4047, 0.1156, 0.5203)]
"""Retrieval, generation and total of the published leaderboard's first lines."""
RETRIEVERS = {
    "FRIDA": (0.88, 0.84, 0.85),
    "mE5": (0.90, 0.87, 0.86),
    "Qwen3-8B": (0.93, 0.90, 0.89),
    "E5-Mistral": (0.93, 0.89, 0.87),
}
"""Hit rate, recall and NDCG of the paper's second table."""


def entry(place: int, version: str = "1.10.0") -> Entry:
    retrieval, generation, _ = BOARD[place]
    return Entry(
        *(Version.parse(version), "clean", f"rag+{place}", "rag", str(place), False, Pipeline()),
        retrieval=published(retrieval),
        generation=published(generation),
        types={},
        questions=600,
        missing=0,
        updated="2025-10-01",
    )


@pytest.mark.parametrize("place", range(len(BOARD)))
def test_a_published_total_is_the_sum_of_both_and_rounded(place: int) -> None:
    (line,) = standings([entry(place)], 1)
    assert line.total == pytest.approx(BOARD[place][2], abs=1e-9)
    (row,) = payload([entry(place)])["boards"][0]["rows"]
    assert row["total"] == BOARD[place][2]


def test_the_published_order_is_that_of_the_totals() -> None:
    lines = standings([entry(place) for place in (2, 0, 1)], 1)
    assert [(line.rank, line.llm) for line in lines] == [(1, "0"), (2, "1"), (3, "2")]


@pytest.mark.parametrize("name", sorted(RETRIEVERS))
def test_no_published_recall_exceeds_the_hit_rate(name: str) -> None:
    hit, found, _ = RETRIEVERS[name]
    assert found <= hit


@given(st.lists(st.integers(0, 9), max_size=12), st.sets(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 12))
def test_neither_recall_nor_ndcg_exceeds_the_hit_rate(found: list[int], right: set[int], k: int) -> None:
    ids, wanted = [str(one) for one in found], {str(one) for one in right}
    hit = hit_rate(ids, wanted, k)
    assert recall(ids, wanted, k) <= hit
    assert ndcg(ids, wanted, k) <= hit + 1e-12


def test_releases_are_in_the_order_of_their_numbers() -> None:
    versions = ["1.9.0", "1.10.0", "1.11.0"]
    assert str(Version.parse("1.10.0").next()) == "1.11.0"
    for order in itertools.permutations(versions):
        found = payload([entry(0, version) for version in order])
        assert [version["name"] for version in found["versions"]] == versions
        (newest,) = (board for board in found["boards"] if board["last"] == 1 and not board["actual"])
        assert [row["versions"] for row in newest["rows"]] == [["1.11.0"]]
