"""docs/testing.md is true: its tests run, and pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "testing.md"


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    for kind, marker in (
        ("python", "# test_scores.py"),
        ("yaml", "# grid.yaml"),
        ("python", "# test_environment.py"),
    ):
        (tmp_path / marker[2:]).write_text(documents.block(PAGE, kind, marker), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout
