"""What the season of a question file adds to its check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r_eval.checks import check_target as check
from tests.commands import typed_here


@pytest.fixture
def made(recipes: Path) -> Path:
    """A question file that `generate` made, with its season."""
    done = typed_here(["generate", "templates.yaml", "--count", "8", "--out", "made.jsonl"], recipes)
    assert done.returncode == 0
    return recipes / "made.jsonl"


def test_the_environment_is_known_from_the_season(made: Path) -> None:
    line = json.loads(made.read_text(encoding="utf-8").splitlines()[0])
    made.write_text(json.dumps({**line, "program": "answer = [][0]"}), encoding="utf-8")
    assert any("a program that fails" in f.what for f in check(str(made)))


def test_a_made_file_is_clean_and_its_season_is_named(made: Path) -> None:
    findings = check(str(made))
    assert {f.severity for f in findings} == {"note"}
    assert "season 1.0.0 over recipes.py" in findings[0].what


def test_a_set_that_was_changed_by_hand_is_a_warning(made: Path) -> None:
    lines = made.read_text(encoding="utf-8").splitlines()
    made.write_text("\n".join(lines[1:]), encoding="utf-8")
    (finding,) = [f for f in check(str(made)) if f.severity != "note"]
    assert finding.what == "7 questions, though its season file says 8"
