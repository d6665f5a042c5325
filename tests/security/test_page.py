"""Every line of docs/security.md names a test that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ")][1:]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_row_names_a_test_and_every_test_is_there() -> None:
    assert len(ROWS) > 20
    assert [row for row in ROWS if not TEST.search(row.split("|")[-2])] == []
    for path, name in TEST.findall(TEXT):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {getattr(node, "name", "") for node in tree.body}, f"{path}::{name}"
