"""Seasons: question sets with a version, the next set from a newer snapshot, and the split into public and private.

`version` has the numbers, `season` what stands beside a question file, `refresh` what the next season may ask and what
has changed, `split` the two halves, `making` writes the files.
"""

from __future__ import annotations

from r_eval.tasks.seasons.refresh import Refresher
from r_eval.tasks.seasons.season import Season, keep_season, read_season, season_path, write_season
from r_eval.tasks.seasons.split import split, write_public
from r_eval.tasks.seasons.version import Version

__all__ = [
    "Refresher",
    "Season",
    "Version",
    "keep_season",
    "read_season",
    "season_path",
    "split",
    "write_public",
    "write_season",
]
