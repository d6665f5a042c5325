"""What the tests of environments share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CallResult, Session

Ask = Callable[..., CallResult]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept between runs; every test has its own."""
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def ask(sandbox: Sandbox) -> Ask:
    """A call of an environment as a model makes it, in a session of its own."""
    return lambda environment, api, **arguments: asyncio.run(Session(environment, sandbox).call(api, arguments))
