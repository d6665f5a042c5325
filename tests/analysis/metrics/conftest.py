"""What the tests of judges share: an LLM that a script plays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Name of the LLM that the function `by_hand` of a script is; its replies are kept for this test alone."""
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))

    def name(script: str) -> str:
        path = tmp_path / "llm.py"
        path.write_text(script, encoding="utf-8")
        return f"scripted/{path}:by_hand"

    return name
