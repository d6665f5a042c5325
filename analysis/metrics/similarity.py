"""Embedding similarity: the cosine of two texts' sentence embeddings.

What CRUD-RAG's code calls bertScore: one vector a text, by a model for Chinese (text2vec-base-chinese). Which model
it is decides the figures, so name it beside them. The default is the embedded one, which is English: of Chinese it
knows few characters. Texts are cut where the model ends. Negative cosines are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from r_eval.analysis.metrics.pairwise import Pair, Pairwise

if TYPE_CHECKING:
    from r_eval.environments.corpus.embedding import Embedding


class EmbeddingSimilarity(Pairwise):
    """Cosine of whole texts' embeddings, the best over the golds."""

    def __init__(self, model: str | None = None) -> None:
        """Keep the model's name; it is loaded when it is first used.

        Args:
            model: A model of sentence-transformers: a folder, or a name on the Hub. Default: the embedded one.
        """
        self._name = model
        self._model: Embedding | None = None

    def compared(self, text: str) -> str:
        return text.strip()

    def pairs(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        if self._model is None:
            from r_eval.environments.corpus.embedding import embedding

            self._model = embedding(self._name)
        texts = sorted({text for pair in pairs for text in pair})
        row = {text: row for row, text in enumerate(texts)}
        vectors = self._model.texts(texts)
        return {(one, two): min(1.0, max(0.0, float(vectors[row[one]] @ vectors[row[two]]))) for one, two in pairs}
