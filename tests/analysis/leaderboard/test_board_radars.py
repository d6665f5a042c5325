"""The radars of the leaderboard in a browser: which rows they draw, by mouse and by keyboard, and for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from r_eval.analysis.estimate import published
from r_eval.analysis.leaderboard.entries import Entry, OfType
from r_eval.analysis.leaderboard.page import write_page
from r_eval.analysis.leaderboard.pipeline import Pipeline
from r_eval.tasks.seasons.version import Version
from tests.analysis.report.browser import LAPTOP, PHONE, Pages, Visit, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Locator

HOSTILE = "<img src=x onerror=window.hacked=1>"
TYPES = ("simple", "set", "multi-hop", HOSTILE)
SYSTEMS = 8
RUN = "() => axe.run(document, { resultTypes: ['violations'], preload: false })"


def entry(number: int, version: str, types: tuple[str, ...] = TYPES) -> Entry:
    """System 0 is the best; the last one's name is hostile, and it is a bound that does not search."""
    last = number == SYSTEMS - 1
    score = 0.9 - number / 10
    retrieval = replace(published(score), mean=None) if last else published(score)
    name = HOSTILE if last else f"llm{number}"
    return Entry(
        *(Version.parse(version), "clean", f"rag+{name}", "rag", name, last),
        pipeline=Pipeline() if last else Pipeline("hybrid", "e5" if number % 2 else "", number + 1),
        retrieval=retrieval,
        generation=published(score),
        types={type: OfType(5, retrieval.mean, score - place / 50) for place, type in enumerate(types)},
        questions=20,
        missing=number,
        updated=f"2026-01-0{number + 1}T00:00:00+00:00",
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Pages]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight systems on 1.10.0; the first two also on 1.9.0, and one that is on that alone."""
    found = [entry(number, "1.9.0") for number in (0, 1)]
    found.append(replace(entry(0, "1.9.0"), system="rag+gone", llm="gone"))
    found += [entry(number, "1.10.0") for number in range(SYSTEMS)]
    folder = tmp_path_factory.mktemp("radars")
    write_page(found, folder)
    return folder


@pytest.fixture
def visit(browser: Pages, board: Path) -> Iterator[Visit]:
    found = opened(browser, board)
    yield found
    assert found.faults == []
    found.close()


def opened(browser: Pages, board: Path, **settings: Any) -> Visit:
    found = Visit(browser, board, settings)
    found.page.goto((board / "index.html").as_uri())
    return found


def drawn(visit: Visit) -> list[str]:
    """The systems that the legend names, in its order."""
    return [name.strip() for name in visit.page.locator("#chosen li").all_inner_texts()]


def switch(visit: Visit, system: str) -> Locator:
    return visit.page.get_by_role("button", name=system, exact=True)


def row(visit: Visit, system: str) -> Locator:
    return visit.page.locator("#board tbody tr", has=switch(visit, system))


def test_the_first_three_are_drawn_at_first_in_both_radars(visit: Visit) -> None:
    visit.page.locator("select").select_option(label="the newest")
    visit.page.reload()
    assert drawn(visit) == ["rag+llm0", "rag+gone", "rag+llm1"]
    titles = visit.page.locator("#radars figcaption").all_inner_texts()
    assert titles == ["Retrieval by question type", "Generation by question type"]
    for place in (0, 1):
        assert visit.page.locator("#radars svg").nth(place).locator("g[class^=slot]").count() == 3


def test_a_click_on_a_row_draws_it_and_another_takes_it_out(visit: Visit) -> None:
    row(visit, "rag+llm4").locator("td").last.click()
    assert drawn(visit)[-1] == "rag+llm4"
    assert switch(visit, "rag+llm4").get_attribute("aria-pressed") == "true"
    row(visit, "rag+llm4").locator("td").last.click()
    assert "rag+llm4" not in drawn(visit)


def test_the_keyboard_does_the_same_and_keeps_its_place(visit: Visit) -> None:
    switch(visit, "rag+llm5").focus()
    visit.page.keyboard.press("Enter")
    assert drawn(visit)[-1] == "rag+llm5"
    visit.page.keyboard.press("Space")
    assert "rag+llm5" not in drawn(visit)
    assert visit.page.evaluate("() => document.activeElement.textContent") == "rag+llm5"


def test_a_seventh_is_not_drawn_until_another_goes(visit: Visit) -> None:
    for number in (2, 3, 4):
        switch(visit, f"rag+llm{number}").click()
    assert len(drawn(visit)) == 6
    assert "6 systems are drawn" in visit.page.get_by_role("status").inner_text()
    assert switch(visit, "rag+llm5").get_attribute("aria-disabled") == "true"
    switch(visit, "rag+llm0").click()
    switch(visit, "rag+llm5").click()
    assert drawn(visit)[0] == "rag+llm5"


def test_the_others_keep_their_colours_when_one_goes(visit: Visit) -> None:
    switch(visit, "rag+llm0").click()
    assert visit.page.locator("#chosen .sample").first.get_attribute("class") == "sample slot-1"


def test_the_radars_tell_their_numbers_in_words(visit: Visit) -> None:
    label = visit.page.locator("#radars svg").nth(1).get_attribute("aria-label") or ""
    assert label.startswith(
        "Generation by question type, percent. rag+llm0: simple 90.00, set 88.00, multi-hop 86.00, "
    )


def test_a_system_that_does_not_search_is_in_no_retrieval_radar(visit: Visit) -> None:
    switch(visit, f"rag+{HOSTILE}").click()
    lines = [visit.page.locator("#radars svg").nth(place).locator("path.line").count() for place in (0, 1)]
    assert lines == [3, 4]


def test_the_columns_name_the_pipeline(visit: Visit) -> None:
    heads = visit.page.locator("#board thead th").all_inner_texts()
    assert [head.split(" ↑")[0].strip() for head in heads] == [
        *("rank", "system", "LLM", "retriever", "top k", "retrieval", "generation", "total", "missing", "versions"),
        "last run",
    ]
    cells = row(visit, "rag+llm1").locator("th, td").all_inner_texts()
    assert cells[2:5] == ["llm1", "hybrid · e5", "2"]


def test_totals_are_rounded(visit: Visit) -> None:
    totals = visit.page.locator("#board tbody tr td:nth-child(8)").all_inner_texts()
    assert totals[:2] == ["180.00", "180.00"]


def test_every_column_sorts_the_rows_both_ways(visit: Visit) -> None:
    for column in ("LLM", "retriever", "top k", "retrieval", "generation", "missing", "versions", "last run"):
        orders = []
        for _ in range(2):
            visit.page.locator("#board thead button", has_text=re.compile(f"^{column}$")).click()
            orders.append(visit.page.locator("#board tbody th").all_inner_texts())
        assert orders[0] != orders[1], column
        assert sorted(orders[0]) == sorted(orders[1]), column


def test_what_is_drawn_stays_when_other_versions_are_shown(visit: Visit) -> None:
    visit.page.locator("select").select_option(label="the newest")
    assert drawn(visit) == ["rag+llm0", "rag+llm1"]
    visit.page.locator("select").select_option(label="all")
    assert drawn(visit) == ["rag+llm0", "rag+gone", "rag+llm1"]


def test_the_banner_says_version_questions_and_date(visit: Visit) -> None:
    said = visit.page.locator("#facts").inner_text().split("\n")
    assert said[:2] == ["newest version", "1.10.0"]
    assert "20" in said
    assert "2026-01-08" in said


def test_names_of_systems_and_types_are_text(visit: Visit) -> None:
    switch(visit, f"rag+{HOSTILE}").click()
    visit.page.get_by_role("checkbox", name="by question type").check()
    assert visit.page.locator("main img, main script").count() == 0
    assert visit.page.evaluate("() => window.hacked") is None


def test_on_paper_the_controls_are_left_out(visit: Visit) -> None:
    visit.page.emulate_media(media="print")
    assert not visit.page.locator("#controls").is_visible()
    assert visit.page.locator("#radars figure").first.is_visible()


def test_with_two_types_there_is_no_radar_and_no_switch(browser: Pages, tmp_path: Path) -> None:
    write_page([entry(number, "1.0.0", TYPES[:2]) for number in range(2)], tmp_path)
    found = opened(browser, tmp_path)
    counts = [found.page.locator(one).count() for one in ("#radars svg", ".switch", "#board tbody tr")]
    assert counts == [0, 0, 2]
    assert found.faults == []
    found.close()


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Pages, board: Path, theme: str, viewport: dict[str, int]) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python, which holds axe-core, is not installed")
    found = opened(browser, board, viewport=viewport, color_scheme=theme)
    found.page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    faults = found.page.evaluate(RUN)["violations"]
    wide = found.page.evaluate("() => document.documentElement.scrollWidth")
    found.close()
    assert [fault["id"] for fault in faults if fault["impact"] in ("serious", "critical")] == []
    assert wide <= viewport["width"]
