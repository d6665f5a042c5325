"""What an episode's searches found against what a retriever should have found.

What is relevant is known in one of two ways:

- By ids: the question's meta names the relevant documents (`text_ids`), and the calls that went through name the
  passages that they found (`retrieved_ids`). A passage's id is its document's id, "#" and the number of the chunk; it
  is cut at the last "#" where a number follows. The ranking of an episode is its calls in the order made, each with the
  best first; a document has the first rank at which any of its passages was found. The metrics (`rank_metrics`) are
  of the whole list (k = the number of different documents found, and at least 1) and at fixed k, FIXED: how many
  documents a system looks up is its own choice, so only a fixed k compares systems.
- By texts: the question names its `evidence`. Recall is the share of these texts that the observations hold, the hit
  rate says whether they hold any. They have no ranks, so nothing else is known.

Ids come first where both are there. A system that could search and did not is at 0. Nothing is known where the question
names neither, and where calls returned something and none of them named an id: that environment has no ids.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from r_eval.errors import UserError
from r_eval.records import Question, Step

METRICS = ("recall", "hit_rate", "precision", "mrr", "ndcg")
FIXED = (5, 10)
"""Ranks at which systems are compared."""
RETRIEVAL = (*METRICS, *(f"{name}@{k}" for k in FIXED for name in METRICS))
"""The metrics of an episode's retrieval, in the order of its score record."""

Relevant = Mapping[str, Collection[str]]
"""By question id, the ids of the relevant documents; a question that names none is not in it."""


def by_ids(steps: Sequence[Step], relevant: Collection[str], returned: int) -> dict[str, float | None] | None:
    """The metrics of the documents that an episode's calls found; None where the calls name no ids.

    Args:
        relevant: Ids of the documents that should be found; at least one.
        returned: Calls that returned something; where these name no ids, nothing is known.
    """
    found = documents(steps)
    if returned and not found:
        return None
    cuts = {"": max(1, len(found)), **{f"@{k}": k for k in FIXED}}
    return {
        f"{name}{cut}": value for cut, k in cuts.items() for name, value in rank_metrics(found, relevant, k).items()
    }


def by_texts(evidence: Sequence[str], missing: Sequence[str]) -> dict[str, float | None]:
    """Recall and hit rate, each from 0 to 1, of the evidence that a question names, at least one text.

    What has no ranks is None; `missing` was not observed.
    """
    seen = len(evidence) - len(missing)
    known = {"recall": seen / len(evidence), "hit_rate": float(seen > 0)}
    return {name: known.get(name) for name in RETRIEVAL}


def documents(steps: Sequence[Step]) -> list[str]:
    """The different documents that the calls of an episode found, each at its first rank.

    >>> documents([Step(kind="call", api="retrieve", retrieved_ids=["a#2", "b#1", "a#1"])])
    ['a', 'b']
    """
    calls = (step for step in steps if step.kind == "call" and step.error is None)
    return list(dict.fromkeys(document(passage) for step in calls for passage in step.retrieved_ids))


def document(passage: str) -> str:
    """The id of a passage's document.

    >>> document("news#7#12"), document("news"), document("C#")
    ('news#7', 'news', 'C#')
    """
    name, _, chunk = passage.rpartition("#")
    return name if name and chunk.isdecimal() else passage


def text_ids(question: Question) -> set[str]:
    """The ids of the relevant texts: meta's `text_ids`, a list, a list of lists, or either written as JSON.

    Raises:
        UserError: It is something else.
    """
    value = question.meta.get("text_ids")
    try:
        return _ids(json.loads(value) if isinstance(value, str) else value)
    except (TypeError, ValueError, RecursionError):
        raise UserError(f"question '{question.id}': meta.text_ids: expected a list of ids") from None


def id_text(value: object) -> str:
    """An id as a text.

    Raises:
        TypeError: It is neither a text nor a number.
    """
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TypeError
    return str(value)


def _ids(value: object) -> set[str]:
    if value is None:
        return set()
    if not isinstance(value, list):
        raise TypeError
    return {text for item in value for text in (_ids(item) if isinstance(item, list) else [id_text(item)])}


def rank_metrics(found: Sequence[str], right: Collection[str], k: int) -> dict[str, float]:
    """The metrics of the first k of a ranking by name; all are 0 where nothing is right.

    An id is found at its first rank; later mentions neither count nor take a rank. Every right id has a gain of 1. The
    numbers are those of trec_eval (recall, success, P, recip_rank, ndcg_cut): precision divides by k even where fewer
    were found, MRR is 1 over the first right rank (Voorhees 1999), and NDCG (Järvelin and Kekäläinen 2002) the sum over
    right ranks r of 1 / log2(r + 1), over that of an ideal ranking, whose first min(k, right ids) are right.

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
