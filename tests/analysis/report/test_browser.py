"""The report page in a browser: every view opens, alone and by links, on any paper and any width."""

from __future__ import annotations

import pytest

from tests.analysis.report.browser import LAPTOP, LINKED, PHONE, VIEWS, Visit
from tests.analysis.report.conftest import Visiting

# What reaches beyond the window although no box of its own scrolls it.
WIDER = """() => document.documentElement.scrollWidth <= window.innerWidth ? [] :
  [...document.querySelectorAll('body *')]
    .filter((node) => node.getBoundingClientRect().right > window.innerWidth + 1 && !node.closest('.scroll, svg'))
    .map((node) => `${node.tagName}.${node.className || node.id}`).slice(0, 5)"""

# What would not be whole on paper: boxes that hold more than they show (those for the ear alone are a pixel wide), and
# what reaches beyond the sheet.
CUT = """() => {
  const seen = [...document.querySelectorAll('main *')]
    .filter((node) => node.checkVisibility() && !node.closest('svg') && node.clientWidth > 1 && node.clientHeight > 1);
  const hides = (node, axis) => getComputedStyle(node)[`overflow${axis}`] !== 'visible';
  const cut = seen.filter((node) => (hides(node, 'X') && node.scrollWidth > node.clientWidth + 2)
    || (hides(node, 'Y') && node.scrollHeight > node.clientHeight + 2));
  const beyond = seen.filter((node) => node.getBoundingClientRect().right > window.innerWidth + 1);
  return [...cut, ...beyond].map((node) => `${node.tagName}.${node.className || node.id}`).slice(0, 6);
}"""


def shown(visit: Visit) -> list[str]:
    """The names of the views that can be seen."""
    sections = visit.page.locator("[data-view]:visible").all()
    return sorted({str(section.get_attribute("data-view")) for section in sections})


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_opens_by_its_address_and_alone(visit: Visiting, view: str) -> None:
    opened = visit()
    opened.view(view)
    assert shown(opened) == [view]


@pytest.mark.parametrize("paper", ["paper", "single"])
def test_every_view_opens_where_there_is_little_to_show(visit: Visiting, paper: str) -> None:
    opened = visit(paper)
    for view in VIEWS:
        opened.view(view)
        assert shown(opened) == [view]
        assert opened.page.locator(f"[data-view={view}]:visible").first.inner_text().strip()


def test_a_view_opens_by_its_link(visit: Visiting) -> None:
    opened = visit()
    page = opened.open()
    links = page.get_by_role("navigation").get_by_role("link")
    for place in range(links.count()):
        links.nth(place).click()
        opened.settle()
        link = page.locator("nav a[aria-current=page]")
        assert [f"#/{view}" for view in shown(opened)] == [link.get_attribute("href")]
        assert page.title().startswith(f"{link.inner_text()} · ")


def test_the_views_have_links_in_their_order(visit: Visiting) -> None:
    page = visit().open()
    links = [link.get_attribute("href") for link in page.get_by_role("navigation").get_by_role("link").all()]
    assert links == [f"#/{view}" for view in LINKED]


def test_back_leads_to_the_view_before(visit: Visiting) -> None:
    opened = visit()
    page = opened.open()
    for view in ("Responses", "Deployment"):
        page.get_by_role("navigation").get_by_role("link", name=view).click()
        opened.settle()
    page.go_back()
    opened.settle()
    assert shown(opened) == ["responses"]
    page.go_back()
    opened.settle()
    assert shown(opened) == ["overview"]


def test_an_unknown_address_leads_to_the_overview(visit: Visiting) -> None:
    opened = visit()
    for address in ("#/nothing", "#/__proto__", "#/constructor?x=%E0%A4%A", "#scores", "#/overview?condition=nothing"):
        opened.open(address)
        assert shown(opened) == ["overview"]


def test_the_page_says_what_to_do_where_scripts_are_off(visit: Visiting) -> None:
    opened = visit(java_script_enabled=False)
    opened.page.goto((opened.report / "index.html").as_uri())
    assert "tables" in opened.page.locator("noscript").inner_text()


@pytest.mark.parametrize("paper", ["small", "paper", "single", "hostile"])
def test_nothing_is_wider_than_a_phone(visit: Visiting, paper: str) -> None:
    opened = visit(paper, viewport=PHONE)
    wide = {view: opened.view(view).evaluate(WIDER) for view in VIEWS}
    assert wide == {view: [] for view in VIEWS}


@pytest.mark.parametrize("paper", ["small", "paper"])
def test_nothing_is_clipped_in_print(visit: Visiting, paper: str) -> None:
    opened = visit(paper, viewport={**LAPTOP, "width": 720})
    opened.page.emulate_media(media="print")
    clipped = {view: opened.view(view).evaluate(CUT) for view in VIEWS}
    assert clipped == {view: [] for view in VIEWS}


def test_the_score_table_is_sorted_by_the_column_that_is_clicked(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/overview")
    table = page.locator("#score-table")
    table.get_by_role("button", name="system").first.click()
    opened.settle()
    names = [row.get_attribute("title") or "" for row in table.locator("tbody th").all()]
    assert names == sorted(names)
    assert table.locator("[aria-sort=ascending]").count() == 1


def test_a_resized_window_is_drawn_again(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/responses")
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    page.wait_for_timeout(300)
    opened.settle()
    assert page.evaluate(WIDER) == []
