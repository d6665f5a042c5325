"""Metrics: (prediction, golds) -> a number from 0 to 1, found by name.

>>> get("token_f1")("Paris, France", ["Paris"])
0.6666666666666666
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from r_eval.analysis.metrics.exact import exact_match
from r_eval.analysis.metrics.f1 import token_f1
from r_eval.analysis.metrics.published import token_f1_published
from r_eval.errors import UserError

__all__ = ["Metric", "exact_match", "get", "names", "token_f1", "token_f1_published"]

Metric = Callable[[str, Sequence[str]], float]

_METRICS: dict[str, Metric] = {metric.__name__: metric for metric in (exact_match, token_f1, token_f1_published)}


def names() -> list[str]:
    """The names that `get` knows."""
    return sorted(_METRICS)


def get(name: str) -> Metric:
    """The metric of that name.

    Raises:
        UserError: There is none; the message names the closest.
    """
    if name in _METRICS:
        return _METRICS[name]
    close = difflib.get_close_matches(name, _METRICS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names())}"
    raise UserError(f"no metric is called {name!r}; {hint}")
