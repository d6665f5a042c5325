"""Reciprocal rank fusion, against the published formula written out once more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.corpus.retrievers.base import Hit, Retriever
from r_eval.environments.corpus.retrievers.hybrid import Hybrid


class Known(Retriever):
    """Finds the chunks of a list, in its order, whatever is asked."""

    def __init__(self, ranking: list[int]) -> None:
        self.ranking = ranking
        self.asked: list[int] = []

    def identity(self) -> dict[str, Any]:
        return {"retriever": "known", "ranking": self.ranking}

    def search(self, query: str, k: int) -> list[Hit]:
        self.asked.append(k)
        return [Hit(chunk, -rank) for rank, chunk in enumerate(self.ranking[:k])]


rankings = st.lists(st.integers(0, 30), unique=True, max_size=20)


def found(hybrid: Hybrid, query: str, k: int) -> list[int]:
    return [hit.chunk for hit in hybrid.search(query, k)]


def published(sparse: list[int], dense: list[int], k: int) -> list[int]:
    """For every chunk of either list's first k, 0.5 / (60 + rank) from each list that has it; the k largest sums."""
    sparse, dense = sparse[:k], dense[:k]

    def total(chunk: int) -> float:
        return sum(0.5 / (60 + 1 + ranking.index(chunk)) for ranking in (sparse, dense) if chunk in ranking)

    return sorted([*sparse, *(chunk for chunk in dense if chunk not in sparse)], key=total, reverse=True)[:k]


@given(rankings, rankings, st.integers(1, 12))
def test_the_ranking_is_that_of_the_published_formula(sparse: list[int], dense: list[int], k: int) -> None:
    assert found(Hybrid(Known(sparse), Known(dense)), "q", k) == published(sparse, dense, k)


@given(rankings, rankings, st.integers(1, 12), st.text())
def test_a_sample_is_k_of_the_union_in_the_order_of_their_scores(
    sparse: list[int], dense: list[int], k: int, query: str
) -> None:
    hybrid = Hybrid(Known(sparse), Known(dense), sample=True)
    union = [hit.chunk for hit in hybrid.union(query, k)]
    drawn = found(hybrid, query, k)
    assert drawn == [chunk for chunk in union if chunk in drawn]
    assert len(drawn) == min(k, len(union))


def test_a_sample_is_this_one_on_every_machine() -> None:
    hybrid = Hybrid(Known([0, 1, 2, 3]), Known([4, 5, 6, 7]), sample=True)
    assert found(hybrid, "图书馆几点开放？", 4) == [1, 2, 3, 7]


def test_every_chunk_of_the_union_is_drawn_as_often_as_another() -> None:
    hybrid = Hybrid(Known([0, 1, 2, 3]), Known([4, 5, 6, 7]), sample=True)
    drawn = [chunk for query in range(2000) for chunk in found(hybrid, str(query), 4)]
    assert [drawn.count(chunk) for chunk in range(8)] == pytest.approx([1000] * 8, abs=120)  # 5.4 standard deviations


def test_what_is_joined_and_how_is_the_identity() -> None:
    one, other = Known([1]), Known([2])
    identities = [Hybrid(one, other).identity(), Hybrid(other, one).identity(), Hybrid(one, other, True).identity()]
    assert all(identities.count(identity) == 1 for identity in identities)
