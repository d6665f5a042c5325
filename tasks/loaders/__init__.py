"""Loaders of published datasets: one module per kind of format, found by name.

    data = load("hotpot_dev.json", "hotpotqa", samples=100, seed=0)
    data.questions, data.n_broken, data.skipped

JSON lists and objects are read as a whole, or through ijson above 500 MB; JSON Lines, CSV and Parquet record by record.
Only the sample is kept in memory.
"""

from __future__ import annotations

from r_eval.tasks.loaders.base import formats
from r_eval.tasks.loaders.data import Data, format_of, load
from r_eval.tasks.loaders.reading import RecordError

__all__ = ["Data", "RecordError", "format_of", "formats", "load"]
