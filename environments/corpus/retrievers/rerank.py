"""Reranking: all chunks that a sparse or a dense retriever finds are put in order by a model that reads query and text.

Each of the two finds its k best; the model scores the at most 2k chunks, whatever their ranks were. The model is a
cross-encoder of sentence-transformers, or `maxsim`, which needs no weights but those of the embedding model: the mean
over the query's tokens of the largest cosine with a token of the text, from their contextual embeddings (late
interaction, Khattab & Zaharia 2020, of a model that was not trained for it).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.environments.corpus import embedding
from r_eval.errors import UserError
from r_eval.text import clean

from .base import Hit, Retriever
from .dense import Dense
from .hybrid import Hybrid

MAXSIM = "maxsim"
DECIMALS = 5
"""Scores are compared to so many; what is behind them differs with the processor."""


class Reranked(Retriever):
    """The chunks that two retrievers find, in the order of a model that reads them."""

    def __init__(self, first: Hybrid, model: str | None = None) -> None:
        """Find the model; it is loaded when it is first used, once per process.

        Args:
            first: The two retrievers.
            model: A cross-encoder's folder or its name on the Hub; default: `maxsim`, of the dense one's embeddings.

        Raises:
            MissingExtra, UserError: What is needed for it is not installed; there is no such model.
        """
        self.parts = first.parts
        self._first = first
        names = [part.embedding.name for part in first.parts if isinstance(part, Dense)]
        self._scorer = MaxSim(*names) if model in (None, MAXSIM) else cross_encoder(str(model))
        self._texts: Sequence[str] = ()

    def identity(self) -> dict[str, Any]:
        parts = [part.identity() for part in self.parts]
        return {"retriever": "hybrid+rerank", "parts": parts, "reranker": self._scorer.identity, "decimals": DECIMALS}

    def open(self, texts: Sequence[str], folder: Path) -> None:
        self._texts = texts

    def search(self, query: str, k: int) -> list[Hit]:
        chunks = sorted(hit.chunk for hit in self._first.union(query, k))
        if not chunks:
            return []
        once = list(dict.fromkeys(self._texts[chunk] for chunk in chunks))
        score = dict(zip(once, np.round(self._scorer.scores(query, once), DECIMALS).tolist(), strict=True))
        found = [Hit(chunk, score[self._texts[chunk]]) for chunk in chunks]
        return sorted(found, key=lambda hit: -hit.score)[:k]


class MaxSim:
    """Late interaction over the token embeddings of an embedding model."""

    def __init__(self, model: str | None = None) -> None:
        self._embedding = embedding.embedding(model)

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the scores."""
        return {"reranker": MAXSIM, "embedding": self._embedding.identity}

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """One number per text, the larger the better."""
        wanted, *read = self._embedding.tokens([query, *texts])
        return np.array([(wanted @ tokens.T).max(axis=1).mean() for tokens in read])


class CrossEncoder:
    """A model that reads query and text at once; `cross_encoder` returns the one that this process shares."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._folder = embedding.model_folder(name)
        self._lock = threading.Lock()

    @functools.cached_property
    def identity(self) -> dict[str, Any]:
        """What decides the scores."""
        return {"reranker": "cross-encoder", **embedding.model_identity(self._name, self._folder)}

    @functools.cached_property
    def _model(self) -> Any:
        model = embedding.load(self._name, self._folder, "CrossEncoder")
        kinds = model.config.architectures or ["unknown"]
        has_modules = (self._folder / "modules.json").is_file()  # which say themselves how a score comes about
        if not has_modules and not any(str(kind).endswith("ForSequenceClassification") for kind in kinds):
            raise UserError(f"model '{self._name}' is a {kinds[0]}, not a cross-encoder: its scores would be random")
        return model

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """The model's own numbers, before any squashing, which would make large ones equal."""
        from torch.nn import Identity

        pairs = [(clean(query), clean(text)) for text in texts]
        with self._lock:
            raw = self._model.predict(pairs, activation_fn=Identity(), show_progress_bar=False)
        found = np.asarray(raw, dtype=np.float64).reshape(len(texts), -1)
        if found.shape[1] != 1:
            raise UserError(f"model '{self._name}' returns {found.shape[1]} numbers per pair: a reranker returns one")
        return found[:, 0]


cross_encoder = functools.cache(CrossEncoder)
