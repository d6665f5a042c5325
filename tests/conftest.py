"""What all tests share: real environments, a real sandbox, and a way to run a workflow over a scripted LLM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from r_eval.environments.sandbox import Sandbox
from tests.workers import ByFile, is_slow, place
from tests.workflow_contract import Pantry

# An example may take as long as it needs: how long that is says more of the machine than of the code.
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("suite", COMMON, max_examples=25)
settings.register_profile("thorough", COMMON, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand tests out by file, where they may be handed out by group."""
    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what takes long."""
    if is_slow(item.nodeid):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what takes longest."""
    items.sort(key=lambda item: place(item.nodeid))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the replies that another has kept."""
    monkeypatch.setenv("R_EVAL_REPLIES", str(tmp_path_factory.mktemp("cache") / "replies.sqlite"))


@pytest.fixture
def pantry() -> Pantry:
    return Pantry()


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real files of published datasets, where they are at hand."""
    folder = os.environ.get("R_EVAL_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("R_EVAL_DATA does not name the folder of real dataset files")
    return Path(folder)
