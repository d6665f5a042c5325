"""Datasets that the Hub's library reads: a local folder, and the Hub itself where it can be reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import load
from tests.tasks.loaders.test_formats import HOTPOT

ROWS = [{"query": f"What is {n}?", "truth": {"text": [str(n), "it"]}} for n in range(5)]
COLUMNS = {"question": "query", "answers": "truth.text"}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept outside the test's folder."""
    pytest.importorskip("datasets", reason="the library datasets is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "set"
    found.mkdir()
    return found


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_folder_of_json_lines_is_read_by_its_columns(folder: Path) -> None:
    write_lines(folder / "train.jsonl", ROWS)
    data = load(f"hf:{folder}", settings={"columns": COLUMNS})
    assert [q.question for q in data.questions] == [row["query"] for row in ROWS]
    assert data.questions[3].answers == ["3", "it"]


def test_one_of_several_splits_must_be_named(folder: Path) -> None:
    write_lines(folder / "train.jsonl", ROWS)
    write_lines(folder / "validation.jsonl", ROWS)
    with pytest.raises(UserError, match=r"name one of its splits with split: train, validation"):
        load(f"hf:{folder}", settings={"columns": COLUMNS})


def test_a_dataset_in_a_published_format_needs_no_columns(folder: Path) -> None:
    write_lines(folder / "train.jsonl", [HOTPOT])
    assert load(f"hf:{folder}", "hotpotqa").questions[0].answers == ["Ostholm"]
