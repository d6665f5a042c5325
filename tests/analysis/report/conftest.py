"""Reports on disk, and a browser to read them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.report import write_report
from r_eval.folder import RunFolder
from tests.analysis.report import hostile, makers
from tests.analysis.report.browser import Pages, Visit, chromium
from tests.analysis.sweeping import ONE, write_sweep
from tests.analysis.towns import towns_run

EXAMPLES = Path(__file__).parents[3] / "examples"
PAPER = EXAMPLES / "paper"

Visiting = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Pages]:
    """One for the tests of a file: playwright's loop must not outlive them, others start loops of their own."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A report's folder by name: small, few (questions), hostile, paper, crud-paper, single, long, sweep or towns."""
    made: dict[str, Path] = {}

    def report(name: str) -> Path:
        if name not in made:
            root = tmp_path_factory.mktemp(name)
            made[name] = write_report([_run(name, root / "run")], root / "report", figures=False).parent
        return made[name]

    return report


def _run(name: str, path: Path) -> RunFolder:
    if name == "paper":
        return RunFolder(PAPER)
    if name == "crud-paper":
        return RunFolder(EXAMPLES / name)
    if name == "sweep":
        right = dict(zip(ONE, (4, 9, 5, 4, 3), strict=True))
        return write_sweep(
            path, lambda cell, number: number % 10 < right[cell.workflow], pairs=[("rag", "openai/gpt-4.1")]
        )
    if name == "towns":
        return towns_run(path)
    if name == "hostile":
        return hostile.hostile(path)
    if name == "single":
        return makers.write_run(path, [("react", "gguf/smollm2-135m")], makers.TASKS[:1], 5, makers.episode)
    if name == "long":
        return makers.write_run(path, [("react", "gguf/smollm2-135m")], makers.TASKS[:1], 120, makers.episode)
    if name == "few":
        return makers.small(path, questions=5)
    return makers.small(path)


@pytest.fixture
def visit(browser: Pages, reports: Callable[[str], Path]) -> Iterator[Visiting]:
    """Opens a report in a page of its own. At the end nothing may have gone wrong in any of them."""
    visits: list[Visit] = []

    def visiting(name: str = "small", **settings: Any) -> Visit:
        visits.append(Visit(browser, reports(name), settings))
        return visits[-1]

    yield visiting
    for opened in visits:
        opened.close()
    assert [fault for opened in visits for fault in opened.faults] == []
