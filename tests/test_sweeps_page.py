"""docs/sweeps.md is true: its grids are read and vary as it says, and its commands print what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from r_eval import Grid
from r_eval.vary import Variant
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "sweeps.md"


def grid(name: str, folder: Path) -> Grid:
    (folder / f"{name}.yaml").write_text(documents.block(PAGE, "yaml", f"# {name}.yaml"), encoding="utf-8")
    return Grid.load(folder / f"{name}.yaml")


def variants(found: Grid) -> dict[str, Variant]:
    assert found.vary is not None
    return {variant.name("rag"): variant for variant in found.vary.variants()}


def test_every_command_runs_over_the_grids_of_the_page(tmp_path: Path) -> None:
    if importlib.util.find_spec("bm25s") is None:
        pytest.skip("bm25s is not installed (extra: retrieval)")
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
    sizes = [v.settings for name, v in found.items() if name == "rag" or name.startswith("rag@chunk_size=")]
    assert [entry["chunk_size"] for entry in sizes] == [128, 64, 256, 512]
    assert {entry["chunk_size"] * entry["top_k"] for entry in sizes} == {1024}


def test_the_papers_protocol_moves_one_setting_at_a_time(tmp_path: Path) -> None:
    found = variants(grid("paper", tmp_path))
    assert len(found) == 1 + 3 + 4 + 3 + 3 + 4
    base = found["rag"].settings
    assert dict(base) == {
        "chunk_size": 128,
        "top_k": 8,
        "overlap": "0%",
        "embedding": "BAAI/bge-base-zh-v1.5",
        "retriever": "dense",
    }
    moved = {name: [key for key in base if v.settings[key] != base[key]] for name, v in found.items()}
    assert all(len(keys) == 1 for name, keys in moved.items() if name != "rag" and "chunk_size" not in name)
