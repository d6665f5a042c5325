"""F1 of the words of two texts, as multisets: how RAGQuestEval compares two answers to one question.

Words are those of `segment`: NFKC, lower case, no punctuation, Chinese cut by jieba. Unlike `f1.token_f1` it reads no
lists and no verdicts, keeps articles, and never looks at characters. `published_crud` has the published form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from r_eval.analysis.metrics.segment import bare, segments


def word_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of words, the best over the golds; two texts without words score 1 if they are the same.

    >>> word_f1("173 家。", ["１７３家"]), word_f1("in Berlin", ["Berlin"])
    (1.0, 0.6666666666666666)

    Raises:
        MissingExtra: There is Chinese text, and jieba is not installed.
    """
    return max((_pair(prediction, gold) for gold in golds), default=0.0)


def overlap(found: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of two multisets; 1 where both are empty, 0 where one is."""
    if not found or not wanted:
        return float(not found and not wanted)
    common = sum((Counter(found) & Counter(wanted)).values())
    return f_measure(common, len(found), len(wanted))


def f_measure(common: int, found: int, wanted: int) -> float:
    """The harmonic mean of precision and recall, from what two texts have in common and how much there is in each."""
    if not common:
        return 0.0
    precision, recall = common / found, common / wanted
    return 2 * precision * recall / (precision + recall)


def _pair(prediction: str, gold: str) -> float:
    found, wanted = segments(prediction), segments(gold)
    if not found and not wanted:
        return float(bare(prediction) == bare(gold))
    return overlap(found, wanted)
