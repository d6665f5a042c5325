"""`r-eval run` and `r-eval demo`: run a grid, show how it goes, say what came of it."""

from __future__ import annotations

import asyncio
import collections
import json
import signal
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from r_eval.api import Run, arun, in_event_loop
from r_eval.cli.progress import make_watcher
from r_eval.cli.reading import print_tables
from r_eval.grid import Grid
from r_eval.records import INFRASTRUCTURE_FAILURES
from r_eval.runner.run import Runner
from r_eval.runner.watching import Watcher

STOPPED = "r-eval: stopped; what was done is kept. The same command goes on with the rest\n"


def demo_grid() -> Grid:
    """The embedded grid."""
    path = Path(str(files("r_eval").joinpath("demo.yaml")))
    return Grid.load(path)


def run_command(grid: Grid, out: Path | None, *, quiet: bool = False, as_json: bool = False, **how: Any) -> int:
    """Run a grid, write its report, print its tables; returns the exit status.

    Args:
        how: `limit`, `connections`, `engine`, `fresh` and `cache` of `arun`.
    """
    result = carried_out(grid, out, quiet, how)
    if result is None:
        sys.stderr.write(STOPPED)
        return 130
    from r_eval.analysis.scoring import ensure_scored
    from r_eval.cli.closing import closing_lines

    folder = result.folder
    ensure_scored(folder)
    page = result.report(figures=False)
    endings = collections.Counter(s["outcome"] for cell in folder.cells() for s in folder.scores(cell).values())
    state = result.state
    if as_json:
        record = {"run": str(result.path), "state": state, "outcomes": dict(endings), "report": str(page)}
        record |= {key: found for key in ("spent", "budget") if (found := folder.manifest().get(key))}
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
    else:
        print_tables(folder)
        lines = [*closing_lines([folder]), f"Episodes  {result.path}", f"Report    {page}"]
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
    return _status(result, state)


def carried_out(grid: Grid, out: Path | None, quiet: bool, how: dict[str, Any]) -> Run | None:
    """Run a grid and show how it goes; None where it was cancelled."""
    try:
        with make_watcher(quiet) as watcher:
            return in_event_loop(_run(grid, out, watcher, how))
    except KeyboardInterrupt:
        return None


def _status(result: Run, state: str) -> int:
    """1 where episodes are missing, or where a cell failed mostly for the machinery's sake; 130 where interrupted."""
    if state == "interrupted":
        sys.stderr.write(STOPPED)
        return 130
    if state == "budget":
        for reached in result.folder.manifest()["budget"]:
            sys.stderr.write(f"r-eval: stopped: {reached['text']}; raise it and run again to go on\n")
        return 1
    if state == "complete":
        return 0
    failed: collections.Counter[str] = collections.Counter()
    for episode in result.episodes():
        if episode.outcome.kind in INFRASTRUCTURE_FAILURES:
            failed[f"{episode.outcome.kind} ({episode.outcome.cause}): {episode.outcome.detail}"] += 1
    sys.stderr.write(f"r-eval: the run is incomplete: {sum(failed.values())} episodes failed\n")
    for why, count in failed.most_common(3):
        sys.stderr.write(f"  {count} x {why}\n")
    sys.stderr.write("The same command tries them again.\n")
    return 1


async def _run(grid: Grid, out: Path | None, watcher: Watcher, how: dict[str, Any]) -> Run:
    task = asyncio.current_task()

    def on_runner(runner: Runner) -> None:
        for planned in runner.plan.tasks:
            if planned.task.notes:
                sys.stderr.write(f"r-eval: task '{planned.task.name}': {planned.task.notes}\n")
        for drop in runner.plan.drops:
            sys.stderr.write(f"r-eval: {drop}\n")

        def stop() -> None:
            if runner.stopping and task is not None:
                task.cancel()
            else:
                runner.stop()
                sys.stderr.write("\nr-eval: letting the episodes under way finish; once more cancels them\n")

        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, stop)

    try:
        return await arun(grid, out, watcher=watcher, on_runner=on_runner, **how)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
