"""A small run, and copies of it for the tests of damaged and strange runs to change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import r_eval
from r_eval import Grid
from r_eval.folder import RunFolder

Resume = Callable[[], r_eval.Run]


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
