"""Reports on disk, and a browser to read them with."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.folder import RunFolder
from tests.analysis.report import hostile, makers
from tests.analysis.report.browser import Visit, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXAMPLES = Path(__file__).parents[3] / "examples"
Visiting = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for the tests of a file: playwright's loop must not outlive them, others start loops of their own."""
    with chromium() as started:
        yield started


def partly(folder: Path) -> RunFolder:
    """Published means in which the highest is of a system that lacks a task."""
    folder.mkdir()
    lines = ("workflow,llm,task,score", "react,a,1-1,50", "react,a,1-2,40", "fc,a,1-2,99", "")
    (folder / "scores.csv").write_text("\n".join(lines), encoding="utf-8")
    return RunFolder(folder)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A report's folder by name: small, hostile, paper or partly (published means)."""
    made: dict[str, Path] = {}

    def report(name: str) -> Path:
        if name not in made:
            root = tmp_path_factory.mktemp(name)
            small = functools.partial(makers.small, questions=5)
            makes = {"hostile": hostile.hostile, "small": small, "partly": partly}
            run = RunFolder(EXAMPLES / "paper") if name == "paper" else makes[name](root / "run")
            made[name] = write_report(load(run), root / "report", figures=False).parent
        return made[name]

    return report


@pytest.fixture
def visit(browser: Browser, reports: Callable[[str], Path]) -> Iterator[Visiting]:
    """Opens a report in a page of its own. At the end nothing may have gone wrong in any of them."""
    visits: list[Visit] = []

    def visiting(name: str = "small", **settings: Any) -> Visit:
        visits.append(Visit(browser, reports(name), **settings))
        return visits[-1]

    yield visiting
    for opened in visits:
        opened.page.context.close()
    assert [fault for opened in visits for fault in opened.faults] == []
