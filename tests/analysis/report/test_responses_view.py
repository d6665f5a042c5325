"""Response types and causes in a browser: that numbers and links lead to what they count."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.analysis.report.browser import Visit

Visiting = Callable[..., Visit]
SYSTEM = "system=react%2Bopenai%2Fgpt-4o-mini"
TOTALS = """() => Report.data.rows.filter((row) => row.role === "system").reduce((sum, row) => sum + row.recorded, 0)"""


def test_a_part_of_a_bar_leads_to_its_causes(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/responses")
    part = page.locator("#response-bars .part[aria-label*=' RE,']").first
    label = part.get_attribute("aria-label") or ""
    part.click()
    opened.settle()
    counts = [int(text) for text in page.locator("#causes-table tbody td a").all_inner_texts()]
    assert sum(counts) == int(re.findall(r"(\d+) of", label)[0])
    assert set(page.locator("#causes-table tbody th").all_inner_texts()) == {"RE"}
    assert page.evaluate("document.activeElement.id") == "causes-title"


def test_all_contenders_together_leave_the_bounds_out(visit: Visiting) -> None:
    page = visit().open("#/responses")
    assert page.locator("#causes-all").inner_text() == f"all {page.evaluate(TOTALS)}"


def test_a_cause_leads_to_as_many_questions(visit: Visiting) -> None:
    opened = visit()
    page = opened.open(f"#/responses?{SYSTEM}&type=RE")
    link = page.locator("#causes-table tbody td a").first
    number = int(link.inner_text())
    link.click()
    opened.settle()
    assert page.locator("[data-view=questions]").first.is_visible()
    assert page.locator("#questions-list .asked").count() == number


def test_the_rings_are_drawn_on_demand(visit: Visiting) -> None:
    opened = visit()
    page = opened.open(f"#/responses?{SYSTEM}")
    assert page.locator("#rings svg").count() == 0
    page.get_by_role("button", name="two-ring chart").click()
    opened.settle()
    assert page.locator("#rings svg").get_attribute("role") == "img"
    assert "rings=yes" in page.url


def test_the_inner_ring_says_which_half_is_which(visit: Visiting) -> None:
    page = visit().open("#/responses?rings=yes")
    assert "not matched" in (page.locator("#rings svg").get_attribute("aria-label") or "")


def test_the_shares_of_a_bar_add_up(visit: Visiting) -> None:
    page = visit().open("#/responses")
    widths = page.evaluate(
        """() => [...document.querySelectorAll("#response-bars .stack")].map(
            (bar) => [...bar.children].reduce((sum, part) => sum + parseFloat(part.style.width), 0))"""
    )
    assert {round(width, 2) for width in widths} == {100.0}


def test_the_kept_threshold_is_marked(visit: Visiting) -> None:
    page = visit().open(f"#/responses?{SYSTEM}")
    assert page.locator("#thresholds-table tbody strong").first.inner_text() == "0.5 (as scored)"


def test_published_means_have_no_response_types(visit: Visiting) -> None:
    page = visit("paper").open("#/responses")
    assert "needs episodes" in page.locator("#responses-lead").inner_text()
    assert not page.locator("#causes").is_visible()


def test_retrieval_is_told_of_each_system_whose_evidence_is_known(visit: Visiting) -> None:
    page = visit().open("#/responses")
    page.locator("#responses-retrieval summary").click()
    lines = page.evaluate("Retrieval.lines(rowsShown().filter((row) => row.recorded), -1).length")
    assert page.locator("#responses-retrieval tbody tr").count() == lines > 0
    cells = page.locator("#responses-retrieval tbody tr").first.locator("td").all_inner_texts()
    wrong, *failures = (int(text.split()[0]) for text in cells[-4:])
    assert wrong == sum(failures)


def test_retrieval_follows_the_chosen_task(visit: Visiting) -> None:
    page = visit().open("#/responses?task=wiki%2Ffacts")
    page.locator("#responses-retrieval summary").click()
    counts = page.locator("#responses-retrieval tbody tr td:nth-child(5)").all_inner_texts()
    task = "Report.data.tasks.findIndex((known) => known.name === 'wiki/facts')"
    lines = page.evaluate(f"Report.data.retrieval.lines.filter((one) => one.task === {task}).map((one) => one.n)")
    assert sorted(counts) == sorted(map(str, lines))


def test_without_known_evidence_there_is_no_table_of_retrieval(visit: Visiting) -> None:
    assert visit("paper").open("#/responses").locator("#responses-retrieval details").count() == 0
