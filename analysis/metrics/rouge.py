"""ROUGE: how many words, pairs of words, or words in the same order two texts have in common.

F-measure of the n-grams in common (ROUGE-1, ROUGE-2) and of the longest common subsequence (ROUGE-L) of Lin 2004, as
Google's rouge-score computes them without a stemmer, whole text against whole text. On ASCII text the numbers are
rouge-score's; elsewhere it would see no words, and `segment` cuts them instead. `rouge_l@ru` and its like compare
Russian stems (`rouge_words`). Two texts without words score 1 if they are the same, where rouge-score says 0.

The subsequence is found by rapidfuzz, bit-parallel, so that a text of 100 kB against another costs no minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from r_eval.analysis.metrics.rouge_words import Cut, cut_for
from r_eval.analysis.metrics.segment import bare
from r_eval.analysis.metrics.word_f1 import f_measure

_CACHED_LENGTH = 4_096


class Rouge:
    """A ROUGE metric; `name` and `in_common` are what tells one from another."""

    name = ""

    def __init__(self, language: str | None = None) -> None:
        self._cut = cut_for(self.name, language)

    def __call__(self, prediction: str, golds: Sequence[str]) -> float:
        """The F-measure, the best over the golds.

        Raises:
            MissingExtra: There is Chinese text, or Russian for stems, and what cuts it is not installed.
        """
        return max((self._pair(prediction, gold) for gold in golds), default=0.0)

    def in_common(self, found: list[str], wanted: list[str]) -> tuple[int, int, int]:
        """What two texts, given as words, have in common, and how much there is in each."""
        raise NotImplementedError

    def _pair(self, prediction: str, gold: str) -> float:
        found, wanted = _words(prediction, self._cut), _words(gold, self._cut)
        if not found or not wanted:
            return float(not found and not wanted and bare(prediction) == bare(gold))
        return f_measure(*self.in_common(found, wanted))


class Rouge1(Rouge):
    """F-measure of the words in common, each as often as both texts have it.

    >>> round(Rouge1()("the cat sat", ["sat the cat down"]), 4)
    0.8571
    """

    name = "rouge_1"
    length = 1

    def in_common(self, found: list[str], wanted: list[str]) -> tuple[int, int, int]:
        """N-grams, counted."""
        ours, theirs = _grams(found, self.length), _grams(wanted, self.length)
        return (ours & theirs).total(), ours.total(), theirs.total()


class Rouge2(Rouge1):
    """F-measure of the pairs of neighbouring words in common; 0 where a text is one word long, as in rouge-score.

    >>> round(Rouge2()("the cat sat", ["sat the cat down"]), 4)
    0.4
    """

    name = "rouge_2"
    length = 2


class RougeL(Rouge):
    """F-measure of the longest common subsequence of words."""

    name = "rouge_l"

    def in_common(self, found: list[str], wanted: list[str]) -> tuple[int, int, int]:
        """The words of the subsequence."""
        from rapidfuzz.distance import LCSseq

        return LCSseq.similarity(found, wanted), len(found), len(wanted)


def rouge_l(prediction: str, golds: Sequence[str]) -> float:
    """F-measure of the longest common subsequence of words, the best over the golds.

    >>> round(rouge_l("the cat sat", ["the cat has sat down"]), 2), rouge_l("北京大学。", ["北京大学"])
    (0.75, 1.0)

    Raises:
        MissingExtra: There is Chinese text, and jieba is not installed.
    """
    return _ROUGE_L(prediction, golds)


_ROUGE_L = RougeL()


def _grams(words: list[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(length)), strict=False))


def _words(text: str, cut: Cut) -> list[str]:
    return cut(text) if len(text) > _CACHED_LENGTH else _cached(text, cut)


@lru_cache(maxsize=8_192)
def _cached(text: str, cut: Cut) -> list[str]:
    return cut(text)
