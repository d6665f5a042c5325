"""Dense retrieval: the chunks whose embeddings have the largest inner product with the query's.

Search is exact. The index is a memory-mapped matrix of float32, one row of length 1 per different text; numpy
multiplies it by the query in one pass, which is all that a flat index of faiss does for a single query.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r_eval.environments.corpus.embedding import EMBEDDED, embedding
from r_eval.languages import language_of

from .base import Hit, Retriever, best

logger = logging.getLogger("r_eval")

VECTORS, ROWS = "vectors.npy", "rows.npy"
DECIMALS = 6
"""Scores are compared to so many; what is behind them differs with the processor."""
_BATCH = 4096
"""Texts encoded at once while the index is built."""


class Dense(Retriever):
    """Inner product of sentence embeddings, exact."""

    def __init__(self, model: str | None = None) -> None:
        """Find the model; it is loaded when it is first used, once per process.

        Args:
            model: A model of sentence-transformers: a folder, or a name on the Hub. Default: the embedded one.

        Raises:
            MissingExtra, UserError: What is needed for it is not installed; there is no such model.
        """
        self.embedding = embedding(model)
        self._vectors: Any = None
        self._rows: Any = None

    def identity(self) -> dict[str, Any]:
        return {"retriever": "dense", "embedding": self.embedding.identity, "decimals": DECIMALS}

    def build(self, texts: Sequence[str], folder: Path) -> None:
        """Encode each text once, however many chunks have it, so that these have one and the same score."""
        sample = [language_of(texts[number]) for number in range(0, len(texts), max(1, len(texts) // 100))]
        if self.embedding.name == EMBEDDED and 2 * sample.count("zh") > len(sample):
            logger.warning("%s, the embedded model, reads English; for Chinese name another as embedding:", EMBEDDED)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        np.save(folder / ROWS, np.fromiter((row_of[text] for text in texts), np.int32, len(texts)))
        once = list(row_of)
        vectors: Any = None
        for start in range(0, len(once), _BATCH):
            part = self.embedding.documents(once[start : start + _BATCH])
            if vectors is None:
                shape = (len(once), part.shape[1])
                vectors = np.lib.format.open_memmap(folder / VECTORS, mode="w+", dtype=np.float32, shape=shape)
            vectors[start : start + len(part)] = part
        vectors.flush()

    def open(self, texts: Sequence[str], folder: Path) -> None:
        self._rows = np.load(folder / ROWS)
        self._vectors = np.load(folder / VECTORS, mmap_mode="r")

    def search(self, query: str, k: int) -> list[Hit]:
        scores = np.asarray(self._vectors @ self.embedding.queries([query])[0])
        return best(np.round(scores, DECIMALS)[self._rows], k)
