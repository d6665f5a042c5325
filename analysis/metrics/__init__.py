"""Metrics: (prediction, golds) -> a number from 0 to 1, found by name.

>>> get("token_f1")("Paris, France", ["Paris"])
0.6666666666666666
"""

from __future__ import annotations

from r_eval.analysis.metrics.exact import exact_match
from r_eval.analysis.metrics.f1 import token_f1
from r_eval.analysis.metrics.published import token_f1_published
from r_eval.analysis.metrics.registry import Batched, Metric, get, names, of_a_run, of_kept_scores, score_all

__all__ = [
    "Batched",
    "Metric",
    "exact_match",
    "get",
    "names",
    "of_a_run",
    "of_kept_scores",
    "score_all",
    "token_f1",
    "token_f1_published",
]
