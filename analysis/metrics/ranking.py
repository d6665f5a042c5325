"""Retrieval metrics of one question: a ranking of found ids against the right ones, up to rank k.

An id is found at its first rank; later mentions are dropped, so that they neither count twice nor take a rank. Every
right id has a gain of 1. Of the first k:

- hit rate (success): 1 if a right id is among them;
- recall: the share of the right ids that are; precision: right ones over k, even where fewer than k were found;
- MRR: 1 over the rank of the first right id (Voorhees 1999), 0 where there is none;
- NDCG (Järvelin and Kekäläinen 2002): the sum over right ranks r of 1 / log2(r + 1), over the same sum of an ideal
  ranking, whose first min(k, right ids) are right.

All are 0 where nothing is right. The numbers are those of trec_eval (success, recall, P, recip_rank of the first k,
ndcg_cut).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

Ranking = Callable[[Sequence[str], Collection[str], int], float]


def hit_rate(found: Sequence[str], right: Collection[str], k: int) -> float:
    """Hit@k.

    >>> hit_rate(["x", "a"], {"a"}, 1), hit_rate(["x", "a"], {"a"}, 2)
    (0.0, 1.0)
    """
    return float(any(_gains(found, right, k)))


def recall(found: Sequence[str], right: Collection[str], k: int) -> float:
    """Recall@k.

    >>> recall(["a", "a", "b"], {"a", "b"}, 2)
    1.0
    """
    return sum(_gains(found, right, k)) / len(set(right)) if right else 0.0


def precision(found: Sequence[str], right: Collection[str], k: int) -> float:
    """Precision@k.

    >>> precision(["a", "a", "x"], {"a", "b"}, 4)
    0.25
    """
    return sum(_gains(found, right, k)) / k


def mrr(found: Sequence[str], right: Collection[str], k: int) -> float:
    """1 over the rank of the first right id, if it is k at most.

    >>> mrr(["x", "x", "a"], {"a"}, 5)
    0.5
    """
    return next((1 / rank for rank, gain in enumerate(_gains(found, right, k), 1) if gain), 0.0)


def ndcg(found: Sequence[str], right: Collection[str], k: int) -> float:
    """NDCG@k.

    >>> round(ndcg(["a", "x", "b"], {"a", "b"}, 3), 4), ndcg(["a", "a", "b"], {"a", "b"}, 3)
    (0.9197, 1.0)
    """
    gain = math.fsum(1 / math.log2(rank + 1) for rank, good in enumerate(_gains(found, right, k), 1) if good)
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(set(right))) + 1))
    return gain / ideal if ideal else 0.0


RANKING: dict[str, Ranking] = {
    "hit_rate": hit_rate,
    "recall": recall,
    "precision": precision,
    "mrr": mrr,
    "ndcg": ndcg,
}
"""By name."""


def _gains(found: Sequence[str], right: Collection[str], k: int) -> list[bool]:
    """Whether each of the first k different ids is right.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; the first 1 or more of a ranking can be judged")
    wanted = right if isinstance(right, set | frozenset | dict) else set(right)
    return [name in wanted for name in list(dict.fromkeys(found))[:k]]
