"""Dense retrieval: the chunks whose embeddings have the largest inner product with the query's.

Search is exact: every chunk is compared. The index is a matrix of float32 on disk, memory-mapped, one row a text, of
length 1. numpy multiplies it by the query in one pass over the memory, which is all that a flat index of faiss does for
a single query; with numpy, chunks of the same text have the same score, and equal scores keep the corpus's order.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.environments.corpus.embedding import EMBEDDED, embedding
from r_eval.environments.corpus.retrievers.base import Hit, Indexed, best
from r_eval.languages import language_of

logger = logging.getLogger("r_eval")

VECTORS = "vectors.npy"
ROWS = "rows.npy"
DECIMALS = 6
"""Scores are compared to so many; what is behind them differs with the processor."""

_SLICE = 4096
"""Texts in memory at once while the index is built; texts of like length among them are encoded together."""


class Dense(Indexed):
    """Inner product of sentence embeddings, exact."""

    def __init__(self, model: str | None = None) -> None:
        """Find the model; it is loaded when it is first used, once a process.

        Args:
            model: A model of sentence-transformers: a folder, or a name on the Hub. Default: the embedded one.

        Raises:
            MissingExtra, UserError: What is needed for it is not installed; there is no such model.
        """
        self.embedding = embedding(model)
        self._vectors: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._rows: NDArray[np.int32] = np.zeros(0, np.int32)

    def identity(self) -> dict[str, Any]:
        return {"retriever": "dense", "embedding": self.embedding.identity, "decimals": DECIMALS}

    def build(self, texts: Sequence[str], folder: Path) -> None:
        """Encode each text once, however many chunks have it, so that these have one and the same score."""
        _warn_of_language(self.embedding.name, texts)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        np.save(folder / ROWS, np.fromiter((row_of[text] for text in texts), np.int32, len(texts)))
        once = list(row_of)
        vectors: NDArray[np.float32] | None = None
        for start in range(0, len(once), _SLICE):
            part = self.embedding.documents(once[start : start + _SLICE])
            if vectors is None:
                shape = (len(once), part.shape[1])
                vectors = np.lib.format.open_memmap(folder / VECTORS, mode="w+", dtype=np.float32, shape=shape)
            vectors[start : start + len(part)] = part
        if vectors is None:
            np.save(folder / VECTORS, self._vectors)
        elif isinstance(vectors, np.memmap):
            vectors.flush()

    def open(self, texts: Sequence[str], folder: Path) -> None:
        self._rows = np.load(folder / ROWS)
        empty = len(self._rows) == 0
        self._vectors = np.load(folder / VECTORS, mmap_mode=None if empty else "r")

    def search(self, query: str, k: int) -> list[Hit]:
        if not len(self._rows):
            return []
        scores = np.asarray(self._vectors @ self.embedding.queries([query])[0])
        return best(np.round(scores, DECIMALS)[self._rows], k)


def _warn_of_language(model: str, texts: Sequence[str]) -> None:
    """Say so where the embedded model, which knows little but English, is to search Chinese."""
    looked_at = [texts[number] for number in range(0, len(texts), max(1, len(texts) // 100))]
    chinese = sum(language_of(text) == "zh" for text in looked_at)
    if model == EMBEDDED and 2 * chinese > len(looked_at):
        logger.warning("%s, the embedded embedding model, reads English; for Chinese give another as embedding:", model)
