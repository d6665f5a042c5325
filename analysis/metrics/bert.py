"""BERTScore: how alike the contextual embeddings of two texts' tokens are.

F1 of the greedy matching of token embeddings by cosine (Zhang et al. 2020), by the bert-score package, without idf
weights and without rescaling, so that the figures are those of its defaults. They are high for any two texts (0.8 and
more with RoBERTa): compare systems by them, never a system with a threshold. Negative ones are 0.

The model is a folder on this machine that transformers can read: behind the name (`bert_score@./roberta-large`), or in
R_EVAL_BERT_MODEL. Nothing is fetched. The layer is the one that the package gives for a model of the folder's
name, else the last.

Of CRUD-RAG's figures, "bertScore" is none of these: it is a cosine of whole sentences.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from r_eval.analysis.metrics.pairwise import Pair, Pairwise
from r_eval.analysis.metrics.segment import bare
from r_eval.errors import MissingExtra, UserError

VARIABLE = "R_EVAL_BERT_MODEL"
_UNSTATED = 1_000_000
"""transformers gives a tokenizer of no stated length one beyond this."""


class BertScore(Pairwise):
    """F1 of token embeddings matched by cosine (BERTScore), the best over the golds; needs a model's folder."""

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._scorer: Any = None

    def compared(self, text: str) -> str:
        return bare(text)

    def pairs(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        *_, scores = self._model().score([one for one, _ in pairs], [two for _, two in pairs])
        return {pair: min(1.0, max(0.0, float(score))) for pair, score in zip(pairs, scores, strict=True)}

    def _model(self) -> Any:
        if self._scorer is None:
            self._scorer = _load(self._folder or os.environ.get(VARIABLE, ""))
        return self._scorer


def _load(folder: str) -> Any:
    path = Path(folder)
    if not folder:
        raise UserError(f"bert_score needs a model's folder: name it bert_score@FOLDER, or set {VARIABLE}")
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"bert_score: {folder} is no folder of a model (config.json: {error})") from None
    try:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
    except ImportError as error:
        raise MissingExtra(error.name or "bert-score", "bert", "bert_score") from None
    try:
        scorer = BERTScorer(model_type=str(path), num_layers=_layer(path, config, model2layers))
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"bert_score: the model in {folder} cannot be loaded: {error}") from None
    _limit(scorer, config)
    return scorer


def _limit(scorer: Any, config: dict[str, Any]) -> None:
    """Have long texts cut where the model ends, if the tokenizer's files do not say where that is."""
    tokenizer = scorer._tokenizer
    if tokenizer.model_max_length > _UNSTATED:
        tokenizer.model_max_length = config.get("max_position_embeddings", 512) - 2  # RoBERTa counts from 2


def _layer(path: Path, config: dict[str, Any], known: dict[str, int]) -> int:
    """Which layer's embeddings are compared."""
    name = path.resolve().name
    owned = next((full for full in known if full.rpartition("/")[2] == name), name)
    last = config.get("num_hidden_layers") or config.get("n_layers") or config.get("n_layer")
    if not (layer := known.get(owned, last)):
        raise UserError(f"bert_score: {path / 'config.json'} does not say how many layers the model has")
    return int(layer)
