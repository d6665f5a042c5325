"""docs/statistics.md is true: its commands print what the page says, and its Python runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import documents
from tests.cli.test_compare import BETTER, KS, write

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"


def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "before", BETTER)
    write(tmp_path / "runs" / "after", {**BETTER, "pal": {KS: [1] * 29 + [0] * 11}})
    documents.follow(PAGE, tmp_path)


def test_the_python_of_the_page_runs() -> None:
    found: dict[str, Any] = {}
    exec(documents.block(PAGE, "python", "ScorePairs"), found)
    assert found["score"].mean == 0.75
    assert found["found"].difference[0] == pytest.approx(1 / 3)
