"""Commands that read: score, report, show, call."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Episode


def score_command(
    path: Path, metrics: list[str], taxonomy: str, threshold: float | None, thresholds: bool, as_json: bool
) -> None:
    """Score a run and print its tables; with `thresholds`, its response types at other match thresholds too."""
    from rich.console import Console

    from r_eval.analysis.further import further_table, told_of_run
    from r_eval.analysis.scoring import score_run
    from r_eval.analysis.sensitivity import sensitivity, sensitivity_table
    from r_eval.cli.transcript import harmless

    folder = RunFolder(path)
    scores = score_run(folder, metrics, taxonomy, threshold)
    told = told_of_run(folder, metrics)
    if as_json:
        record = {
            "run": str(path),
            "taxonomy": scores.taxonomy,
            "threshold": scores.threshold,
            "episodes": scores.episodes,
            "scored": scores.scored,
            "mean": scores.mean,
            "undecided": scores.undecided,
            "unparsed": scores.unparsed,
            "types": scores.types,
            "told": told,
        }
        if thresholds:
            record["sensitivity"] = [one.as_json() for one in sensitivity(folder)]
        sys.stdout.write(json.dumps(record) + "\n")
    else:
        console = Console() if sys.stdout.isatty() else Console(width=100)
        print_tables(folder)
        if metrics:
            console.print(further_table(folder))
        if thresholds:
            console.print(sensitivity_table(sensitivity(folder)))
        sys.stdout.write("".join(f"{harmless(line, None)}\n" for line in told))


def print_tables(folder: RunFolder) -> None:
    """The score table and the response types on standard output."""
    from rich.console import Console

    from r_eval.analysis.summary import tables

    console = Console() if sys.stdout.isatty() else Console(width=100)
    for table in tables(folder):
        console.print(table)


def report_command(
    paths: list[Path], out: Path | None, max_seconds: float | None, max_usd: float | None, figures: bool
) -> None:
    """Write a report and print what the runs came to and where its page is.

    With a bound, also the best system within it.

    Args:
        figures: Whether the figures for papers are drawn.
    """
    from r_eval.analysis.published import is_published
    from r_eval.analysis.report import write_report
    from r_eval.cli.closing import closing_lines

    folders = [RunFolder(path) for path in paths]
    for folder in folders:
        if not is_published(folder.path):
            folder.manifest()
    page = write_report(folders, out if out is not None else paths[0] / "report", _told, figures=figures)
    lines = [*closing_lines(folders), f"Report    {page}"]
    sys.stdout.write("\n".join(lines) + "\n")
    if max_seconds is not None or max_usd is not None:
        from r_eval.cli.choosing import say_choice

        say_choice(folders, max_seconds, max_usd)


def _told(line: str) -> None:
    sys.stderr.write(f"r-eval: {line}\n")


def show_command(path: Path, episode_id: str, full: bool = False) -> None:
    """Print one transcript; with `full`, long texts whole."""
    from rich.console import Console

    from r_eval.cli.transcript import print_whole, transcript

    found = [e for e in RunFolder(path).episodes() if e.episode_id.startswith(episode_id)]
    if not found:
        raise UserError(f"{path} has no episode {episode_id}; the ids are in its episodes/ and scores/")
    if len(found) > 1:
        ids = ", ".join(e.episode_id for e in found[:5])
        raise UserError(f"{len(found)} episodes begin with {episode_id}: {ids}{', ...' if len(found) > 5 else ''}")
    print_whole(Console(highlight=False), transcript(found[0], _scored(path, found[0]), full))


def _scored(path: Path, episode: Episode) -> dict[str, Any] | None:
    from r_eval.analysis.scoring import ensure_scored

    folder = RunFolder(path)
    ensure_scored(folder)
    cell = next(c for c in folder.cells() if c.system == episode.system and c.task == episode.task)
    return folder.scores(cell._replace(condition=episode.condition)).get(episode.episode_id)


def call_command(environment: str, api: str, pairs: list[str], as_json: bool) -> int:
    """Call a query API and print the observation; 1 where it is an error's."""
    from r_eval.environments.base import EnvironmentFailure
    from r_eval.environments.sandbox import Sandbox
    from r_eval.environments.session import CallResult, Session
    from r_eval.tasks.base import open_environment

    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"'{pair}': expected key=value")
        arguments[key] = value
    session = Session(open_environment(environment), Sandbox())
    try:
        result = asyncio.run(session.call(api, arguments))
    except EnvironmentFailure as failure:
        result = CallResult(None, str(failure), "environment")
    if as_json:
        record = {"observation": result.observation, "value": result.value, "error": result.error}
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{result.observation}\n")
    return 1 if result.error else 0
