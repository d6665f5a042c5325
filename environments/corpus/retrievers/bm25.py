"""BM25 in Lucene's variant (Kamphuis et al., 2020), as bm25s computes it.

k1 is 1.5 and b 0.75, the library's own defaults. A query's words count as often as they stand in it. The scores of
every word in every chunk are computed when the index is built, so that a search only adds them up.
"""

from __future__ import annotations

import functools
import logging
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from r_eval.environments.corpus import words
from r_eval.errors import MissingExtra

from .base import Hit, Indexed, best

if TYPE_CHECKING:
    import bm25s

K1, B, METHOD = 1.5, 0.75, "lucene"
_NO_WORDS = "no-words"
"""A file that stands for the index of chunks that have no word at all."""


class BM25(Indexed):
    """Finds the chunks that share words with a query; jieba's words for Chinese."""

    def __init__(self) -> None:
        _library()
        self._index: bm25s.BM25 | None = None

    def identity(self) -> dict[str, Any]:
        return {"retriever": "bm25", "method": METHOD, "k1": K1, "b": B, "words": words.VERSION}

    def build(self, texts: Sequence[str], folder: Path) -> None:
        self.build_of_words(map(words.search_words, texts), folder)

    def build_of_words(self, chunks: Iterable[list[str]], folder: Path) -> None:
        """Write the index of chunks whose words are known."""
        numbers: dict[str, int] = {}
        rows = [array("i", [numbers.setdefault(word, len(numbers)) for word in chunk]) for chunk in chunks]
        if not numbers:
            (folder / _NO_WORDS).touch()
            return
        index = _library().BM25(k1=K1, b=B, method=METHOD)
        index.scores = index.build_index_from_ids(list(numbers.values()), rows, show_progress=False)
        index.vocab_dict = numbers
        index.save(folder, show_progress=False)

    def open(self, texts: Sequence[str], folder: Path) -> None:
        if (folder / _NO_WORDS).exists():
            return
        index = _library().BM25.load(folder, mmap=True, show_progress=False)
        # Slices of a memmap are slow to make; those of a plain array over the same memory are not.
        index.scores = {k: np.asarray(v) if isinstance(v, np.memmap) else v for k, v in index.scores.items()}
        if index.scores["num_docs"] != len(texts):
            raise ValueError(f"the index is of {index.scores['num_docs']} chunks, not of {len(texts)}")
        self._index = index

    def search(self, query: str, k: int) -> list[Hit]:
        return self.search_for_words(words.search_words(query), k)

    def search_for_words(self, query: Sequence[str], k: int) -> list[Hit]:
        """The k best chunks for a query whose words are known."""
        found = self._index.get_tokens_ids(query) if self._index else []
        if self._index is None or not found:
            return []
        return [hit for hit in best(self._index.get_scores_from_ids(found), k) if hit.score > 0]


@functools.cache
def _library() -> Any:
    """bm25s, which logs what it does unless told not to."""
    try:
        import bm25s
    except ImportError:
        raise MissingExtra("bm25s", "retrieval", "the retriever bm25") from None
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s
