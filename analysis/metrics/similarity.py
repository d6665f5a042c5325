"""Embedding similarity: the cosine of two texts' sentence embeddings.

What CRUD-RAG's code calls bertScore: one vector a text, by a model for Chinese (text2vec-base-chinese). Which model
it is decides the figures, so name it beside them. The default is the embedded one, which is English: of Chinese it
knows few characters. Texts are cut where the model ends. Negative cosines are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from r_eval.embedding import Embedding


class EmbeddingSimilarity:
    """Cosine of whole texts' embeddings, the best over the golds."""

    def __init__(self, model: str | None = None) -> None:
        """Keep the model's name; it is loaded when it is first used.

        Args:
            model: A model of sentence-transformers: a folder, or a name on the Hub. Default: the embedded one.
        """
        self._name = model
        self._model: Embedding | None = None

    def __call__(self, prediction: str, golds: Sequence[str]) -> float:
        """The score of one answer."""
        return self.batch([prediction], [golds])[0]

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers; each text is encoded once.

        Raises:
            MissingExtra, UserError: sentence-transformers is not installed; there is no such model.
        """
        ours = [prediction.strip() for prediction in predictions]
        theirs = [[gold.strip() for gold in right] for right in golds]
        pairs = [(one, two) for one, right in zip(ours, theirs, strict=True) for two in right if one and two]
        known = self._cosines({pair for pair in pairs if pair[0] != pair[1]})
        return [
            max((1.0 if one == two else known.get((one, two), 0.0) for two in right), default=0.0)
            for one, right in zip(ours, theirs, strict=True)
        ]

    def _cosines(self, pairs: set[tuple[str, str]]) -> dict[tuple[str, str], float]:
        if not pairs:
            return {}
        if self._model is None:
            from r_eval.embedding import embedding

            self._model = embedding(self._name)
        texts = sorted({text for pair in pairs for text in pair})
        row = {text: row for row, text in enumerate(texts)}
        vectors = self._model.texts(texts)
        return {(one, two): min(1.0, max(0.0, float(vectors[row[one]] @ vectors[row[two]]))) for one, two in pairs}
