"""The page as a browser draws it from disk: a visit on a laptop, on a dark phone, of hostile texts, and with axe."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.report.browser import LAPTOP, PHONE, VIEWS
from tests.analysis.report.conftest import Visiting
from tests.analysis.report.hostile import TEXTS

# Without preloading axe-core asks for no files of its own, which the page would refuse it.
RUN = "() => axe.run({ exclude: ['.plot'] }, { resultTypes: ['violations'], preload: false })"
LEVELS = """() => [...document.querySelectorAll('h1, h2, h3, h4')].filter((node) => node.checkVisibility())
  .map((node) => Number(node.tagName[1]))"""


def test_a_visit_on_a_laptop(visit: Visiting, reports: Callable[[str], Path]) -> None:
    opened = visit(viewport={"width": 1440, "height": 900})
    page = opened.open()
    assert page.locator("#tabs a").all_inner_texts() == ["Results", "Errors", "Details"]
    assert page.locator(".card h2").all_inner_texts()[::2] == ["Best system", "Commonest cause of failure"]
    with (reports("small") / "tables" / "scores.csv").open(encoding="utf-8", newline="") as file:
        scores = {row["system"]: float(row["average_all"]) for row in csv.DictReader(file)}
    shown = {
        row.locator("th").get_attribute("title"): float(row.locator("td.mean").inner_text())
        for row in page.locator("#board tbody tr").all()
    }
    assert shown == {system: pytest.approx(score, abs=0.051) for system, score in scores.items()}
    page.locator("#sort-rank").click()
    assert page.locator("#board th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.fill("#limit", "0.0001")
    page.locator("#limit").blur()
    assert "No system" in page.locator(".card").nth(1).inner_text()
    charts = page.locator("[data-tab=results] .plot .main-svg").count()
    assert charts >= 3 * page.locator("[data-tab=results] .plot").count()


def test_questions_are_filtered_and_lead_to_transcripts(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/errors")
    every = page.locator("#matrix tbody tr").count()
    assert page.locator("#matrix thead th").count() == 1 + 9
    page.select_option("#filter-type", "RE")
    page.select_option("#filter-task", "1")
    opened.settle()
    found = page.locator("#matrix tbody tr").count()
    assert 0 < found < every
    assert (
        page.locator("#matrix tbody tr").count() == page.locator("#matrix tbody tr:has(a.badge:text-is('RE'))").count()
    )
    page = opened.view("question")
    assert page.locator("#question tbody tr").count() == 9
    page = opened.view("episode")
    assert page.locator("#episode .step").count() >= 1
    page.select_option("#choose-with", index=1)
    opened.settle()
    assert page.locator("#episode .sides > .block").count() == 2


def test_a_visit_with_a_dark_phone(visit: Visiting) -> None:
    opened = visit(viewport=PHONE, color_scheme="dark")
    for view in VIEWS:
        page = opened.view(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], view
        levels = page.evaluate(LEVELS)
        assert [pair for pair in itertools.pairwise(levels) if pair[1] > pair[0] + 1] == [], view


def test_published_means_have_no_tab_of_errors(visit: Visiting) -> None:
    page = visit("paper").open()
    assert page.locator("#tabs a").all_inner_texts() == ["Results", "Details"]
    assert page.locator("#board tbody tr").count() == 21
    assert page.locator("[data-tab=results] section:visible h2").all_inner_texts() == ["Scores", "Matching"]
    shown = page.evaluate("[...Array(10001).keys()].map((number) => percent(number / 10000))")
    assert shown == [
        f"{100 * (number / 10000):.1f}" for number in range(10001)
    ]  # as figures and the terminal have them


def test_the_card_names_the_system_of_the_sentence_above_it(visit: Visiting) -> None:
    page = visit("partly").open()
    assert "react+a, 45.0 %" in page.locator("#lead").inner_text()
    assert "45.0 %" in page.locator(".card").first.inner_text()


def test_a_hostile_run_is_text(visit: Visiting) -> None:
    opened = visit("hostile")
    for view in VIEWS:
        page = opened.view(view)
        assert page.evaluate("window.hacked") is None, view
        assert page.locator("main :is(img, iframe, object, embed, meta, base, form)").count() == 0, view
        assert page.locator("main script, main style:not(.plot style)").count() == 0, view
    episode = opened.view("episode")
    for summary in episode.locator("#episode summary").all():
        summary.click()
    for fold in episode.locator("#episode .fold").all()[:3]:
        fold.click()
    page = opened.open("#/errors")
    assert TEXTS["script"] in page.locator("#matrix").inner_text()
    assert page.evaluate("window.hacked") is None


def test_an_address_that_leads_nowhere_says_so(visit: Visiting) -> None:
    opened = visit()
    for address in ("#/episode?task=0&id=nothing", "#/question?task=99", "#/episode?task=__proto__&c=x"):
        assert "There is no such" in opened.open(address).locator("main").inner_text()


def test_a_lost_file_is_named(visit: Visiting, reports: Callable[[str], Path]) -> None:
    path = reports("small") / "data" / "details.js"
    path.rename(path.with_suffix(".away"))
    try:
        opened = visit()
        page = opened.open("#/details")
        assert "data/details.js" in page.locator("#fault").inner_text()
        opened.faults.clear()  # the browser's own word on the file
    finally:
        path.with_suffix(".away").rename(path)


@pytest.mark.parametrize(("theme", "viewport"), [("light", LAPTOP), ("dark", PHONE)], ids=["laptop", "phone"])
def test_axe_finds_no_serious_fault(visit: Visiting, theme: str, viewport: dict[str, int]) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python, which holds axe-core, is not installed")
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    opened = visit(viewport=viewport, color_scheme=theme)
    found = {}
    for view in VIEWS:
        page = opened.view(view)
        page.evaluate(axe)
        found[view] = _faults(page.evaluate(RUN))
    assert found == {view: [] for view in VIEWS}


def _faults(found: dict[str, Any]) -> list[str]:
    """The serious faults among what axe-core found."""
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:120]} {node['failureSummary'][:200]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
