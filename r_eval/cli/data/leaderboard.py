"""`r-eval data leaderboard`: many runs over many versions of a question set, as one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from r_eval.analysis.leaderboard import standings, write_leaderboard
from r_eval.analysis.leaderboard.page import named
from r_eval.analysis.leaderboard.versions import ordered
from r_eval.cli.options import RunPaths, print_lines
from r_eval.folder import RunFolder


def leaderboard(
    runs: RunPaths,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder of the leaderboard.")],
    season: Annotated[
        list[Path] | None,
        typer.Option("--season", metavar="QUESTIONS.jsonl", help="A question file with its season; repeatable."),
    ] = None,
) -> None:
    """Write the leaderboard of many runs over many versions of a question set.

    Result files of other systems (results.json) can stand among the runs.
    """
    submissions = [path for path in runs if path.is_file()]
    folders = [RunFolder(path) for path in runs if not path.is_file()]
    page, entries = write_leaderboard(folders, out, season or [], submissions)
    versions = ordered([entry.version for entry in entries])
    for version in versions:
        own = [entry for entry in entries if entry.version == version]
        first = [line.system for line in standings(own, 1) if line.rank == 1 and (line.total or line.generation.mean)]
        names = ", ".join(first) or "no system"
        print_lines([f"{named(version)}: questions {own[0].questions}, systems {len(own)}, first: {names}"])
    print_lines([f"Leaderboard {page}"])
    if None in versions:
        sys.stderr.write(
            "r-eval: some questions belong to no known season; name the files that r-eval generate wrote in --season\n"
        )
