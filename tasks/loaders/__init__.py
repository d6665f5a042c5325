"""Loaders of published datasets: one module per kind of format, found by name.

data = load("hotpot_dev.json", "hotpotqa", samples=100, seed=0)
data.questions, data.n_broken, data.skipped
"""

from __future__ import annotations

from r_eval.tasks.loaders.base import Data, formats
from r_eval.tasks.loaders.data import format_of, load

__all__ = ["Data", "format_of", "formats", "load"]
