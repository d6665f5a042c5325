"""`r-eval run --dry-run`: what a run would do and take, from recorded episodes where there are some."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from r_eval.cli.options import print_json, results_console
from r_eval.cli.progress import duration, number
from r_eval.errors import UserError
from r_eval.grid import Grid
from r_eval.runner.estimate import Estimate, SystemEstimate, estimate
from r_eval.runner.plan import resolve

BOUNDS = "* an upper bound from the limits; to estimate the rest, run with --limit 2 first"
SHARES = {"low": 0.25, "median": 0.5, "high": 0.75}
"""Quartiles of the episodes that simulated grids take, as shares of all."""


def print_estimate(
    grid: Grid,
    out: Path | None,
    as_json: bool,
    *,
    limit: int | None,
    connections: int | None,
    fresh: bool,
) -> None:
    """Print what is left of a run and what that would take."""
    folder = out if out is not None else Path("runs") / grid.name
    found = estimate(resolve(grid, limit), None if fresh else folder, connections)
    shares = early_shares(grid, found)
    if as_json:
        print_json(estimate_record(found, folder) | ({"stop_early": shares} if shares else {}))
        return
    results_console().print(estimate_table(found))
    lines = [BOUNDS] if any(s.left and s.basis == "bounds" for s in found.systems) else []
    lines += [early_sentence(grid, found, shares)] if shares else []
    sys.stdout.write("".join(f"{line}\n" for line in [*lines, *found.warnings]))


def estimate_record(found: Estimate, folder: Path) -> dict[str, Any]:
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


def early_shares(grid: Grid, found: Estimate) -> dict[str, float]:
    """The shares of the whole grid's episodes that half of some simulated grids like it take with early stopping.

    Empty where early stopping cannot save anything, or nothing is left.

    Raises:
        UserError: The grid stops early, and a metric calls an LLM.
    """
    from r_eval.analysis.early_stopping import Rule, asked_shares

    rule = Rule(**grid.stop_early.model_dump()) if grid.stop_early else Rule()
    tasks = {state.planned.cell.task: state.planned.planned for state in found.cells}
    try:
        rule.check([planned.task.metric for planned in tasks.values()])
    except UserError:
        if grid.stop_early:
            raise
        return {}
    systems = len({state.planned.cell.system for state in found.cells if not state.planned.workflow.uses_gold})
    if systems <= rule.keep or not any(system.left for system in found.systems):
        return {}
    shares = asked_shares(rule, systems, [len(planned.questions) for planned in tasks.values()])
    return {name: float(shares[int(part * len(shares))]) for name, part in SHARES.items()}


def early_sentence(grid: Grid, found: Estimate, shares: dict[str, float]) -> str:
    """What the whole grid takes with early stopping and without."""
    low, median, high = (shares[name] for name in SHARES)
    episodes = sum(state.episodes for state in found.cells)
    numbers = f"{low * episodes:,.0f} to {high * episodes:,.0f} of {episodes:,} episodes (median {100 * median:.0f} %)"
    head = "stop_early" if grid.stop_early else "with stop_early: true"
    return f"{head}: {numbers} in half of the simulated grids like this; the table is without"


def estimate_table(found: Estimate) -> Table:
    """What is left of each system, and what it would take."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title="Left to run", title_justify="left")
    table.add_column("system", overflow="fold")
    for name in ("cells", "episodes", "recorded", "calls", "tokens in", "tokens out", "USD", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for system in found.systems:
        counts = (str(count) for count in (system.cells, system.episodes, system.recorded))
        table.add_row(escape(system.system), *counts, *_needs(system))
    episodes, recorded = (sum(getattr(c, name) for c in found.cells) for name in ("episodes", "recorded"))
    left = any(system.left for system in found.systems)
    ends = [_or_dash(found.cost, number), _or_dash(found.seconds, duration)] if left else ["", ""]
    table.add_row("all", str(len(found.cells)), str(episodes), str(recorded), "", "", "", *ends, style="bold")
    return table


def _needs(system: SystemEstimate) -> list[str]:
    """Calls, tokens, money and time of what is left."""
    if not system.left:
        return [""] * 5
    calls = f"{system.calls:,.0f}{'*' if system.basis == 'bounds' else ''}"
    tokens = (_or_dash(count, "{:,.0f}".format) for count in (system.prompt_tokens, system.completion_tokens))
    return [calls, *tokens, _or_dash(system.cost, number), _or_dash(system.seconds, duration)]


def _or_dash(value: float | None, text: Callable[[float], str]) -> str:
    return "-" if value is None else text(value)
