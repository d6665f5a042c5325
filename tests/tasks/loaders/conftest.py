"""Data files in the forms in which they are published, with content of our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, Iterable[Any]], Path]


@pytest.fixture
def as_list(tmp_path: Path) -> Write:
    """Writes records as one JSON list."""

    def write(name: str, records: Iterable[Any]) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(list(records), indent=1), encoding="utf-8")
        return path

    return write


@pytest.fixture
def as_lines(tmp_path: Path) -> Write:
    """Writes records as JSON Lines."""

    def write(name: str, records: Iterable[Any]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write
