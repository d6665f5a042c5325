"""How well an answer that is a list says a gold list.

A gold's elements are those of a list written as text, or what ";" joins. The answer is read in the same way; against a
gold of several elements it may also set its own apart by lines or by commas, and the best reading counts. An answer
that is the gold text itself scores 1, whatever is in it. Two empty lists score 1.

- `list_f1` pairs the elements one to one so that the sum of their token F1 is greatest (the assignment problem, Kuhn
  1955; scipy solves it), in whatever order they stand. Precision is that sum over the answer's elements, recall over
  the gold's. An element said twice finds its pair once.
- `set_f1` counts elements that are equal after the normalisation of `normalise`; one said twice counts once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from r_eval.analysis.metrics.f1 import Reading, pair_f1, read
from r_eval.analysis.metrics.literals import gold_values, list_values, split
from r_eval.analysis.metrics.segment import bare

_PAIRS = 40_000
"""Pairs of elements up to which the best assignment is sought among all; in longer lists equal elements are paired
first."""
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")


def list_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of elements paired one to one by token F1, the best over the golds.

    >>> list_f1("['B', 'A']", ["A;B"]), list_f1("John Smith, Ann", ["Ann;Smith"])
    (1.0, 0.8333333333333333)
    """
    return _best(prediction, golds, _list_pair)


def set_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of the sets of elements, the best over the golds.

    >>> set_f1("B, A", ["A;B"]), set_f1("A;A;C", ["A;B"])
    (1.0, 0.5)
    """
    return _best(prediction, golds, _set_pair)


def _best(prediction: str, golds: Sequence[str], pair: Callable[[list[str], list[str]], float]) -> float:
    best = 0.0
    stripped = bare(prediction)
    for gold in golds:
        if stripped == bare(gold):
            return 1.0
        wanted = _elements(gold)
        for found in _readings(prediction, stripped, len(wanted) > 1):
            best = max(best, pair(found, wanted))
            if best == 1.0:
                return 1.0
    return best


def _elements(text: str) -> list[str]:
    return gold_values(text) or ([text] if text.strip() and list_values(text) is None else [])


def _readings(text: str, stripped: str, several: bool) -> list[list[str]]:
    """The ways to read an answer as a list."""
    whole = _elements(stripped if list_values(stripped) is not None else text)
    if len(whole) > 1 or not several:
        return [whole]
    lines = [_BULLET.sub("", line) for line in split(stripped, "\n")]
    return [lines, split(stripped, ",")] if len(lines) > 1 else [whole, split(re.sub("[，、]", ",", stripped), ",")]


def _list_pair(found: list[str], gold: list[str]) -> float:
    if not found or not gold:
        return float(not found and not gold)
    total, ours, theirs = 0.0, [read(value) for value in found], [read(value) for value in gold]
    if len(ours) * len(theirs) > _PAIRS:
        total, ours, theirs = _equal_first(ours, theirs)
    return 2 * (total + _assigned(ours, theirs)) / (len(found) + len(gold))


def _equal_first(ours: list[Reading], theirs: list[Reading]) -> tuple[float, list[Reading], list[Reading]]:
    """Pairs of equal elements, and the first of those that are left over."""
    both = Counter(r.tokens for r in ours) & Counter(r.tokens for r in theirs)
    side = int(_PAIRS**0.5)
    return float(both.total()), _without(ours, both)[:side], _without(theirs, both)[:side]


def _without(readings: list[Reading], taken: Counter[tuple[str, ...]]) -> list[Reading]:
    rest = taken.copy()
    left = []
    for reading in readings:
        if rest[reading.tokens] > 0:
            rest[reading.tokens] -= 1
        else:
            left.append(reading)
    return left


def _assigned(ours: list[Reading], theirs: list[Reading]) -> float:
    """The greatest sum of token F1 over pairs, each element in one pair at most."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    if not ours or not theirs:
        return 0.0
    scores = np.array([[pair_f1(one, two) for two in theirs] for one in ours])
    rows, columns = linear_sum_assignment(scores, maximize=True)
    return float(scores[rows, columns].sum())


def _set_pair(found: list[str], gold: list[str]) -> float:
    ours, theirs = ({read(value).tokens for value in values} for values in (found, gold))
    if not ours or not theirs:
        return float(not ours and not theirs)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))
