"""`r-eval run --dry-run`: what a run would do, what of it is recorded already, and what it may cost."""

from __future__ import annotations

import itertools
from pathlib import Path

from r_eval.cli.options import print_json, print_lines
from r_eval.folder import RunFolder
from r_eval.grid import Grid
from r_eval.records import INFRASTRUCTURE_FAILURES
from r_eval.runner.budget import check
from r_eval.runner.plan import PlannedCell, resolve
from r_eval.runner.store import refuse_changes
from r_eval.runner.terms import terms


def print_plan(grid: Grid, out: Path | None, as_json: bool, *, limit: int | None, fresh: bool) -> None:
    """Print what a run would do; nothing is run or written.

    Raises:
        UserError: The grid is wrong, or the folder holds a run that differs from it.
    """
    plan = resolve(grid, limit)
    check(plan)
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
