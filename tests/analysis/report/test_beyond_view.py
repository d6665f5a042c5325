"""Beyond scores in a browser: read or remembered, what needs the domain, how steady, and what failures do."""

from __future__ import annotations

import random
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from r_eval.analysis.report import write_report
from r_eval.folder import Cell
from r_eval.records import Episode, Question
from tests.analysis.report import makers
from tests.analysis.report.browser import LAPTOP, PHONE, Pages, Visit
from tests.analysis.report.conftest import Visiting
from tests.analysis.report.test_accessibility import FOCUS, LEVELS, RUN, faults

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

EVIL = "<img src=x onerror=alert(1)>"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TITLES = [
    "Knowledge used, knowledge remembered",
    "What needs the domain",
    "Stability over variants",
    "When calls fail",
    "Against clean",
]


def part(page: Page, title: str) -> Locator:
    return page.locator(".beyond-part", has=page.locator("h3", has_text=title))


def bar(page: Page, title: str, system: str) -> str:
    """What the first bar of a system in a part tells those who cannot see it."""
    line = part(page, title).locator(".beyond-bars tr", has_text=system).first
    return line.locator(".stack").get_attribute("aria-label") or ""


def test_every_finding_has_a_part(visit: Visiting) -> None:
    page = visit("towns").open("#/beyond")
    assert page.locator(".beyond-part h3").all_inner_texts() == TITLES
    assert page.title() == "Beyond scores · towns · R-Eval"


def test_who_reads_is_faithful_and_who_remembers_leaks(visit: Visiting) -> None:
    page = visit("towns").open("#/beyond")
    assert bar(page, TITLES[0], "react · reader").startswith("faithful 100.0 (")
    assert bar(page, TITLES[0], "react · knower").startswith("faithful 41.7 (12.6–78.0), leaked 58.3 (")
    assert bar(page, TITLES[0], "direct · knower").startswith("faithful 0.0 (")


def test_a_bar_is_as_long_as_its_share_and_says_it(visit: Visiting) -> None:
    page = visit("towns").open("#/beyond")
    shown = part(page, TITLES[0]).locator(".beyond-bars tr", has_text="react · knower").locator(".part")
    assert shown.all_inner_texts() == ["41.7", "58.3"]
    assert (shown.nth(1).get_attribute("title") or "").startswith("leaked: 58.3 (")
    widths = [one.bounding_box() or {} for one in shown.all()]
    assert widths[0]["width"] / widths[1]["width"] == pytest.approx(41.67 / 58.33, rel=0.02)


def test_failures_stand_beside_the_bare_environment(visit: Visiting) -> None:
    page = visit("towns").open("#/beyond")
    assert bar(page, TITLES[3], "react · knower").startswith("retried 0.0 (")
    lines = part(page, TITLES[3]).locator(".beyond-cost tbody tr").all_inner_texts()
    assert lines[2].split("\t")[:4] == ["react · knower", "with a failure", "80.0 (35.2–96.7)", "100.0"]


def test_every_condition_is_held_against_clean(visit: Visiting) -> None:
    page = visit("towns").open("#/beyond")
    lines = [line.split("\t") for line in part(page, TITLES[4]).locator("tbody tr").all_inner_texts()]
    assert [line[1] for line in lines] == ["counterfactual"] * 4 + ["faulty"] * 4
    assert lines[1][0] == "react · knower"
    assert (lines[1][2].startswith("−58.3 (−100.0 to −"), lines[1][-1]) == (True, "yes")


def test_the_task_is_that_of_the_address(visit: Visiting) -> None:
    opened = visit("towns")
    page = opened.open("#/beyond")
    page.get_by_label("Task").select_option("towns/rivers")
    opened.settle()
    assert "task=towns%2Frivers" in page.url
    assert bar(page, TITLES[0], "react · knower").startswith("faithful 41.7 (5.4–90.0)")


def test_all_conditions_are_shown_so_there_is_none_to_choose(visit: Visiting) -> None:
    opened = visit("towns")
    page = opened.open("#/beyond")
    assert part(page, TITLES[2]).locator("h4").all_inner_texts() == ["clean", "counterfactual", "faulty"]
    assert not page.locator("#conditions").is_visible()
    assert opened.open("#/responses").locator("#conditions").is_visible()


@pytest.mark.parametrize("name", ["single", "sweep"])
def test_a_run_that_tells_nothing_of_it_does_not_offer_the_view(visit: Visiting, name: str) -> None:
    assert "Beyond" not in visit(name).open("#/overview").locator("#views").inner_text()


def test_beside_am_stands_what_the_llm_alone_gives_too(visit: Visiting) -> None:
    page = visit("towns").open("#/responses?condition=faulty")
    folded = page.locator("#responses-closed")
    assert folded.locator("summary").inner_text() == "AM: 10 of 10 such answers the LLM gives without tools too"
    folded.locator("summary").click()
    assert folded.locator("tbody tr").nth(1).inner_text().split("\t") == ["react · knower", "8", "8", "100.0"]
    assert visit("single").open("#/responses").locator("#responses-closed").inner_text() == ""


def test_the_tables_lie_beside_the_page(visit: Visiting) -> None:
    links = visit("towns").open("#/beyond").locator("#foot a")
    files = {Path(link.get_attribute("href") or "").name for link in links.all()}
    names = ("faithful", "closed_book", "stability", "recovery", "against_clean")
    assert {f"{name}.{kind}" for name in names for kind in ("csv", "md", "tex")} <= files


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python, which holds axe-core, is not installed")
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("theme", "viewport"), [("light", LAPTOP), ("dark", PHONE)], ids=["laptop", "phone"])
def test_the_view_has_no_serious_fault_and_fits(
    visit: Visiting, axe: str, theme: str, viewport: dict[str, int]
) -> None:
    page = visit("towns", viewport=viewport, color_scheme=theme).open("#/beyond")
    assert page.evaluate(WIDER) <= 0
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate(axe)
    assert faults(page.evaluate(RUN)) == []
    levels = page.evaluate(LEVELS)
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []


def test_the_keyboard_reaches_the_task_and_every_folded_table_and_is_seen(visit: Visiting) -> None:
    page = visit("towns").open("#/beyond")
    page.locator("#views a").last.focus()
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUS)
        reached.append(at["what"])
        assert at["seen"], at["what"]
    assert 'id="beyond-task"' in reached[0]
    assert sum("<summary>" in one for one in reached) >= 6


def test_on_paper_the_bars_keep_their_colours(visit: Visiting) -> None:
    page = visit("towns").open("#/beyond")
    page.emulate_media(media="print")
    kept = "getComputedStyle(document.querySelector('.beyond-bars .part')).printColorAdjust"
    assert page.evaluate(kept) == "exact"
    assert not page.locator("#beyond-controls").is_visible()


def test_what_names_say_does_nothing(browser: Pages, tmp_path: Path) -> None:
    pairs = [("react", EVIL), ("direct", EVIL)]

    def made(cell: Cell, task: dict[str, Any], asked: Question, rng: random.Random) -> Episode:
        one = makers.episode(cell._replace(workflow="react", llm="openai/gpt-4.1"), task, asked, rng)
        named = {"episode_id": makers.identity(cell, asked), "workflow": cell.workflow, "llm": cell.llm}
        return one.model_copy(update=named)

    run = makers.write_run(tmp_path / "run", pairs, makers.TASKS[:1], 6, made, conditions=("clean", "<b>other</b>"))
    opened = Visit(browser, write_report([run], tmp_path / "report", figures=False).parent, {})
    page = opened.open("#/beyond")
    assert EVIL in page.locator("#beyond-parts").inner_text()
    assert page.locator("#beyond-parts h4").nth(1).inner_text() == "<b>other</b>"
    assert page.locator("#beyond-parts img, #beyond-parts b").count() == 0
    opened.close()
    assert opened.faults == []
