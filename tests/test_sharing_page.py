"""docs/sharing.md is true: its commands and its Python run, and its grids are read."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from r_eval import Grid, run
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "sharing.md"
TEMPLATES = """
environment: aminer
templates:
  - id: home-of-scholar
    level: KS
    from: person
    question: At which organization is {{ person.name }}?
    program: |
      found = searchPerson(name=person["name"])
      answer = found[0]["organization"]
"""


def test_the_commands_make_a_dataset_that_a_grid_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets", reason="the library datasets is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    (tmp_path / "templates.yaml").write_text(TEMPLATES, encoding="utf-8")
    documents.follow(PAGE, tmp_path)
    (entry,) = yaml.safe_load(documents.block(PAGE, "yaml", "./scholars"))["tasks"]
    grid = Grid(llms=["gguf/smollm2-135m"], workflows=["oracle"], tasks=[entry])
    grid.folder = tmp_path
    assert sum(episode.outcome.kind == "finished" for episode in run(grid, out=tmp_path / "run").episodes()) == 20


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.chdir(tmp_path)
    grid = Grid(llms=["gguf/smollm2-135m"], workflows=["oracle"], tasks=["wiki/high-freq"], samples=2)
    run(grid, out="runs/mine")
    exec(compile(documents.block(PAGE, "python", "load_run"), "page", "exec"), {})
    assert {path.name for path in tmp_path.glob("episodes.*")} == {"episodes.parquet", "episodes.jsonl"}
