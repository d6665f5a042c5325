"""Loaders of published datasets: one small module for each format, found by its name.

    data = load("hotpot_dev.json", "hotpotqa", samples=100, seed=0)
    data.questions, data.broken, data.left_out

JSON lists and objects are read at once, above 500 MB through ijson; JSON Lines, CSV and Parquet record by record. Of a
sample only the sample is kept.
"""

from __future__ import annotations

from r_eval.tasks.loaders.base import Format, LeftOut, RecordFormat
from r_eval.tasks.loaders.data import Data, load
from r_eval.tasks.loaders.finding import format_of, formats, named
from r_eval.tasks.loaders.reading import Fault, Record

__all__ = ["Data", "Fault", "Format", "LeftOut", "Record", "RecordFormat", "format_of", "formats", "load", "named"]
