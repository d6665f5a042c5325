"""Loaders of published datasets: one small module for each kind of format, found by its name.

    data = load("hotpot_dev.json", "hotpotqa", samples=100, seed=0)
    data.questions, data.broken, data.left_out

JSON lists and objects are read at once, above 500 MB through ijson; JSON Lines, CSV and Parquet record by record. Of a
sample only the sample is kept.
"""

from __future__ import annotations

from r_eval.tasks.loaders.base import formats
from r_eval.tasks.loaders.data import Data, format_of, load
from r_eval.tasks.loaders.reading import Fault

__all__ = ["Data", "Fault", "format_of", "formats", "load"]
