"""Every line of docs/security.md names a test that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security.md"
ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
SUBJECTS = (
    "Model text", "Tool results", "Grid files", "Question files", "Environments by path", "Reports", "Caches",
    "Archives", "Servers", "Secrets", "Telemetry", "Network",
)  # fmt: skip


def subject(row: str) -> str:
    return row.split("|")[1].strip()


@pytest.mark.parametrize("row", ROWS, ids=subject)
def test_a_row_names_a_test_that_is_there(row: str) -> None:
    found = TEST.findall(row.split("|")[-2])
    assert found, "it names no test"
    for path, name in found:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_page_says_something_of_everything(name: str) -> None:
    assert any(subject(row).startswith(name) for row in ROWS)


def test_tests_that_the_text_names_are_there() -> None:
    for path, name in TEST.findall(PAGE.read_text(encoding="utf-8")):
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
