"""Ranking metrics against trec_eval (pytrec_eval) and scikit-learn."""

from __future__ import annotations

import random

import pytest

from r_eval.analysis.metrics.ranking import RANKING, ndcg

COUNT = 10_000
CUTS = (1, 3, 5, 10)
NAMES = {"hit_rate": "success", "recall": "recall", "precision": "P", "ndcg": "ndcg_cut"}


def rankings(count: int, seed: int) -> list[tuple[list[str], set[str]]]:
    """Rankings with repeated, missing and too many ids, and questions to which nothing is right."""
    dice = random.Random(seed)
    ids = [f"文{i}" if i % 7 == 0 else f"d{i}" for i in range(30)]
    rows = []
    for _ in range(count):
        found = [dice.choice(ids) for _ in range(dice.choice([0, 1, 2, 5, 10, 15]))]
        rows.append((found, set(dice.sample(ids, dice.choice([0, 1, 1, 2, 3, 8, 20])))))
    return rows


def test_every_metric_is_trec_evals() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
    rows = rankings(COUNT, 1)
    right = {str(i): dict.fromkeys(ids, 1) or {"none": 0} for i, (_, ids) in enumerate(rows)}
    for k in CUTS:
        runs = {str(i): scores(found, k) for i, (found, _) in enumerate(rows)}
        wanted = {f"{name}.{k}" for name in NAMES.values()} | {"recip_rank"}
        theirs = pytrec_eval.RelevanceEvaluator(right, wanted).evaluate(runs)
        for name, measure in RANKING.items():
            key = "recip_rank" if name == "mrr" else f"{NAMES[name]}_{k}"
            different = [
                (i, k, name)
                for i, (found, ids) in enumerate(rows)
                if abs(measure(found, ids, k) - theirs.get(str(i), {}).get(key, 0.0)) > 1e-12
            ]
            assert different == []


def scores(found: list[str], k: int) -> dict[str, float]:
    """A ranking as trec_eval wants it: each of the first k ids with a score that falls."""
    return {name: float(-rank) for rank, name in enumerate(list(dict.fromkeys(found))[:k])}


def test_ndcg_is_scikit_learns() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    import numpy as np

    dice = random.Random(2)
    ids = [str(i) for i in range(20)]
    rows = [(dice.sample(ids, len(ids)), set(dice.sample(ids, dice.randint(1, 12)))) for _ in range(COUNT)]
    order = -np.arange(len(ids), dtype=float)
    gains = np.array([[float(name in right) for name in found] for found, right in rows])
    for k in (1, 10):
        for start in range(0, COUNT, 500):
            one = gains[start : start + 500]
            theirs = sklearn.ndcg_score(one, np.tile(order, (len(one), 1)), k=k)
            ours = sum(ndcg(found, right, k) for found, right in rows[start : start + 500]) / len(one)
            assert ours == pytest.approx(theirs, abs=1e-12)
