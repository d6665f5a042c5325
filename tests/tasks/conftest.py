"""What the tests of several modules of this room need."""

from __future__ import annotations

from pathlib import Path

import pytest


def write_llm(folder: Path, reply: str) -> str:
    """Writes an LLM whose reply is an expression over the prompt, `text`; returns its name."""
    body = f"import json, re\ndef write(request):\n    text = request.messages[-1].content\n    return {reply}\n"
    (folder / "writer.py").write_text(body, encoding="utf-8")
    return f"scripted/{folder}/writer.py:write"


@pytest.fixture
def hub_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's library keeps nothing outside the test's folder."""
    pytest.importorskip("datasets", reason="the library datasets is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
