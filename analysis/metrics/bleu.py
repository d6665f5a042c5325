"""BLEU of one sentence: sacrebleu's, whose signature says how it was computed.

Papineni et al. 2002 as sacrebleu has it (Post 2018), for each gold by itself, the best one counting. Settings: 13a
tokens, case kept, exponential smoothing, effective order (orders that a short text cannot have are left out), brevity
penalty. Before that the text is put in NFKC, and words of scripts without spaces are set apart (`segment`; Chinese ones
are jieba's); on ASCII text the numbers are sacrebleu's own defaults for a sentence. Two texts that differ in nothing
but stops at their ends score 1.

BLEU is a measure of a corpus; the mean over questions is not corpus BLEU, and CRUD-RAG's figures are neither
(`published_crud.bleu_published`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from r_eval.analysis.metrics.segment import bare, spaced
from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_CACHED_LENGTH = 4_096


def bleu(prediction: str, golds: Sequence[str]) -> float:
    """Sentence BLEU from 0 to 1, the best over the golds.

    >>> bleu("the cat sat on the mat.", ["the cat sat on the mat"]), round(bleu("a cat sat", ["the cat sat"]), 2)
    (1.0, 0.55)

    Raises:
        MissingExtra: sacrebleu is not installed; or there is Chinese text, and jieba is not.
    """
    if not golds:
        return 0.0
    found = prepared(prediction)
    return max(_pair(found, prepared(gold)) for gold in golds)


def _pair(found: str, gold: str) -> float:
    scorer = _scorer()
    if not found or not gold:
        return float(found == gold)
    if found == gold or bare(found) == bare(gold):
        return 1.0
    return min(1.0, float(scorer.sentence_score(found, [gold]).score) / 100)


def prepared(text: str) -> str:
    """The text as sacrebleu is given it."""
    return _cached(text) if len(text) <= _CACHED_LENGTH else _prepared(text)


def _prepared(text: str) -> str:
    return spaced(unicodedata.normalize("NFKC", text).strip())


_cached = lru_cache(maxsize=8_192)(_prepared)


@cache
def _scorer() -> BLEU:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise MissingExtra("sacrebleu", "metrics", "bleu") from None
    return BLEU(tokenize="13a", smooth_method="exp", effective_order=True, lowercase=False)
