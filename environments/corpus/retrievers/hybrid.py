"""Hybrid retrieval: what a sparse and a dense retriever find, joined by reciprocal rank fusion.

Each finds its k best chunks. A chunk's score is the sum over both lists of 0.5 / (60 + rank), rank from 1 (Cormack et
al. 2009, with the equal weights of CRUD-RAG's code); the k best are found, and of equal ones those of the sparse list
come first. CRUD-RAG's paper differs from its code: k of the joined chunks are drawn at random. That is `sample`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import Any

from .base import Hit, Retriever

CONSTANT, WEIGHT = 60, 0.5


class Hybrid(Retriever):
    """Reciprocal rank fusion of two retrievers' k best."""

    def __init__(self, sparse: Retriever, dense: Retriever, sample: bool = False) -> None:
        """Join two retrievers.

        Args:
            sparse: One of them.
            dense: The other one.
            sample: Draw k of the joined chunks at random, the same ones for the same query, instead of the k best.
                They are still in the order of their scores.
        """
        self.parts = (sparse, dense)
        self._sample = sample

    def identity(self) -> dict[str, Any]:
        name = "hybrid-sample" if self._sample else "hybrid"
        return {"retriever": name, "parts": [part.identity() for part in self.parts], "constant": CONSTANT}

    def union(self, query: str, k: int) -> list[Hit]:
        """All chunks that are among the k best of either, by their joined score."""
        scores: defaultdict[int, float] = defaultdict(float)  # the sparse list's chunks first
        for part in self.parts:
            for rank, hit in enumerate(part.search(query, k), 1):
                scores[hit.chunk] += WEIGHT / (CONSTANT + rank)
        return [Hit(chunk, score) for chunk, score in sorted(scores.items(), key=lambda item: -item[1])]

    def search(self, query: str, k: int) -> list[Hit]:
        found = self.union(query, k)
        if not self._sample:
            return found[:k]
        drawn = set(sorted((hit.chunk for hit in found), key=lambda chunk: _lot(query, chunk))[:k])
        return [hit for hit in found if hit.chunk in drawn]


def _lot(query: str, chunk: int) -> bytes:
    return hashlib.blake2b(f"{query}\0{chunk}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
