"""BM25 in Lucene's variant (Kamphuis et al., 2020), as bm25s computes it, by numba where that is installed.

k1 is 1.5 and b 0.75, the library's own defaults. A query's words count as often as they occur in it.
"""

from __future__ import annotations

import functools
import logging
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from r_eval.environments.corpus import words

from .base import Hit, Retriever, best

K1, B, METHOD = 1.5, 0.75, "lucene"
_COMPILED = 2000
"""Chunks from which on compiling the search, which takes a second, is worth it."""

logging.getLogger("bm25s").setLevel(logging.WARNING)  # it logs every step by default


class BM25(Retriever):
    """Finds the chunks that share words with a query; jieba's words for Chinese."""

    def __init__(self) -> None:
        self._index: Any = None
        self._top: Any = None

    def identity(self) -> dict[str, Any]:
        return {"retriever": "bm25", "method": METHOD, "k1": K1, "b": B, "words": words.VERSION}

    @classmethod
    def of(cls, texts: Iterable[str]) -> BM25:
        """A retriever of a few texts, in memory."""
        found = cls()
        found._index = _index(map(words.search_words, texts))
        return found

    def build(self, texts: Sequence[str], folder: Path) -> None:
        self.build_of_words(map(words.search_words, texts), folder)

    def build_of_words(self, chunks: Iterable[list[str]], folder: Path) -> None:
        """Write the index of chunks whose words are known."""
        _index(chunks).save(folder, show_progress=False)

    def open(self, texts: Sequence[str], folder: Path) -> None:
        index = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        if index.scores["num_docs"] != len(texts):
            raise ValueError(f"the index is of {index.scores['num_docs']} chunks, not of {len(texts)}")
        # Slices of a memmap are slow to make; those of a plain array over the same memory are not.
        index.scores = {k: np.asarray(v) if isinstance(v, np.memmap) else v for k, v in index.scores.items()}
        if bm25s.NUMBA_AVAILABLE and len(texts) >= _COMPILED:
            index.activate_numba_scorer()
            self._top = functools.partial(bm25s.selection_jit.topk, sorted=False)
        self._index = index

    def search(self, query: str, k: int) -> list[Hit]:
        return self.search_for_words(words.search_words(query), k)

    def search_for_words(self, query: Sequence[str], k: int) -> list[Hit]:
        """The k best chunks for a query whose words are known."""
        ids = self._index.get_tokens_ids(query)
        if not ids:
            return []
        scores = self._index.get_scores_from_ids(ids)
        return [hit for hit in best(scores, k, self._top) if hit.score > 0]


def _index(chunks: Iterable[list[str]]) -> Any:
    numbers: dict[str, int] = {}
    rows = [array("i", [numbers.setdefault(word, len(numbers)) for word in chunk]) for chunk in chunks]
    if not numbers:  # the library needs a word; no query has this one
        numbers, rows = {"": 0}, [array("i", [0]) for _ in rows]
    index = bm25s.BM25(k1=K1, b=B, method=METHOD)
    index.scores = index.build_index_from_ids(list(numbers.values()), rows, show_progress=False)
    index.vocab_dict = numbers
    return index
