"""Completion in a shell, as bash asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_commands import typed


@pytest.mark.parametrize(("words", "completed"), [("r-eval do", "doctor"), ("r-eval export --l", "--licence")])
def test_commands_and_options_are_completed(words: str, completed: str, tmp_path: Path) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_R_EVAL_COMPLETE": "complete_bash"}
    assert typed(tmp_path, **asked).stdout == f"{completed}\n"


def test_nothing_is_completed_that_is_not_there(tmp_path: Path) -> None:
    asked = {"COMP_WORDS": "r-eval zzz", "COMP_CWORD": "1", "_R_EVAL_COMPLETE": "complete_bash"}
    assert typed(tmp_path, **asked).stdout.strip() == ""
