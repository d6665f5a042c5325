"""`r-eval run --dry-run`: what a run would do and take, from a few probe episodes if asked."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.cli.progress import clock, figure
from r_eval.cli.running import STOPPED, carried_out
from r_eval.grid import Grid
from r_eval.runner.estimate import Estimate, SystemEstimate, estimate
from r_eval.runner.plan import resolve

if TYPE_CHECKING:
    from rich.table import Table

BOUNDS = "at most, by the limits; no episode has shown yet what one really takes: --probe 2 runs two of every task"
PROMPTS = "- prompts have no bound before a question was asked; limits: {tokens: N} sets one"


def dry_run_command(
    grid: Grid, out: Path | None, probe: int | None, *, quiet: bool = False, as_json: bool = False, **how: Any
) -> int:
    """Print what is left of a run and what that would take; returns the exit status.

    Args:
        probe: First run so many questions of every task; they are kept as the run's own.
        how: `limit`, `connections`, `engine`, `fresh` and `cache` of `arun`.
    """
    limit, seen = how["limit"], probe is not None or not how["fresh"]
    if probe is not None:
        few = {**how, "limit": min(probe, limit or probe)}
        result = carried_out(grid, out, quiet, few)
        if result is None or result.state == "interrupted":
            sys.stderr.write(STOPPED)
            return 130
    folder = out if out is not None else Path("runs") / grid.name
    found = estimate(resolve(grid, limit), folder if seen else None, how["connections"])
    if as_json:
        sys.stdout.write(json.dumps(record(found, folder), ensure_ascii=False) + "\n")
    else:
        show(found)
    return 0


def record(found: Estimate, folder: Path) -> dict[str, Any]:
    """An estimate as plain data."""
    return {
        "run": str(folder),
        "episodes": sum(c.episodes for c in found.cells),
        "recorded": sum(c.recorded for c in found.cells),
        "cells": [{**c.planned.cell._asdict(), "episodes": c.episodes, "recorded": c.recorded} for c in found.cells],
        "systems": [dataclasses.asdict(s) for s in found.systems],
        "cost": found.cost,
        "seconds": found.seconds,
        "warnings": list(found.warnings),
    }


def show(found: Estimate) -> None:
    """An estimate on standard output."""
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=100)
    console.print(table(found))
    left = [s for s in found.systems if s.left]
    lines = [f"* {BOUNDS}"] if any(s.basis == "bounds" for s in left) else []
    lines += [PROMPTS] if any(s.prompt_tokens is None for s in left) else []
    sys.stdout.write("".join(f"{line}\n" for line in [*lines, *found.warnings]))


def table(found: Estimate) -> Table:
    """System by system, what is left and what it would take."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    shown = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
        title="What is left, and what it would take",
        title_justify="left",
    )
    shown.add_column("system", overflow="fold")
    for name in ("cells", "episodes", "recorded", "calls", "tokens in", "out", "USD", "time"):
        shown.add_column(name, justify="right", no_wrap=True)
    for s in found.systems:
        counts = (str(n) for n in (s.cells, s.episodes, s.recorded))
        shown.add_row(escape(s.system), *counts, *_needs(s))
    totals = [len(found.cells), sum(c.episodes for c in found.cells), sum(c.recorded for c in found.cells)]
    bound = "*" if any(s.left and s.basis == "bounds" for s in found.systems) else ""
    money = "-" if found.cost is None else figure(found.cost) + bound
    ends = [money, clock(found.seconds) + bound] if totals[1] > totals[2] else ["", ""]
    shown.add_row("all", *map(str, totals), "", "", "", *ends, style="bold")
    return shown


def _needs(s: SystemEstimate) -> list[str]:
    """What is left of a system, as cells of the table."""
    if not s.left:
        return [""] * 5
    bound = "*" if s.basis == "bounds" else ""
    numbers = [s.calls, s.prompt_tokens, s.completion_tokens]
    told = ["-" if n is None else f"{n:,.0f}{bound}" for n in numbers]
    return [*told, "-" if s.cost is None else figure(s.cost) + bound, clock(s.seconds) + bound]
