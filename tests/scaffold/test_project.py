"""`r-eval new domain`: the project that it writes, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from r_eval import Grid, run
from r_eval.errors import UserError
from r_eval.scaffold import new_domain
from tests.commands import typed_here


def test_the_oracle_scores_100_on_the_projects_questions(tmp_path: Path) -> None:
    grid = Grid.load(new_domain("recipes", tmp_path / "recipes") / "grid.yaml")
    grid = grid.model_copy(update={"samples": None, "shots": 0, "workflows": grid.workflows[-1:]})
    frame = run(grid, tmp_path / "run").to_pandas()
    assert (len(frame), frame["score"].min(), set(frame["response_type"])) == (20, 1.0, {"EM"})


def test_the_projects_own_test_passes_under_another_name(tmp_path: Path) -> None:
    folder = new_domain("my-shop", tmp_path / "shop")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    assert "21 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    "name",
    ["", "2fast", "-x", "a/b", "../up", "a--b", "käse", "x" * 51, "a.b", "a\n", "json", "class", "pytest", "r-eval"],
)
def test_a_name_that_cannot_be_used_is_refused_and_nothing_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="cannot be a domain's name"):
        new_domain(name)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_it_wrote_and_what_comes_next(tmp_path: Path) -> None:
    done = typed_here(["new", "domain", "my-recipes"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "my-recipes/my_recipes.py\n" in done.stdout
    assert done.stdout.endswith("next: cd my-recipes && r-eval run grid.yaml\n")
