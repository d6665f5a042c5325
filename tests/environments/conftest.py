"""What the tests of environments share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept between runs; every test has its own."""
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
