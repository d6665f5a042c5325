"""Epochs: what several tries at the same question say.

pass@k is the chance that at least one of k tries is right (Chen et al. 2021, "Evaluating Large Language Models
Trained on Code"); pass^k that all k are (Yao et al. 2024, tau-bench). Both by the unbiased estimator, over all
choices of k among a question's tries.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from r_eval.analysis.estimates import by_task, ends
from r_eval.analysis.frame import NUMBER, TEXT, WHOLE
from r_eval.analysis.results import IDENTITY, tidy
from r_eval.analysis.statistics import MATCH

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

REPEATS = {
    **dict.fromkeys((*IDENTITY, "task"), TEXT),
    **dict.fromkeys(("k", "questions"), WHOLE),
    **dict.fromkeys(ends("pass_at_k", "pass_hat_k"), NUMBER),
}


def pass_at_k(tries: int, right: int, k: int) -> float:
    """The chance that of k among these tries at least one is right; raises as `pass_hat_k`.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    return 1 - pass_hat_k(tries, tries - right, k)


def pass_hat_k(tries: int, right: int, k: int) -> float:
    """The chance that of k among these tries all are right.

    Raises:
        ValueError: k is below 1 or above the tries, or more tries are right than there are.

    >>> pass_hat_k(4, 3, 2)
    0.5
    """
    if not 1 <= k <= tries:
        raise ValueError(f"k is {k}; expected 1 to {tries}, the number of tries")
    if not 0 <= right <= tries:
        raise ValueError(f"{right} of {tries} tries cannot be right")
    return comb(right, k) / comb(tries, k)


def repeats(results: Results) -> pandas.DataFrame:
    """pass@k and pass^k of each system and task, for k = 1, 2, 4, ... and all epochs; empty with one epoch.

    A try is right from a score of MATCH on. Questions with fewer than k scored tries are left out.
    """
    import pandas

    scored = results.episodes[results.episodes["score"].notna()]
    if scored.empty or not scored["epoch"].max():
        return tidy([], REPEATS)
    keys = [*IDENTITY, "task", "question_id"]
    tries = scored.assign(right=scored["score"] >= MATCH).groupby(keys, observed=True)
    questions = tries.agg(cluster=("cluster", "first"), tries=("right", "size"), right=("right", "sum")).reset_index()
    parts = []
    most = int(questions["tries"].max())
    for k in [*(2**power for power in range((most - 1).bit_length())), most]:
        own = questions[questions["tries"] >= k]
        counts = list(zip(own["tries"], own["right"], strict=True))
        chances = {one.__name__: [one(n, right, k) for n, right in counts] for one in (pass_at_k, pass_hat_k)}
        parts.append(own.assign(k=k, **chances))
    found = by_task(pandas.concat(parts, ignore_index=True), list(chances), further=["k"])
    return tidy(found, REPEATS)
