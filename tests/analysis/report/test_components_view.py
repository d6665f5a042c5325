"""The components in a browser: what to take, the charts with their intervals, and the same numbers as tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.report import write_report
from r_eval.folder import RunFolder
from tests.analysis.report.browser import LAPTOP, PHONE, Pages, Visit
from tests.analysis.report.conftest import EXAMPLES, Visiting
from tests.analysis.report.test_accessibility import FOCUS, LEVELS, RUN, faults
from tests.analysis.sweeping import BASE, write_sweep

EVIL = "<img src=x onerror=alert(1)>"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_what_is_surely_best_is_said_and_what_is_not_is_listed(visit: Visiting) -> None:
    page = visit("sweep").open("#/components")
    lines = page.locator("#advice-table tbody tr").all_inner_texts()
    chunks, retriever = (next(line for line in lines if name in line) for name in ("chunk_size", "retriever"))
    assert "64" in chunks
    assert "surely: 256 comes closest, 40.0 behind" in chunks
    assert "cannot be told from dense, with 40 questions" in retriever


def test_a_chart_names_its_values_means_and_intervals_for_those_who_cannot_see_it(visit: Visiting) -> None:
    page = visit("sweep").open("#/components")
    label = page.locator("svg.component-chart").first.get_attribute("aria-label") or ""
    assert label.startswith("token_f1 on wiki/facts by chunk_size: 64 90.0 (")
    assert "128 40.0 (" in label


def test_every_component_has_a_chart_and_a_table(visit: Visiting) -> None:
    page = visit("sweep").open("#/components")
    assert page.locator(".component h3").all_inner_texts() == ["chunk_size", "retriever", "top_k", "llm"]
    assert (page.locator(".component-chart").count(), page.locator(".component table").count()) == (4, 4)


def test_names_are_not_joined_by_a_line(visit: Visiting) -> None:
    page = visit("sweep").open("#/components")
    assert [part.locator(".component-chart .line").count() for part in page.locator(".component").all()] == [1, 0, 1, 0]


def test_the_metric_is_that_of_the_address(visit: Visiting) -> None:
    opened = visit("sweep")
    page = opened.open("#/components")
    page.get_by_label("Metric").focus()
    page.get_by_label("Metric").select_option(label="prompt tokens")
    opened.settle()
    assert "metric=prompt_tokens" in page.url
    assert page.evaluate("document.activeElement.id") == "components-metric"
    label = page.locator("svg.component-chart").first.get_attribute("aria-label") or ""
    assert label.startswith("prompt_tokens on wiki/facts by chunk_size: 64 1\u202f000 (")


def test_a_metric_that_is_not_there_is_said_to_be_so(visit: Visiting) -> None:
    page = visit("sweep").open("#/components?metric=no+such")
    assert page.locator(".component .note").first.inner_text() == "There is no number of this metric."


def test_a_run_that_varies_nothing_does_not_offer_the_view(visit: Visiting) -> None:
    page = visit("single").open("#/overview")
    assert "Components" not in page.locator("#views").inner_text()
    page = visit("sweep").open("#/overview")
    assert "Components" in page.locator("#views").inner_text()


def test_published_components_have_no_other_view(visit: Visiting) -> None:
    page = visit("crud-paper").open("#/overview")
    assert page.locator("#views").inner_text() == "Components"
    assert page.locator("#advice-table").is_visible()
    assert not page.locator("#scores").is_visible()
    assert "no intervals" in page.locator("#components-lead").inner_text()


def test_published_advice_names_its_metric_in_a_column(visit: Visiting) -> None:
    page = visit("crud-paper").open("#/components")
    assert page.locator("#advice-table thead th").all_inner_texts()[2] == "metric"
    first = page.locator("#advice-table tbody tr").first.locator("td").all_inner_texts()
    assert first[:3] == ["chunk_size", "bleu_published", "64"]


def test_a_component_without_a_chart_links_to_the_metrics_that_have_one(visit: Visiting) -> None:
    opened = visit("crud-paper")
    part = opened.open("#/components").locator(".component", has_text="top_k")
    part.get_by_role("link", name="quest_eval_precision").click()
    opened.settle()
    assert part.locator(".component-chart").count() == 1


def test_no_word_of_a_verdict_is_parted_on_a_phone(visit: Visiting) -> None:
    page = visit("crud-paper", viewport=PHONE).open("#/components")
    lines = (
        "(node) => { const range = new Range(); range.selectNodeContents(node); return range.getClientRects().length; }"
    )
    assert page.locator("#advice-claims .contradicted").first.evaluate(lines) == 1


def test_claims_stand_beside_their_verdicts(visit: Visiting) -> None:
    page = visit("crud-paper").open("#/components")
    first = page.locator("#advice-claims tbody tr").first.inner_text()
    assert "contradicted" in first
    assert "512: 50.31" in first


def test_the_source_of_a_published_number_is_its_title(visit: Visiting) -> None:
    page = visit("crud-paper").open("#/components")
    title = page.locator(".component td[title*='second-hand']").first.get_attribute("title")
    assert title == "Table 8. second-hand copy of table 8, not checked against the paper"


@pytest.mark.parametrize("name", ["sweep", "crud-paper"])
def test_the_view_fits_a_phone(visit: Visiting, name: str) -> None:
    page = visit(name, viewport=PHONE).open("#/components")
    assert page.evaluate(WIDER) <= 0


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python, which holds axe-core, is not installed")
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["sweep", "crud-paper"])
def test_the_view_has_no_serious_fault(
    visit: Visiting, axe: str, name: str, theme: str, viewport: dict[str, int]
) -> None:
    page = visit(name, viewport=viewport, color_scheme=theme).open("#/components")
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate(axe)
    assert faults(page.evaluate(RUN)) == []


def test_headings_leave_out_no_level_and_the_keyboard_shows_where_it_is(visit: Visiting) -> None:
    page = visit("crud-paper").open("#/components")
    levels = page.evaluate(LEVELS)
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    for _ in range(12):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUS)
        assert found["seen"] or found["what"].startswith("<body")


def test_hostile_names_are_only_text(browser: Pages, tmp_path: Path) -> None:
    evil = {"rag": {**BASE, EVIL: "\u202eone"}, f"rag@{EVIL}=x": {**BASE, EVIL: f"</script>{EVIL}" * 4}}
    run = write_sweep(tmp_path / "run", lambda cell, number: number % 2 == 0, evil)
    paper = tmp_path / "paper"
    paper.mkdir()
    for name in ("components.csv", "claims.csv"):
        text = (EXAMPLES / "crud-paper" / name).read_text(encoding="utf-8")
        (paper / name).write_text(text.replace("top_k", EVIL).replace("summar", EVIL), encoding="utf-8")
    opened = Visit(browser, write_report([run, RunFolder(paper)], tmp_path / "report", figures=False).parent, {})
    page = opened.open("#/components")
    assert page.locator("img").count() == 0
    assert page.locator(".component h3").first.inner_text() == f"{EVIL}, run"
    assert "[U+202E]one" in page.locator("#advice-table").inner_text()
    assert page.evaluate(WIDER) <= 0
    opened.close()
    assert opened.faults == []


def test_a_run_without_variants_has_no_data_of_components(reports: Callable[[str], Path]) -> None:
    text = (reports("single") / "data" / "results.js").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(json.loads(text[text.index("JSON.parse(") + 11 : text.rindex(")")]))
    assert (data["studies"], data["advice"], data["claims"]) == ([], [], [])
