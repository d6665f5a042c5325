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
from r_eval.analysis.results import IDENTITY, Results, tidy
from r_eval.analysis.statistics import MATCH

if TYPE_CHECKING:
    import pandas

REPEATS = {
    **dict.fromkeys((*IDENTITY, "task"), TEXT),
    **dict.fromkeys(("k", "questions"), WHOLE),
    **dict.fromkeys(ends("pass_at_k", "pass_hat_k"), NUMBER),
}


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
        own = questions[questions["tries"] >= k]
        counts = list(zip(own["tries"], own["right"], strict=True))
        at_least_one = [1 - comb(n - right, k) / comb(n, k) for n, right in counts]
        parts.append(own.assign(k=k, pass_at_k=at_least_one, pass_hat_k=[comb(r, k) / comb(n, k) for n, r in counts]))
    found = by_task(pandas.concat(parts, ignore_index=True), ["pass_at_k", "pass_hat_k"], further=["k"])
    return tidy(found, REPEATS)
