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
        ValueError: Not 1 <= k <= tries, or not 0 <= right <= tries.

    >>> pass_hat_k(4, 3, 2)
    0.5
    """
    if not (1 <= k <= tries and 0 <= right <= tries):
        raise ValueError(f"k = {k} and {right} right of {tries} tries: expected 1 <= k <= tries and right <= tries")
    return comb(right, k) / comb(tries, k)


def repeats(results: Results) -> pandas.DataFrame:
    """pass@k and pass^k of each system and task, for k = 1, 2, 4, ...; empty with one epoch.

    A try is right from a score of MATCH on. Questions with fewer than k scored tries are left out.
    """
    import pandas

    scored = results.episodes[results.episodes["score"].notna()]
    if scored.empty or not scored["epoch"].max():
        return tidy([], REPEATS)
    tries = scored.assign(right=scored["score"] >= MATCH).groupby([*IDENTITY, "task", "question_id"], observed=True)
    questions = tries.agg(cluster=("cluster", "first"), tries=("right", "size"), right=("right", "sum")).reset_index()
    parts = []
    for k in (2**power for power in range(int(questions["tries"].max()).bit_length())):
        own = questions[questions["tries"] >= k].assign(k=k)
        for chance in (pass_at_k, pass_hat_k):
            own[chance.__name__] = [chance(*row, k) for row in zip(own["tries"], own["right"], strict=True)]
        parts.append(own)
    found = by_task(pandas.concat(parts, ignore_index=True), ["pass_at_k", "pass_hat_k"], further=["k"])
    return tidy(found, REPEATS)
