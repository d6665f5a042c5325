"""Datasets for the Hub: what is written is read again, by the Hub's library and by R-Eval."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from r_eval.errors import UserError
from r_eval.tasks.base import installed, task_files
from r_eval.tasks.export import export
from r_eval.tasks.loaders import load

TASK = "aminer/soay-easy"


def file(kind: str) -> Path:
    return task_files()[TASK].with_name(f"soay-easy.{kind}.jsonl")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    export(file("questions"), tmp_path / "set", "Scholars", "cc0-1.0", file("demonstrations"))
    return tmp_path / "set"


@pytest.mark.usefixtures("hub_home")
def test_the_hubs_library_finds_the_splits_by_the_card_and_the_questions_are_as_they_were(written: Path) -> None:
    import datasets

    assert datasets.get_dataset_split_names(str(written)) == ["test", "demonstrations"]
    assert load(f"hf:{written}#/test", "jsonl").questions == installed(TASK).questions


def test_the_card_has_the_header_of_the_hub(written: Path) -> None:
    card = (written / "README.md").read_text(encoding="utf-8")
    assert "| `test` | 100 | 100 KS |" in card
    header = yaml.safe_load(card.split("---")[1])
    assert (header["license"], header["language"]) == ("cc0-1.0", ["en"])


@pytest.mark.parametrize("name", [".", "README.md"])
def test_a_folder_that_holds_something_and_a_file_are_left_alone(written: Path, name: str) -> None:
    with pytest.raises(UserError, match="holds something already"):
        export(file("questions"), written / name, "Scholars", "other")
