"""README is true: what it says that commands print they print, and its code runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from r_eval import Grid, run
from tests import documents

README = Path(__file__).parent.parent / "README.md"


def blocks(kind: str, marker: str) -> str:
    """The one block of a kind that holds a text."""
    return documents.block(README, kind, marker)


@pytest.mark.parametrize("command", documents.commands(README), ids=lambda command: command.line)
def test_a_command_prints_what_readme_says(command: documents.Command, tmp_path: Path) -> None:
    assert documents.typed(command.line, tmp_path).stdout == command.expected


def test_the_grid_of_readme_is_a_grid(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(blocks("yaml", "# grid.yaml"), encoding="utf-8")
    assert Grid.load(tmp_path / "grid.yaml").llms[0].llm == "gguf/smollm2-135m"


def test_the_custom_domain_of_readme_runs_and_the_oracle_is_right(tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text(blocks("python", "def ingredients"), encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text(blocks("json", "hummus"), encoding="utf-8")
    tasks = yaml.safe_load(blocks("yaml", "recipes.py"))["tasks"]
    grid = Grid(workflows=["oracle"], llms=["gguf/smollm2-135m"], tasks=tasks, folder=tmp_path)
    episodes = list(run(grid, tmp_path / "run").episodes())
    assert [(e.outcome.kind, e.answer) for e in episodes] == [("finished", "chickpeas; tahini; lemon")]


def test_the_python_of_readme_runs(tmp_path: Path) -> None:
    script = blocks("python", "from r_eval import Grid, run")
    model, short = (
        '["gguf/smollm2-135m"]',
        '[{"llm": "gguf/smollm2-135m", "max_tokens": 8}], shots=0, limits={"steps": 1}',
    )
    assert script.count("samples=5") == script.count(model) == 1
    script = script.replace("samples=5", "samples=1").replace(model, short)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert "react+gguf/smollm2-135m" in done.stdout, done.stderr
