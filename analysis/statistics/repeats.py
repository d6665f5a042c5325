"""Epochs: what several tries at the same question say.

pass@k is the chance that at least one of k tries is right (Chen et al. 2021, "Evaluating Large Language Models
Trained on Code"); pass^k that all k are (Yao et al. 2024, tau-bench). Both by the unbiased estimator, over all
choices of k among a question's tries. They are means over questions, so `Repeats` has their intervals too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

from r_eval.analysis.estimate import Estimate, of_questions
from r_eval.analysis.statistics.paired import MATCH


def pass_at_k(tries: int, right: int, k: int) -> float:
    """The chance that of k among these tries at least one is right.

    Raises:
        ValueError: k is below 1 or above the tries.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    _check(tries, right, k)
    return 1 - comb(tries - right, k) / comb(tries, k)


def pass_hat_k(tries: int, right: int, k: int) -> float:
    """The chance that of k among these tries all are right.

    Raises:
        ValueError: k is below 1 or above the tries.

    >>> pass_hat_k(4, 3, 2)
    0.5
    """
    _check(tries, right, k)
    return comb(right, k) / comb(tries, k)


@dataclass(frozen=True, slots=True)
class Repeats:
    """What the epochs of a cell say.

    Attributes:
        k: Tries.
        questions: Questions with at least k scored tries.
        short: Questions with fewer, which are left out.
        pass_at: The chance that at least one of k tries is right, with its interval.
        pass_hat: The chance that all k are.
    """

    k: int
    questions: int
    short: int
    pass_at: Estimate
    pass_hat: Estimate


def repeats(
    questions: Sequence[str],
    scores: Sequence[float],
    k: int,
    clusters: Mapping[str, str] | None = None,
) -> Repeats:
    """pass@k and pass^k of a cell.

    Args:
        questions, scores: Of each episode; a score that is NaN is no try, and from MATCH on a try is right.

    Raises:
        ValueError: k is below 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; expected at least 1")
    tries: dict[str, list[bool]] = {}
    for question, score in zip(questions, scores, strict=True):
        found = tries.setdefault(question, [])
        if score == score:  # not NaN
            found.append(score >= MATCH)
    whole = {question: found for question, found in tries.items() if len(found) >= k}
    names = list(whole)
    any_right, all_right = (
        of_questions(names, [chance(len(f), sum(f), k) for f in whole.values()], len(names), clusters)
        for chance in (pass_at_k, pass_hat_k)
    )
    return Repeats(k, len(whole), len(tries) - len(whole), any_right, all_right)


def _check(tries: int, right: int, k: int) -> None:
    if not 1 <= k <= tries:
        raise ValueError(f"k is {k}; expected 1 to {tries}, the number of tries")
    if not 0 <= right <= tries:
        raise ValueError(f"{right} of {tries} tries cannot be right")
