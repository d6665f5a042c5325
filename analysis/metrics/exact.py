"""Exact match: whether an answer says a gold answer and nothing else.

Equal after the normalisation of `normalise`, against any gold. Values joined by ";" are a set: the answer
may give them in any order and in any list form, but each must be equal to one of them. Unlike in token F1,
an explanation ("yes, they were") is not a match.
"""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.metrics.f1 import read, same_letters
from r_eval.analysis.metrics.literals import gold_values, list_values, split
from r_eval.analysis.metrics.normalise import Tokens, tokens


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 or 0.0.

    >>> exact_match("The Nile.", ["nile"]), exact_match('["b", "a"]', ["A;B"]), exact_match("A", ["A;B"])
    (1.0, 1.0, 0.0)
    """
    return float(any(_equal(prediction, gold) for gold in golds))


def _equal(prediction: str, gold: str) -> bool:
    found, wanted = read(prediction), read(gold)
    if found.tokens == wanted.tokens or same_letters(found.tokens, wanted.tokens):
        return True
    values = gold_values(gold)
    return len(values) > 1 and _bag(values) == _bag(_answered(prediction))


def _answered(prediction: str) -> list[str]:
    return list_values(prediction) or split(prediction, ";" if ";" in prediction else ",")


def _bag(values: list[str]) -> list[Tokens]:
    return sorted(tokens(value) for value in values)
