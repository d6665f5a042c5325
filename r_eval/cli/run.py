"""`r-eval run`: a grid from a file or from flags, its progress, and what came of it."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import hashlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

from r_eval.analysis.warnings import counted
from r_eval.api import Run, arun
from r_eval.cli.app import exit_within
from r_eval.cli.options import (
    Cache,
    Json,
    Limit,
    Out,
    Quiet,
    complain,
    line_width,
    print_json,
    print_lines,
    print_tables,
)
from r_eval.cli.progress import make_observer
from r_eval.errors import UserError
from r_eval.event_loops import in_event_loop
from r_eval.folder import RunFolder
from r_eval.grid import Grid
from r_eval.records import INFRASTRUCTURE_FAILURES
from r_eval.runner.plan import PlannedCell, resolve
from r_eval.runner.run import Runner
from r_eval.runner.store import refuse_changes
from r_eval.runner.terms import terms

FINISHING = b"\nr-eval: finishing the episodes in progress; press Ctrl-C again to cancel them\n"
FLAGS = {"workflows": "--workflow", "llms": "--llm", "tasks": "--task", "samples": "--samples"}
"""The options that define a grid without a file, by their keys in one."""
EXIT_SECONDS = 1.0
"""Left for writing the state of the run once it is cancelled."""
MOST_REASONS = 3
"""Reasons for which episodes failed that are printed."""


def run(
    grid: Annotated[
        Path | None, Argument(metavar="GRID.yaml", help="The grid file; or define a grid by the flags below.")
    ] = None,
    workflow: Annotated[list[str] | None, Option(metavar="W", help="A workflow; repeat for several.")] = None,
    llm: Annotated[list[str] | None, Option(metavar="L", help="An LLM; repeat for several.")] = None,
    task: Annotated[list[str] | None, Option(metavar="T", help="A task; repeat for several.")] = None,
    samples: Annotated[int | None, Option(metavar="N", min=1, help="Questions per task; by default all.")] = None,
    out: Out = None,
    limit: Limit = None,
    connections: Annotated[int | None, Option(metavar="N", min=1, help="Concurrent requests to every LLM.")] = None,
    engine: Annotated[str, Option(metavar="local|ray", help="local: this process; ray: a Ray cluster.")] = "local",
    fresh: Annotated[bool, Option("--fresh", help="Move an old run in the folder aside and start over.")] = False,
    cache: Cache = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print what would run and what it may cost; run nothing.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a grid, or resume one that was interrupted.

    Running again with the same folder resumes the run: recorded episodes are kept. Without a grid file, --workflow,
    --llm and --task define a grid named flags-<hash>.
    """
    flags = dict(zip(FLAGS, (workflow, llm, task, samples), strict=True))
    loaded = read_grid(grid, {key: value for key, value in flags.items() if value})
    if dry_run:
        print_plan(loaded, out, json, limit=limit, fresh=fresh)
        return
    options = {"limit": limit, "connections": connections, "engine": engine, "fresh": fresh, "cache": cache}
    raise Exit(run_grid(loaded, out, quiet=quiet, as_json=json, **options))


def read_grid(path: Path | None, flags: dict[str, Any]) -> Grid:
    """The grid of a file, or of flags.

    Raises:
        UserError: Both are given or neither is, a flag is missing, or the grid is wrong.
    """
    if path is not None and flags:
        key = next(iter(flags))
        raise UserError(f"{FLAGS[key]} defines a grid without a file; in {path}, set {key}: instead")
    if path is not None:
        return Grid.load(path)
    optional = {"samples", "llms"} if flags.get("workflows") == ["oracle"] else {"samples"}
    missing = [flag for key, flag in FLAGS.items() if key not in flags and key not in optional]
    if missing:
        lacking = f"; {' and '.join(missing)} missing" if flags else ": r-eval run GRID.yaml"
        raise UserError(f"a run needs a grid file, or --workflow, --llm and --task{lacking}")
    digest = hashlib.blake2b(json.dumps(flags, sort_keys=True).encode(), digest_size=4).hexdigest()
    return Grid(name=f"flags-{digest}", **flags)


def run_grid(grid: Grid, out: Path | None, *, quiet: bool = False, as_json: bool = False, **options: Any) -> int:
    """Run a grid, write its report, print its tables; returns the exit status.

    Args:
        options: `limit`, `connections`, `engine`, `fresh` and `cache` of `arun`.
    """
    path = out if out is not None else Path("runs") / grid.name
    try:
        with make_observer(quiet) as observer, stopped_by_signals() as on_runner:
            result = in_event_loop(arun(grid, out, observer=observer, on_runner=on_runner, **options))
        if not result.folder.run_file.exists():  # stopped before there was anything to write
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        return _interrupted()
    from r_eval.analysis.report import write_report
    from r_eval.analysis.results import load
    from r_eval.analysis.run_summary import summary_lines
    from r_eval.analysis.summary import summary_tables

    folder, state = result.folder, result.state
    results = load(folder)
    page = path / write_report(results, result.path / "report", figures=False).relative_to(result.path)
    if as_json:
        outcomes = collections.Counter(results.episodes["outcome"])
        record = {"run": str(path), "state": state, "outcomes": dict(outcomes), "report": str(page)}
        record |= {key: found for key in ("spent", "budget", "stopped") if (found := folder.manifest().get(key))}
        print_json(record)
    else:
        print_tables(summary_tables(results, line_width()))
        print_lines(["", *summary_lines(results), f"Episodes  {path}", f"Report    {page}"])
    return exit_status(result, state)


def _interrupted() -> int:
    complain("stopped. Recorded episodes are kept; run the same command again to resume")
    exit_within(EXIT_SECONDS, 130)
    return 130


def exit_status(result: Run, state: str) -> int:
    """The exit status of a run; where it is not 0, the reason goes to standard error."""
    if state == "interrupted":
        return _interrupted()
    manifest = result.folder.manifest()
    if state == "budget":
        for reached in manifest["budget"]:
            complain(f"stopped: {reached['text']}; raise it and run again to resume")
    elif state != "complete":
        outcomes = (e.outcome for e in result.episodes() if e.outcome.kind in INFRASTRUCTURE_FAILURES)
        failed = collections.Counter(f"{one.kind} ({one.cause}): {one.detail}" for one in outcomes)
        unavailable = {name: why for name, llm in manifest["llms"].items() if (why := llm.get("unavailable"))}
        reasons = [f"{name} cannot be used: {why.removeprefix(f'{name}: ')}" for name, why in unavailable.items()]
        reasons += [f"{count} x {reason}" for reason, count in failed.most_common(MOST_REASONS)]
        count = f": {counted(failed.total(), 'episode')} failed" if failed else ""
        head = f"the run is incomplete{count}; run the same command again to retry"
        complain("\n  ".join([head, *reasons]))
    return 0 if state == "complete" else 1


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[Callable[[Runner], None]]:
    """For `on_runner`: the first Ctrl-C lets the episodes in progress end, a further one cancels them.

    Raises:
        KeyboardInterrupt: They were cancelled.
    """
    before = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}

    def on_runner(runner: Runner) -> None:
        for planned in runner.plan.tasks:
            if planned.task.notes:
                complain(f"task '{planned.task.name}': {planned.task.notes}")
        for drop in runner.plan.drops:
            complain(str(drop))
        task, loop, signals = asyncio.current_task(), asyncio.get_running_loop(), itertools.count()

        def stop(*_: object) -> None:
            """Handle a signal; not as a callback of the loop, since a plug-in may block it."""
            if next(signals) and task is not None:
                loop.call_soon_threadsafe(task.cancel)
                exit_within(EXIT_SECONDS, 130)
            else:
                loop.call_soon_threadsafe(runner.stop)
                os.write(sys.stderr.fileno(), FINISHING)

        for name in before:
            signal.signal(name, stop)

    try:
        yield on_runner
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def print_plan(grid: Grid, out: Path | None, as_json: bool, *, limit: int | None, fresh: bool) -> None:
    """Print what a run would do; nothing is run or written.

    Raises:
        UserError: The grid is wrong, or the folder holds a run that differs from it.
    """
    plan = resolve(grid, limit)
    folder = RunFolder(out if out is not None else Path("runs") / grid.name)
    is_resumed = folder.run_file.exists() and not fresh
    if is_resumed:
        refuse_changes(folder, folder.manifest(), plan)
    counts = {
        c.cell: (len(c.planned.questions) * grid.epochs, _recorded(folder, c, grid.epochs) if is_resumed else 0)
        for c in plan.cells
    }
    episodes, recorded = (sum(column) for column in zip(*counts.values(), strict=True))
    lines = [*terms(plan), *map(str, plan.drops)]
    if as_json:
        cells = [{**cell._asdict(), "episodes": one, "recorded": two} for cell, (one, two) in counts.items()]
        record = {"run": str(folder.path), "episodes": episodes, "recorded": recorded, "cells": cells, "terms": lines}
        print_json(record)
        return
    rows = [("system", "cells", "episodes", "recorded")]
    for system, group in itertools.groupby(counts, key=lambda cell: cell.system):
        own = [counts[cell] for cell in group]
        rows.append((system, str(len(own)), *(str(sum(column)) for column in zip(*own, strict=True))))
    rows.append(("all", str(len(counts)), str(episodes), str(recorded)))
    width = max(len(row[0]) for row in rows)
    table = [f"{name:<{width}}" + "".join(f"{number:>10}" for number in numbers) for name, *numbers in rows]
    print_lines([*table, "", *lines])


def _recorded(folder: RunFolder, cell: PlannedCell, epochs: int) -> int:
    """How many episodes of a cell are recorded and need not run again."""
    return sum(
        episode.question_id in cell.planned.places
        and episode.epoch < epochs
        and episode.outcome.kind not in INFRASTRUCTURE_FAILURES
        for episode in folder.cell_episodes(cell.cell)
    )
