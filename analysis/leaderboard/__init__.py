"""The leaderboard: many runs over many versions of a question set, as one static page.

    DIR/
      index.html           the page; no server, no network
      assets/              style and script
      data/leaderboard.js  what the page shows
      tables/leaderboard.* the same numbers for other programs (csv) and for papers (md, tex)

`versions` says of which version a run's questions are, `results` and `submissions` what runs and outside systems
reached on them, `entries` holds that against all questions of the version, `standings` says who leads over the last n
versions, and `page` writes it down.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from r_eval.analysis.leaderboard.entries import Entry, entries
from r_eval.analysis.leaderboard.page import write_page
from r_eval.analysis.leaderboard.standings import Standing, standings
from r_eval.analysis.leaderboard.versions import Seasons
from r_eval.errors import UserError
from r_eval.folder import RunFolder

__all__ = ["Entry", "Seasons", "Standing", "entries", "standings", "write_leaderboard"]


def write_leaderboard(
    runs: Sequence[RunFolder], out: Path, seasons: Sequence[Path] = (), submissions: Sequence[Path] = ()
) -> tuple[Path, list[Entry]]:
    """Write the leaderboard of some runs; scores that are missing or out of date are computed first.

    Args:
        out: The board's folder; what a board there held before is replaced.
        seasons: Question files with their season beside them, from which the runs' questions are.
        submissions: Results of systems that R-Eval did not run, by the ids of these question files.

    Returns:
        The page's path, and what stands on it.

    Raises:
        UserError: A run or a season cannot be read, or there is nothing to show.
    """
    found = entries(runs, Seasons(seasons), submissions)
    if not found:
        raise UserError("no episodes in these runs: nothing stands on the leaderboard")
    return write_page(found, out), found
