"""`r-eval demo`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from typer import Exit

from r_eval.cli.options import Cache, Limit, Out, Quiet
from r_eval.cli.run import run_grid
from r_eval.grid import Grid


def demo(out: Out = None, limit: Limit = None, cache: Cache = None, quiet: Quiet = False) -> None:
    """Run the embedded grid: no network, no key, no GPU."""
    grid = Grid.load(Path(str(files("r_eval").joinpath("demo.yaml"))))
    raise Exit(run_grid(grid, out, quiet=quiet, limit=limit, cache=cache))
