"""Hybrid retrieval: what a sparse and a dense retriever find, joined by reciprocal rank fusion.

Each gives its k best chunks. A chunk's score is the sum over both lists of 0.5 / (60 + rank), rank from 1 (Cormack et
al. 2009, with the equal weights of CRUD-RAG's code); the k best are found. With equal weights the first of one list and
the first of the other are equal unless both lists have them; then the sparse list goes first. CRUD-RAG's paper says
another thing than its code, that k of the joined chunks are drawn by chance: that is `sample`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from r_eval.environments.corpus.retrievers.base import Hit, Retriever

CONSTANT = 60
WEIGHT = 0.5


class Hybrid(Retriever):
    """Reciprocal rank fusion of two retrievers' k best."""

    def __init__(self, sparse: Retriever, dense: Retriever, sample: bool = False) -> None:
        """Join two retrievers.

        Args:
            sparse: One of them.
            dense: The other one.
            sample: Draw k of the joined chunks by chance, the same ones whenever the same is asked, instead of the k
                best. They are still in the order of their scores.
        """
        self.parts = (sparse, dense)
        self._sample = sample

    def identity(self) -> dict[str, Any]:
        name = "hybrid-sample" if self._sample else "hybrid"
        return {
            "retriever": name,
            "parts": [part.identity() for part in self.parts],
            "constant": CONSTANT,
            "ties": "sparse",
        }

    def union(self, query: str, k: int) -> list[Hit]:
        """All chunks that are among the k best of either, by their joined score."""
        return fuse([[hit.chunk for hit in part.search(query, k)] for part in self.parts])

    def search(self, query: str, k: int) -> list[Hit]:
        found = self.union(query, k)
        if not self._sample or len(found) <= k:
            return found[:k]
        drawn = _draw(query, (hit.chunk for hit in found), k)
        return [hit for hit in found if hit.chunk in drawn]


def fuse(rankings: Iterable[Sequence[int]]) -> list[Hit]:
    """Reciprocal rank fusion of rankings of chunks, best first; equal scores in the order of the earlier ranking."""
    scores: defaultdict[int, float] = defaultdict(float)  # in the order in which the rankings name the chunks
    for ranking in rankings:
        for rank, chunk in enumerate(ranking, 1):
            scores[chunk] += WEIGHT / (CONSTANT + rank)
    return [Hit(chunk, score) for chunk, score in sorted(scores.items(), key=lambda item: -item[1])]


def _draw(query: str, chunks: Iterable[int], k: int) -> set[int]:
    """k of the chunks by chance: those with the smallest hashes of query and chunk."""

    def lot(chunk: int) -> bytes:
        return hashlib.blake2b(f"{query}\0{chunk}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return set(sorted(chunks, key=lot)[:k])
