"""Metrics: (prediction, golds) -> a number from 0 to 1, found by name.

>>> get("token_f1")("Paris, France", ["Paris"])
0.6666666666666666
"""

from __future__ import annotations

from r_eval.analysis.metrics.qa import exact_match, token_f1
from r_eval.analysis.metrics.registry import Batched, Metric, filter_trusted, get, get_trusted, names, summaries

__all__ = [
    "Batched",
    "Metric",
    "exact_match",
    "filter_trusted",
    "get",
    "get_trusted",
    "names",
    "summaries",
    "token_f1",
]
