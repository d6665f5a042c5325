"""What the tests of several modules of this room need."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def hub_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's library keeps nothing outside the test's folder."""
    pytest.importorskip("datasets", reason="the library datasets is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
