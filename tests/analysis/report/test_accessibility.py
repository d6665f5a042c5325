"""axe-core finds no serious fault in any view, and what it cannot see is there: an order of headings, and focus."""

from __future__ import annotations

from importlib import resources
from itertools import pairwise
from typing import Any

import pytest

from tests.analysis.report.browser import LAPTOP, PHONE, VIEWS
from tests.analysis.report.conftest import Visiting

# Levels of the headings that can be seen, in the order of the page.
LEVELS = """() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter((node) => node.checkVisibility())
  .map((node) => Number(node.tagName[1]))"""

# Whether the focused element is drawn otherwise than it is without focus.
FOCUS = """() => { const style = getComputedStyle(document.activeElement);
  return { what: document.activeElement.outerHTML.slice(0, 120),
           seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 }; }"""

# Without preloading axe-core asks for no files of its own, which the page would refuse it.
RUN = "() => axe.run(document, { resultTypes: ['violations'], preload: false })"


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python, which holds axe-core, is not installed")
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def faults(found: dict[str, Any]) -> list[str]:
    """The serious faults among what axe-core found."""
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:120]} {node['failureSummary'][:200]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_serious_fault(visit: Visiting, axe: str, theme: str, viewport: dict[str, int]) -> None:
    opened = visit("few", viewport=viewport, color_scheme=theme)
    opened.open().evaluate(axe)
    found = {view: faults(opened.view(view).evaluate(RUN)) for view in VIEWS}
    assert found == {view: [] for view in VIEWS}


def test_headings_leave_out_no_level(visit: Visiting) -> None:
    opened = visit()
    for view in VIEWS:
        levels = opened.view(view).evaluate(LEVELS)
        assert levels[0] == 1
        assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == [], view


def test_the_keyboard_shows_where_it_is(visit: Visiting) -> None:
    opened = visit()
    for view in VIEWS:
        page = opened.view(view)
        for _ in range(20):
            page.keyboard.press("Tab")
            found = page.evaluate(FOCUS)
            if found["what"].startswith("<body"):
                break  # past the last of them
            assert found["seen"], f"{view}: {found['what']}"
