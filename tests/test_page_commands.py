"""The pages of docs/ whose commands need no more than files that the page shows: each prints what the page says."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.grid import Grid
from tests import documents

DOCS = Path(__file__).parents[1] / "docs"
FILES = {
    "running": {"grid.yaml": ("yaml", "budgeted")},
    "crud": {"split_merged.json": ("json", "event_summary"), "grid.yaml": ("yaml", "split_merged")},
    "sweeps": {"one.yaml": ("yaml", "# one.yaml"), "cross.yaml": ("yaml", "# cross.yaml")},
    "testing": {
        "test_scores.py": ("python", "# test_scores.py"),
        "grid.yaml": ("yaml", "# grid.yaml"),
        "test_environment.py": ("python", "# test_environment.py"),
    },
}
"""By page, the files to write: the kind of their block and a text in it."""


def written(page: str, folder: Path) -> None:
    for name, (kind, marker) in FILES[page].items():
        (folder / name).write_text(documents.block(DOCS / f"{page}.md", kind, marker), encoding="utf-8")


@pytest.mark.parametrize("page", ["running", "crud", "sweeps"])
def test_every_command_runs_and_prints_what_the_page_says(tmp_path: Path, page: str) -> None:
    if page == "sweeps" and importlib.util.find_spec("langchain_text_splitters") is None:
        pytest.skip("langchain-text-splitters is not installed (extra: retrieval)")
    written(page, tmp_path)
    if page == "crud":
        (tmp_path / "80000_docs").mkdir()
        (tmp_path / "80000_docs" / "documents_dup_part_1_part_1").write_text("鹭口大桥全长2340米。\n", encoding="utf-8")
    documents.follow(DOCS / f"{page}.md", tmp_path)
    assert page == "crud" or not (tmp_path / "runs").exists(), "dry runs write nothing"


@pytest.mark.slow
def test_the_tests_of_the_page_about_testing_pass(tmp_path: Path) -> None:
    written("testing", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout


def test_the_papers_protocol_moves_one_setting_at_a_time_within_1024_tokens(tmp_path: Path) -> None:
    (tmp_path / "paper.yaml").write_text(documents.block(DOCS / "sweeps.md", "yaml", "# paper.yaml"), encoding="utf-8")
    vary = Grid.load(tmp_path / "paper.yaml").vary
    assert vary is not None
    found = vary.variants("rag")
    assert len(found) == 1 + 3 + 4 + 3 + 3 + 4
    base = found["rag"]
    for name, own in found.items():
        moved = [key for key in base if own[key] != base[key]]
        if name.startswith("rag@chunk_size="):
            assert own["environment.chunk_size"] * own["workflow.top_k"] == 1024
        else:
            assert len(moved) == (name != "rag")
