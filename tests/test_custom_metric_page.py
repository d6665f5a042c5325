"""docs/custom-metric.md is true: its files are written as it shows them, its commands print what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "custom-metric.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page shows; their first line is their name."""
    there = tmp_path_factory.mktemp("metric")
    for kind, text in documents.blocks(PAGE):
        if kind in ("python", "yaml") and (name := re.match(r"# (\w+\.(?:py|yaml))\n", text)):
            (there / name[1]).write_text(text, encoding="utf-8")
    return there


def test_every_command_prints_what_the_page_says(folder: Path) -> None:
    for command in documents.commands(PAGE):
        done = documents.typed(command.line, folder)
        assert done.returncode == 0, done.stderr
        assert documents.matches(done.stdout, command.expected), done.stdout


def test_the_test_of_the_page_passes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    runpy.run_path(str(folder / "test_metrics.py"))["test_a_long_answer_is_worth_half"]()
