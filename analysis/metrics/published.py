"""The F1 of the published R-Eval code, quirk for quirk, for comparison with its figures.

It is HotpotQA's answer F1 as carried into R-Eval's `agent_arch.py` (`normalize_answer`, `f1_score`). What is
known to be odd and kept: only the first gold counts; punctuation is deleted without a space, so "A;B" is
the one token "ab", "1.5" is "15" and "-5" is "5"; only ASCII punctuation is seen; two empty answers score
0; "a" and "the" are empty; "yes, they were" does not match "yes". `f1.token_f1` is the repaired form.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from r_eval.analysis.metrics.word_f1 import f_measure

_DELETE = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalise_published(text: str) -> str:
    """Lower case, ASCII punctuation deleted, then articles made a space, then white space collapsed."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DELETE)).split())


def token_f1_published(prediction: str, golds: Sequence[str]) -> float:
    """Token F1 against the first gold, exactly as the published code computes it."""
    found, gold = normalise_published(prediction), normalise_published(golds[0] if golds else "")
    if found != gold and (found in _CLOSED or gold in _CLOSED):
        return 0.0
    found_tokens, gold_tokens = found.split(), gold.split()
    common = sum((Counter(found_tokens) & Counter(gold_tokens)).values())
    return f_measure(common, len(found_tokens), len(gold_tokens))
