"""BLEU, ROUGE-L and the F1 of words as the published CRUD-RAG code computes them, for comparison with its figures.

Words are what `jieba.cut` gives by default: case, punctuation and spaces are kept, and a space is a word. What is known
to be odd and kept:

- BLEU has no smoothing, so that a text of fewer than four words, or without a common run of four, scores 0 even against
  itself. Its brevity penalty is divided out again, so that a short text costs nothing.
- Only the first gold counts.

Where the published code raises an error, for an empty text or a penalty that is 0 in floating point, and drops the
sample in silence, an empty text scores 0 here and the other its precisions. `bleu`, `rouge_l` and `word_f1` are the
repaired forms.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from r_eval.analysis.metrics.segment import jieba_words
from r_eval.analysis.metrics.word_f1 import f_measure, overlap

ORDERS = 4
_LONGEST_RUN = 1_000
"""Characters that jieba is given at once without punctuation between them; no real text has as many."""

_PIECE = re.compile(rf"[\w+#&.%-]{{1,{_LONGEST_RUN}}}|[^\w+#&.%-]+")


def bleu_published(prediction: str, golds: Sequence[str]) -> float:
    """BLEU of up to four words without its brevity penalty, against the first gold.

    >>> bleu_published("国家图书馆昨天宣布", ["国家图书馆昨天宣布"]), bleu_published("the cat", ["the cat"])
    (0.0, 0.0)

    Raises:
        MissingExtra: jieba is not installed.
    """
    found, wanted = _pair(prediction, golds)
    if len(found) < ORDERS:
        return 0.0
    total = 0.0
    for order in range(1, ORDERS + 1):
        common = sum((_runs(found, order) & _runs(wanted, order)).values())
        if not common:
            return 0.0
        total += math.log(common / (len(found) - order + 1))
    return math.exp(total / ORDERS)


def rouge_l_published(prediction: str, golds: Sequence[str]) -> float:
    """F-measure of the longest common subsequence of words, against the first gold.

    Raises:
        MissingExtra: jieba is not installed.
    """
    from rapidfuzz.distance import LCSseq

    found, wanted = _pair(prediction, golds)
    common = LCSseq.similarity(found, wanted)
    return f_measure(common, len(found), len(wanted))


def word_f1_published(prediction: str, golds: Sequence[str]) -> float:
    """F1 of words, against the first gold: how the published RAGQuestEval compares answers. Two empty texts score 1.

    >>> word_f1_published("9 个", ["9个"])
    0.8

    Raises:
        MissingExtra: jieba is not installed.
    """
    found, wanted = _pair(prediction, golds)
    return overlap(found, wanted)


def _pair(prediction: str, golds: Sequence[str]) -> tuple[list[str], list[str]]:
    return _words(prediction), _words(golds[0] if golds else "")


@lru_cache(maxsize=1_024)
def _words(text: str) -> list[str]:
    return [word for piece in _PIECE.findall(text) for word in jieba_words(piece)]


def _runs(words: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))
