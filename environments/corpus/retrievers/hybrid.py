"""Hybrid retrieval: what a sparse and a dense retriever find, joined by their ranks or by a reranker.

Each finds its k best chunks. By reciprocal rank fusion, a chunk's score is the sum over both lists of
0.5 / (60 + rank), rank from 1 (Cormack et al. 2009, with the equal weights of CRUD-RAG's code); the k best are found,
and of equal ones those of the sparse list come first. CRUD-RAG's paper differs from its code: k of the joined chunks
are drawn at random. That is `sample`. A reranker scores the at most 2k chunks, whatever their ranks were.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r_eval.environments.corpus.embedding import cross_encoder

from .base import Hit, Retriever
from .dense import Dense

CONSTANT, WEIGHT = 60, 0.5
MAXSIM = "maxsim"
DECIMALS = 5
"""A reranker's scores are compared to so many; what is behind them differs with the processor."""


class Hybrid(Retriever):
    """What two retrievers find, joined: the best by reciprocal rank fusion, or a random sample of both lists."""

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
        name = "hybrid" if self._sample else "rrf"
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


class Reranked(Hybrid):
    """The chunks that two retrievers find, in the order of a model that reads query and text."""

    def __init__(self, sparse: Retriever, dense: Dense, model: str | None = None) -> None:
        """Find the model; it is loaded when it is first used, once per process.

        Args:
            sparse: One of the retrievers.
            dense: The other one.
            model: A cross-encoder's folder or its name on the Hub; default: `maxsim`, of the dense one's embeddings,
                which needs no weights but those (see `Embedding.scores`).

        Raises:
            MissingExtra, UserError: What is needed for it is not installed; there is no such model.
        """
        super().__init__(sparse, dense)
        self._scorer = dense.embedding if model in (None, MAXSIM) else cross_encoder(str(model))
        self._texts: Sequence[str] = ()

    def identity(self) -> dict[str, Any]:
        scorer = {"scorer": type(self._scorer).__name__, **self._scorer.identity, "decimals": DECIMALS}
        return {**super().identity(), "retriever": "hybrid+rerank", "reranker": scorer}

    def open(self, texts: Sequence[str], folder: Path) -> None:
        self._texts = texts

    def search(self, query: str, k: int) -> list[Hit]:
        chunks = sorted(hit.chunk for hit in self.union(query, k))
        once = list(dict.fromkeys(self._texts[chunk] for chunk in chunks))
        if not once:
            return []
        score = dict(zip(once, np.round(self._scorer.scores(query, once), DECIMALS).tolist(), strict=True))
        found = [Hit(chunk, score[self._texts[chunk]]) for chunk in chunks]
        return sorted(found, key=lambda hit: -hit.score)[:k]


def _lot(query: str, chunk: int) -> bytes:
    return hashlib.blake2b(f"{query}\0{chunk}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
