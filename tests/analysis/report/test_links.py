"""What a person does on the page: filters, links from one view to another, and addresses that bring it all back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.analysis.report.browser import Pages, Visit
from tests.analysis.report.conftest import Visiting
from tests.analysis.report.makers import TASKS

if TYPE_CHECKING:
    from playwright.sync_api import Page


def asked(page: Page) -> dict[str, str]:
    """The parameters in the address."""
    return {key: values[0] for key, values in parse_qs(urlsplit(urlsplit(page.url).fragment).query).items()}


def listed(page: Page) -> list[str]:
    """The questions in the list."""
    return page.locator("#questions-list .asked").all_text_contents()


def test_the_search_narrows_the_list_and_stands_in_the_address(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/questions")
    every = listed(page)
    word = every[0].split()[3]
    page.get_by_label("Search").fill(word)
    page.wait_for_url(f"**text={word}*")
    opened.settle()
    found = listed(page)
    assert 0 < len(found) < len(every)
    page.reload()
    opened.settle()
    assert listed(page) == found


@pytest.mark.parametrize(
    ("label", "key", "value"), [("Task", "task", TASKS[4]["name"]), ("Response type", "type", "GE")]
)
def test_a_filter_narrows_the_list_and_back_takes_it_away(visit: Visiting, label: str, key: str, value: str) -> None:
    opened = visit()
    page = opened.open("#/questions")
    every = listed(page)
    page.locator("#questions-filters").get_by_label(label).select_option(value)
    opened.settle()
    assert asked(page) == {key: value}
    assert 0 < len(listed(page)) < len(every)
    page.go_back()
    opened.settle()
    assert listed(page) == every


def test_filters_that_fit_nothing_say_so(visit: Visiting) -> None:
    page = visit().open("#/questions?text=nothing%20of%20the%20kind")
    assert "No question fits" in page.locator("#questions-count").inner_text()


def test_a_cause_leads_to_the_questions_that_it_befell(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/responses")
    link = page.locator("#causes-table a").last
    link.click()
    opened.settle()
    params = asked(page)
    assert params["type"]
    assert params["why"]
    assert page.locator("#filter-why").input_value() == params["why"]
    assert listed(page)


def test_a_mark_leads_to_the_transcript_and_that_to_the_question(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/questions")
    question = listed(page)[0]
    page.locator("#questions-list a.mark").first.click()
    page.locator("#transcript-body .step").first.wait_for()
    assert question in page.locator("#transcript-body").inner_text()
    page.get_by_role("link", name="All systems on this question").click()
    page.locator("#question-body table").wait_for()
    assert page.locator("#question-title").inner_text() == question


def test_a_step_has_an_address(visit: Visiting) -> None:
    opened = visit()
    opened.view("transcript")
    last = opened.page.locator("#transcript-body .step").count()
    opened.open(f"#/transcript?{urlsplit(urlsplit(opened.page.url).fragment).query}&step={last}")
    opened.page.locator(f"#step-{last}:focus").wait_for()


def test_two_systems_stand_side_by_side(visit: Visiting) -> None:
    opened = visit()
    page = opened.view("question")
    page.locator("#question-body .side").nth(1).wait_for()
    radio = page.locator("input[name=pick-a]:not(:checked)").first
    name = (radio.get_attribute("aria-label") or "").removesuffix(" as A")
    radio.click()
    page.locator(".side h3", has_text=name).wait_for()
    assert asked(page)["a"].split("+")[0] == name.split(" ")[0]


def test_the_list_turns_its_pages(visit: Visiting) -> None:
    opened = visit("long")
    page = opened.open("#/questions")
    first = listed(page)
    page.get_by_role("button", name="Next").click()
    opened.settle()
    assert len(first) == 50
    assert asked(page) == {"page": "2"}
    assert not set(listed(page)) & set(first)


def test_the_condition_is_kept_from_view_to_view(visit: Visiting) -> None:
    opened = visit("hostile")
    page = opened.open("#/overview")
    page.locator("#conditions button").nth(1).click()
    opened.settle()
    condition = asked(page)["condition"]
    for link in ("Responses", "Questions"):
        page.get_by_role("navigation").get_by_role("link", name=link).click()
        opened.settle()
        assert asked(page)["condition"] == condition
    assert page.locator("#conditions button[aria-pressed=true]").inner_text().startswith("noisy")


def test_bounds_in_the_address_name_the_best_system_within_them(visit: Visiting) -> None:
    opened = visit()
    free = opened.open("#/deployment").locator("#deployment-verdict").inner_text()
    bound = opened.open("#/deployment?seconds=5").locator("#deployment-verdict").inner_text()
    assert "without a bound" in free
    assert "within these bounds" in bound
    assert "Beyond a bound" in bound


def test_a_file_that_is_missing_is_named(browser: Pages, reports: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(reports("single"), tmp_path / "report")
    (tmp_path / "report" / "data" / "questions" / "0.js").unlink()
    opened = Visit(browser, tmp_path / "report", {})
    opened.open("#/questions")
    assert "data/questions/0.js" in opened.page.get_by_role("alert").inner_text()
    opened.close()


def test_a_folder_with_any_name_can_be_read(browser: Pages, reports: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "a report #1, 50 % & more?" / "über"
    shutil.copytree(reports("single"), folder)
    opened = Visit(browser, folder, {})
    opened.view("transcript")
    opened.close()
    assert opened.faults == []


def test_the_tables_that_the_page_links_to_are_there(visit: Visiting) -> None:
    opened = visit()
    links = [link.get_attribute("href") or "" for link in opened.open().locator("footer a").all()]
    assert links
    assert [link for link in links if not (opened.report / link).is_file()] == []
