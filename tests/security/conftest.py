"""A small run, and copies of it for the tests of damaged and strange runs to change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import r_eval
from r_eval import Grid, load_run
from r_eval.analysis.compare_runs import compare_runs
from r_eval.analysis.leaderboard import write_leaderboard
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import score_run
from r_eval.folder import RunFolder

Resume = Callable[[], r_eval.Run]
READERS: dict[str, Callable[[RunFolder, Path], Any]] = {
    "state": lambda run, out: run.state(),
    "score": lambda run, out: score_run(run),
    "report": lambda run, out: write_report(load(run), out, figures=False),
    "compare": lambda run, out: compare_runs([run], ("direct+ada", "react+ada"), None),
    "leaderboard": lambda run, out: write_leaderboard([run], out),
    "table": lambda run, out: load_run(run.path).to_pandas(),
}
"""What reads a run's folder, by its command; the second argument is where it may write."""


@pytest.fixture(scope="package")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    folder = tmp_path_factory.mktemp("good")
    (folder / "llm.py").write_text('def reply(request):\n    return "Ada"\n', encoding="utf-8")
    llm = {"llm": f"scripted/{folder / 'llm.py'}:reply", "name": "ada"}
    return Grid(workflows=["direct", "react"], llms=[llm], tasks=["aminer/soay-easy"], samples=2, folder=folder)


@pytest.fixture(scope="package")
def good(grid: Grid) -> Path:
    return r_eval.run(grid, out=grid.folder / "run").path


@pytest.fixture
def run(good: Path, tmp_path: Path) -> RunFolder:
    """A copy, to be changed."""
    shutil.copytree(good, tmp_path / "run")
    return RunFolder(tmp_path / "run")


@pytest.fixture
def resume(grid: Grid, run: RunFolder) -> Resume:
    """The command that made the run, again."""
    return lambda: r_eval.run(grid, out=run.path)
