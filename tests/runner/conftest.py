"""A desk for every test, and an event loop for those that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from tests.runner.desks import Desk


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
