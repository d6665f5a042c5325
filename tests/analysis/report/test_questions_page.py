"""Questions, one question and a transcript in a browser: filters, addresses, folds, marks and the tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from r_eval.analysis.report import write_report
from r_eval.folder import Cell
from r_eval.records import Episode, Step, Tokens
from tests.analysis.report import makers
from tests.analysis.report.browser import Pages, Visit
from tests.analysis.report.conftest import Visiting

if TYPE_CHECKING:
    from playwright.sync_api import Page

REACT = "react+openai/gpt-4o-mini"
PAL = "pal+openai/gpt-4o-mini"
LONG = "word " * 3000 + "then Nairobi." + " word" * 3000


def entries(page: Page) -> int:
    return page.locator("ol.questions > li").count()


def wait_for(page: Page, questions: int) -> None:
    """Wait until so many questions are listed."""
    from playwright.sync_api import expect

    expect(page.locator("ol.questions > li")).to_have_count(questions)


@pytest.fixture
def listed(visit: Visiting) -> Callable[[str], Page]:
    """The list of questions at an address, drawn."""

    def opened(address: str = "") -> Page:
        page = visit().open(f"#/questions{address}")
        page.locator("#questions-count:not(:empty)").wait_for()
        return page

    return opened


def test_a_page_of_questions_is_shown_at_a_time(listed: Callable[[str], Page]) -> None:
    page = listed("")
    assert entries(page) == 48
    assert "48 questions" in page.locator("#questions-count").inner_text()


def test_every_system_has_a_mark(listed: Callable[[str], Page]) -> None:
    assert listed("").locator("ol.questions > li").first.locator(".mark").count() == 9


def test_the_filters_of_an_address_are_set(listed: Callable[[str], Page]) -> None:
    page = listed("?task=wiki/counts&type=GE")
    assert page.locator("#filter-task").input_value() == "wiki/counts"
    assert page.locator("#filter-type").input_value() == "GE"
    assert 0 < entries(page) <= 12


def test_a_filter_goes_into_the_address(listed: Callable[[str], Page]) -> None:
    page = listed("")
    page.locator("#filter-level").select_option("KA")
    wait_for(page, 24)
    assert page.url.endswith("#/questions?level=KA")


def test_the_search_finds_words_and_keeps_the_focus(listed: Callable[[str], Page]) -> None:
    page = listed("")
    wanted = page.locator(".asked").nth(3).text_content() or ""
    page.locator("#filter-text").click()
    page.keyboard.type(wanted.upper())
    wait_for(page, 1)
    assert page.evaluate("document.activeElement.id") == "filter-text"


def test_a_search_for_nothing_that_is_there_says_so(listed: Callable[[str], Page]) -> None:
    assert "No question fits" in listed("?text=xyzzy").locator("#questions-count").inner_text()


def test_results_without_episodes_say_that_they_have_no_questions(visit: Visiting) -> None:
    page = visit("paper").open("#/questions")
    assert "without episodes" in page.locator("#questions-count").inner_text()


def test_questions_on_which_two_systems_differ_come_first(listed: Callable[[str], Page]) -> None:
    page = listed(f"?a={REACT.replace('+', '%2B')}&b={PAL.replace('+', '%2B')}&sort=differ")
    scores = [line.split(" · ") for line in page.locator(".both").all_text_contents()]
    gaps = [abs(_percent(a) - _percent(b)) for a, b in scores]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0


def _percent(text: str) -> float:
    return 0.0 if "no score" in text else float(text.split()[-2])


def test_a_question_shows_two_systems_side_by_side(listed: Callable[[str], Page]) -> None:
    page = listed("")
    page.locator(".asked a").first.click()
    assert page.locator(".side").nth(1).is_visible() or page.locator(".side").nth(1).wait_for() is None
    assert page.locator("table.plain tbody tr").count() == 9
    page.get_by_label("fc · gpt-4o-mini as B").check()
    page.locator(".side h3", has_text="fc · gpt-4o-mini").wait_for()
    assert "b=fc" in page.url
    assert page.evaluate("document.activeElement.ariaLabel") == "fc · gpt-4o-mini as B"


def test_the_next_question_is_the_next_of_the_filtered_list(listed: Callable[[str], Page]) -> None:
    page = listed("?level=KA")
    page.locator(".asked a").first.click()
    page.get_by_text("1 of 24").wait_for()
    page.get_by_role("link", name="Next").click()
    page.get_by_text("2 of 24").wait_for()
    page.get_by_role("link", name="All questions").click()
    wait_for(page, 24)


def test_another_system_is_a_choice_away(listed: Callable[[str], Page]) -> None:
    page = listed("")
    page.locator("a.mark").first.click()
    page.locator("ol.steps").wait_for()
    oracle = page.locator("[data-keep=system] option", has_text="oracle").get_attribute("value")
    page.locator("[data-keep=system]").select_option(oracle)
    page.locator("#transcript-title", has_text="oracle").wait_for()
    assert f"episode={oracle}" in page.url


# ---- an episode made to measure


@pytest.fixture
def searched(browser: Pages, tmp_path: Path) -> Callable[[str], Page]:
    """The transcript of a search with a long observation, hidden reasoning and characters that are not seen."""
    run = makers.write_run(
        tmp_path / "run", [("dfsdt", "vendor/model")], makers.TASKS[:1], 1, lambda cell, *_: _search(cell)
    )
    report = write_report([run], tmp_path / "report", figures=False).parent
    opened: list[Visit] = []

    def transcript(more: str = "") -> Page:
        opened.append(Visit(browser, report, {}))
        page = opened[-1].open(f"#/transcript?task={makers.TASKS[0]['name']}&episode=e1{more}")
        page.locator("ol.steps").wait_for()
        return page

    return transcript


def _search(cell: Cell) -> Episode:
    call = {"kind": "call", "api": "Search", "arguments": {"entity": "Kenya"}}
    return Episode.model_validate(
        {
            "schema": 1,
            "episode_id": "e1",
            "question_id": "wiki-facts-0",
            "task": cell.task,
            "domain": "wiki",
            "level": "KS",
            "workflow": cell.workflow,
            "llm": cell.llm,
            "condition": cell.condition,
            "question": "Which city?",
            "golds": ["Nairobi"],
            "answer": "Nairobi",
            "outcome": {"kind": "finished"},
            "steps": [
                Step(
                    kind="thought", text="first \u202eway\x1b[31m", reasoning="hidden", depth=0, tokens=Tokens(prompt=9)
                ),
                {**call, "observation": LONG},
                Step(kind="thought", text="second", depth=3),
                {**call, "observation": "Not found.", "error": "not_found"},
                Step(kind="thought", text="third", depth=3),
                {"kind": "answer", "text": "Nairobi"},
            ],
        }
    )


def test_the_evidence_is_marked_although_its_text_is_folded(searched: Callable[[str], Page]) -> None:
    page = searched("")
    assert page.locator(".observed mark").all_inner_texts() == ["Nairobi"]
    assert page.locator("#step-2 .fold").count() == 2
    assert len(page.locator("#step-2 .observed").inner_text()) < 2500


def test_a_folded_text_can_be_read_whole(searched: Callable[[str], Page]) -> None:
    page = searched("")
    while page.locator("#step-2 .fold").count():
        page.locator("#step-2 .fold").first.click()
    assert page.locator("#step-2 .observed").evaluate("node => node.textContent") == LONG


def test_characters_that_are_not_seen_are_named(searched: Callable[[str], Page]) -> None:
    assert searched("").locator("#step-1 .codes").all_inner_texts() == ["U+202E", "ESC[31m"]


def test_an_error_is_told_in_words(searched: Callable[[str], Page]) -> None:
    assert "found nothing" in searched("").locator("#step-4 h4").inner_text()


def test_hidden_reasoning_is_folded(searched: Callable[[str], Page]) -> None:
    page = searched("")
    assert not page.get_by_text("hidden", exact=True).is_visible()
    page.get_by_text("Hidden reasoning").click()
    assert page.get_by_text("hidden", exact=True).is_visible()


def test_the_tree_shows_the_way_to_the_answer(searched: Callable[[str], Page]) -> None:
    page = searched("")
    assert page.locator(".tree li").count() == 4
    assert [line.split()[0] for line in page.locator(".tree li.chosen").all_inner_texts()] == ["1", "5"]
    assert page.locator(".edge.chosen").count() == 2


def test_a_step_has_an_address(searched: Callable[[str], Page]) -> None:
    page = searched("&step=4")
    assert page.evaluate("document.activeElement.id") == "step-4"
    page.locator(".tree").get_by_role("link", name="3").click()
    assert page.evaluate("document.activeElement.id") == "step-3"
    assert page.url.endswith("step=3")


@pytest.mark.parametrize("view", ["question", "transcript"])
def test_published_means_say_that_they_have_no_episodes(visit: Visiting, view: str) -> None:
    page = visit("paper").open(f"#/{view}")
    assert "published means" in page.locator(f"#{view}-body").inner_text()


def test_published_means_have_no_marks_to_explain(visit: Visiting) -> None:
    page = visit("paper").open("#/questions")
    assert not page.locator("#questions-order").is_visible()
