"""`r-eval leaderboard`: many runs over many versions of a question set, as one page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def leaderboard_command(runs: Sequence[Path], out: Path, seasons: Sequence[Path]) -> None:
    """Write a leaderboard; say where its page is, who leads on each version, and what has no season.

    Args:
        runs: Run folders, and files with the results of other systems.
    """
    from r_eval.analysis.leaderboard import standings, write_leaderboard
    from r_eval.analysis.leaderboard.page import named
    from r_eval.analysis.leaderboard.versions import ordered
    from r_eval.cli.transcript import harmless
    from r_eval.folder import RunFolder

    submissions = [path for path in runs if path.is_file()]
    folders = [RunFolder(path) for path in runs if not path.is_file()]
    page, entries = write_leaderboard(folders, out, seasons, submissions)
    versions = ordered([entry.version for entry in entries])
    for version in versions:
        own = [entry for entry in entries if entry.version == version]
        leading = [line.system for line in standings(own, 1) if line.rank == 1 and (line.total or line.generation.mean)]
        names = harmless(", ".join(leading), None) if leading else "nobody"
        sys.stdout.write(f"{named(version)}: questions {own[0].questions}, systems {len(own)}, first: {names}\n")
    sys.stdout.write(f"Leaderboard {page}\n")
    if None in versions:
        where = "name the question files with --season, where r-eval generate wrote them"
        sys.stderr.write(f"r-eval: some questions are of no known season; {where}\n")
