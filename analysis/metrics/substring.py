"""Substring match: whether a text holds another, word for word.

Two directions are in use, and they say different things:

- `substring_match`: a gold stands in the answer, as whole words in a row, after the normalisation of `normalise`. An
  empty answer is 0, and so is an empty gold, unless both are empty.
- `substring_match_published`: the answer stands in the gold, character for character, as the library of DRAGON computes
  it. So an empty answer scores 1, and a right answer in a sentence scores 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.metrics.normalise import tokens


def substring_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 or 0.0.

    >>> substring_match("It was founded in Paris.", ["paris"]), substring_match("comparison", ["paris"])
    (1.0, 0.0)
    """
    found = _row(prediction)
    return float(any(_holds(found, _row(gold)) for gold in golds))


def substring_match_published(prediction: str, golds: Sequence[str]) -> float:
    """1.0 or 0.0; the other way round, as published.

    >>> substring_match_published("", ["Paris"]), substring_match_published("in Paris", ["Paris"])
    (1.0, 0.0)
    """
    return float(any(prediction in gold for gold in golds))


def _row(text: str) -> str:
    """The words of a text, each between two spaces; no word has a space in it."""
    return f" {' '.join(tokens(text))} "


def _holds(found: str, wanted: str) -> bool:
    return wanted in found if wanted.strip() else found == wanted
