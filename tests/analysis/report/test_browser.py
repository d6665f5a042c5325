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

# Texts of figures that reach over an edge of the picture, where they are cut off.
CUT_OFF = """() => [...document.querySelectorAll('main svg text')].filter((text) => {
  const [own, whole] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
  const aside = Math.max(whole.left - own.left, own.right - whole.right);
  return text.checkVisibility() && Math.max(aside, whole.top - own.top, own.bottom - whole.bottom) > 1;
}).map((text) => text.textContent)"""

# Where the caption and the name of a line of a wide table lie after it was scrolled to its end.
SCROLLED = """() => {
  const wide = (one) => one.scrollWidth > one.clientWidth + 50 && one.querySelector('.told');
  const box = [...document.querySelectorAll('main .scroll')].find(wide);
  const left = (node) => node.getBoundingClientRect().left;
  box.scrollLeft = box.scrollWidth;
  return [box.scrollLeft > 0, ...['.told', 'tbody th'].map((name) => left(box.querySelector(name)) >= left(box) - 1)];
}"""
FIGURES = (
    "#/matching",
    "#/matching?each=yes&by=task",
    "#/responses?rings=yes",
    "#/deployment",
    "#/deployment?against=cost&axis=linear",
    "#/deployment?against=tokens&axis=linear&at=p95",
)


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


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_no_text_of_a_figure_is_cut_off(visit: Visiting, viewport: dict[str, int]) -> None:
    opened = visit(viewport=viewport)
    cut = {address: opened.open(address).evaluate(CUT_OFF) for address in FIGURES}
    assert cut == {address: [] for address in FIGURES}


@pytest.mark.parametrize("view", ["deployment", "statistics"])
def test_a_table_that_scrolls_keeps_its_caption_and_its_names_in_sight(visit: Visiting, view: str) -> None:
    page = visit(viewport=PHONE).open(f"#/{view}")
    assert page.evaluate(SCROLLED) == [True, True, True]


def test_what_is_unfolded_stays_so_when_the_view_is_drawn_again(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/responses")
    page.locator("#responses-numbers summary").click()
    page.get_by_label("Task").select_option(index=1)
    opened.settle()
    assert page.locator("#responses-numbers table").is_visible()


def test_the_files_of_a_table_are_named_together(visit: Visiting) -> None:
    page = visit().open()
    first = page.locator("#foot .files span").first
    assert first.inner_text().split() == ["scores", "csv", "md", "tex"]
    assert first.get_by_role("link").first.get_attribute("aria-label") == "scores.csv"
