"""What the tests of environments share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CallResult, Session

Ask = Callable[..., CallResult]


def json_lines(path: Path, *rows: Any) -> str:
    """A file with a line for each row: a text as it is, anything else as JSON."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept between runs; every test has its own."""
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def ask(sandbox: Sandbox) -> Ask:
    """A call of an environment as a model makes it, in a session of its own."""
    return lambda environment, api, **arguments: asyncio.run(Session(environment, sandbox).call(api, arguments))
