"""Retrieval metrics of one question: a ranking of found ids against the right ones, up to rank k.

An id is found at its first rank; later mentions are dropped, so that they neither count twice nor take a rank. Every
right id has a gain of 1. Of the first k:

- hit rate (success): 1 if a right id is among them;
- recall: the share of the right ids that are; precision: right ones over k, even where fewer than k were found;
- MRR: 1 over the rank of the first right id (Voorhees 1999), 0 where there is none;
- NDCG (Järvelin and Kekäläinen 2002): the sum over right ranks r of 1 / log2(r + 1), over the same sum of an ideal
  ranking, whose first min(k, right ids) are right.

The numbers are those of trec_eval (success, recall, P, recip_rank of the first k, ndcg_cut).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence


def rank_metrics(found: Sequence[str], right: Collection[str], k: int) -> dict[str, float]:
    """The metrics by name; all are 0 where nothing is right.

    >>> {name: round(value, 4) for name, value in rank_metrics(["a", "x", "a", "b"], {"a", "b"}, 3).items()}
    {'recall': 1.0, 'hit_rate': 1.0, 'precision': 0.6667, 'mrr': 1.0, 'ndcg': 0.9197}

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; the first 1 or more of a ranking can be judged")
    wanted = set(right)
    ranks = [rank for rank, name in enumerate(list(dict.fromkeys(found))[:k], 1) if name in wanted]
    ideal = _gain(range(1, min(k, len(wanted)) + 1))
    return {
        "recall": len(ranks) / len(wanted) if wanted else 0.0,
        "hit_rate": float(bool(ranks)),
        "precision": len(ranks) / k,
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "ndcg": _gain(ranks) / ideal if ideal else 0.0,
    }


def _gain(ranks: Iterable[int]) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank in ranks)
