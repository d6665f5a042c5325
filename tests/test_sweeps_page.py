"""docs/sweeps.md is true: its grids are read and vary as it says, and its commands print what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "sweeps.md"


def grid(name: str, folder: Path) -> Grid:
    (folder / f"{name}.yaml").write_text(documents.block(PAGE, "yaml", f"# {name}.yaml"), encoding="utf-8")
    return Grid.load(folder / f"{name}.yaml")


def variants(found: Grid) -> dict[str, dict[str, Any]]:
    assert found.vary is not None
    return found.vary.variants("rag")


def test_every_command_runs_over_the_grids_of_the_page(tmp_path: Path) -> None:
    if importlib.util.find_spec("langchain_text_splitters") is None:
        pytest.skip("langchain-text-splitters is not installed (extra: retrieval)")
    for name in ("one", "cross"):
        grid(name, tmp_path)
    for command in documents.commands(PAGE):
        done = documents.typed(command.line, tmp_path)
        assert done.returncode == 0, done.stderr
        assert documents.matches(done.stdout, command.expected), done.stdout
    assert not (tmp_path / "runs").exists()


def test_a_cross_has_the_variant_that_the_page_names(tmp_path: Path) -> None:
    assert "rag@chunk_size=64,top_k=2" in variants(grid("cross", tmp_path))


def test_the_papers_chunk_sizes_keep_the_context_at_1024_tokens(tmp_path: Path) -> None:
    found = variants(grid("paper", tmp_path))
    sizes = [own for name, own in found.items() if name == "rag" or name.startswith("rag@chunk_size=")]
    assert [entry["environment.chunk_size"] for entry in sizes] == [128, 64, 256, 512]
    assert {entry["environment.chunk_size"] * entry["workflow.top_k"] for entry in sizes} == {1024}


def test_the_papers_protocol_moves_one_setting_at_a_time(tmp_path: Path) -> None:
    found = variants(grid("paper", tmp_path))
    assert len(found) == 1 + 3 + 4 + 3 + 3 + 4
    base = found["rag"]
    assert base == {
        "environment.chunk_size": 128,
        "environment.overlap": "0%",
        "environment.embedding": "BAAI/bge-base-zh-v1.5",
        "environment.retriever": "dense",
        "workflow.top_k": 8,
    }
    moved = {name: [key for key in base if own[key] != base[key]] for name, own in found.items()}
    assert all(len(keys) == 1 for name, keys in moved.items() if name != "rag" and "chunk_size" not in name)
