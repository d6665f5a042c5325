"""Data files in the forms in which they are published, with content of our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.records import Question
from r_eval.tasks.loaders import Data

Write = Callable[[str, Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes records as JSON Lines where the name ends so, else as one JSON value."""

    def write(name: str, records: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(record) + "\n" for record in records)
        path.write_text(lines if name.endswith(".jsonl") else json.dumps(records, indent=1), encoding="utf-8")
        return path

    return write


def only(data: Data) -> Question:
    (question,) = data.questions
    return question
