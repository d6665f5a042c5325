"""Datasets that the Hub's library reads: a local folder, and the Hub itself where it can be reached."""

from __future__ import annotations

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import load
from tests.tasks.loaders.conftest import Write, only
from tests.tasks.loaders.test_formats import HOTPOT

ROWS = [{"query": f"What is {n}?", "truth": {"text": [str(n), "it"]}} for n in range(5)]
COLUMNS = {"question": "query", "answers": "truth.text"}


pytestmark = pytest.mark.usefixtures("hub_home")


def test_a_folder_of_json_lines_is_read_by_its_columns(write: Write) -> None:
    data = load(f"hf:{write('set/train.jsonl', ROWS).parent}", settings={"columns": COLUMNS})
    assert [q.question for q in data.questions] == [row["query"] for row in ROWS]
    assert data.questions[3].answers == ["3", "it"]


def test_one_of_several_splits_must_be_named(write: Write) -> None:
    for split in ("train", "validation"):
        folder = write(f"set/{split}.jsonl", ROWS).parent
    with pytest.raises(UserError, match=r"name one of its splits with split: train, validation"):
        load(f"hf:{folder}", settings={"columns": COLUMNS})


def test_a_dataset_in_a_published_format_needs_no_columns(write: Write) -> None:
    assert only(load(f"hf:{write('set/train.jsonl', [HOTPOT]).parent}", "hotpotqa")).answers == ["Ostholm"]
