"""`r-eval check` on a file of facts with placeholders."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.checks import check_target as check

FOLDER = Path(__file__).parents[2] / "tasks" / "prgb"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_embedded_worlds_make_records(language: str) -> None:
    (finding,) = check(str(FOLDER / f"{language}.placeholders.yaml"))
    assert finding.severity == "note"
    assert "20 filter" in finding.what


def test_a_key_that_is_wrong_is_named(tmp_path: Path) -> None:
    (tmp_path / "world.yaml").write_text("placeholders: {seeed: 1}\n", encoding="utf-8")
    (finding,) = check(str(tmp_path / "world.yaml"))
    assert finding.severity == "error"
    assert "placeholders.seeed" in finding.what
