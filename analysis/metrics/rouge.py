"""ROUGE-L: how long a common subsequence of words two texts have.

F-measure of the longest common subsequence (Lin 2004), as Google's rouge-score computes it without a stemmer, whole
text against whole text. On ASCII text the numbers are rouge-score's; elsewhere it would see no words, and `segment`
cuts them instead. Two texts without words score 1 if they are the same, where rouge-score says 0.

The subsequence is found by rapidfuzz, bit-parallel, so that a text of 100 kB against another costs no minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from r_eval.analysis.metrics.segment import bare, segments

_CACHED_LENGTH = 4_096


def rouge_l(prediction: str, golds: Sequence[str]) -> float:
    """F-measure of the longest common subsequence of words, the best over the golds.

    >>> round(rouge_l("the cat sat", ["the cat has sat down"]), 2), rouge_l("北京大学。", ["北京大学"])
    (0.75, 1.0)

    Raises:
        MissingExtra: There is Chinese text, and jieba is not installed.
    """
    return max((_pair(prediction, gold) for gold in golds), default=0.0)


def _pair(prediction: str, gold: str) -> float:
    from rapidfuzz.distance import LCSseq

    found, wanted = _words(prediction), _words(gold)
    if not found or not wanted:
        return float(not found and not wanted and bare(prediction) == bare(gold))
    common = LCSseq.similarity(found, wanted)
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def _words(text: str) -> list[str]:
    return segments(text) if len(text) > _CACHED_LENGTH else _cached(text)


_cached = lru_cache(maxsize=8_192)(segments)
