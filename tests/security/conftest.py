"""A small run that the tests of damaged and strange runs change copies of."""

from __future__ import annotations

from pathlib import Path

import pytest

import r_eval
from r_eval import Grid


@pytest.fixture(scope="package")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "llm.py").write_text('def reply(request):\n    return "Ada"\n', encoding="utf-8")
    llm = {"llm": f"scripted/{folder / 'llm.py'}:reply", "name": "ada"}
    grid = Grid(workflows=["direct", "react"], llms=[llm], tasks=["aminer/soay-easy"], samples=2)
    return r_eval.run(grid, out=folder / "run").path
