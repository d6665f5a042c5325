"""BM25 over a few texts in memory, with the words and the settings of the corpus's own retriever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from r_eval.environments.corpus.retrievers.bm25 import K1, B
from r_eval.environments.corpus.words import VERSION, search_words


class Search:
    """Texts that can be searched; a text that shares no word with a query is not found.

    The formula is Lucene's (Kamphuis et al., 2020), without the factor that is the same for all texts.

    Args:
        texts: Those that are searched; counted from 0.

    Raises:
        MissingExtra: There is Chinese in a text, and jieba is not installed.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._numbers: dict[str, int] = {}
        rows = [np.array([self._number(word) for word in search_words(text)], dtype=np.int64) for text in texts]
        counts = np.zeros((len(rows), len(self._numbers)))
        for place, row in enumerate(rows):
            np.add.at(counts[place], row, 1)
        lengths = counts.sum(axis=1, keepdims=True)
        mean = lengths.mean() if lengths.any() else 1.0
        holders = (counts > 0).sum(axis=0)
        rarity = np.log(1 + (len(rows) - holders + 0.5) / (holders + 0.5))
        self._scores = rarity * counts / (counts + K1 * (1 - B + B * lengths / mean))

    def _number(self, word: str) -> int:
        return self._numbers.setdefault(word, len(self._numbers))

    @staticmethod
    def identity() -> str:
        """What decides the order of what is found."""
        return f"bm25-{K1}-{B}-{VERSION}"

    def best(self, query: str, number: int) -> list[int]:
        """The places of the texts that fit a query, the best first; of equal ones the earlier first."""
        known = [self._numbers[word] for word in search_words(query) if word in self._numbers]
        scores = self._scores[:, known].sum(axis=1)
        order = np.argsort(-scores, kind="stable")[:number]
        return [int(place) for place in order if scores[place] > 0]
