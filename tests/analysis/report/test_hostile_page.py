"""What a model, a tool or a file wrote cannot act on the page, and is there to be read."""

from __future__ import annotations

import pytest

from tests.analysis.report import hostile
from tests.analysis.report.browser import VIEWS, Visit
from tests.analysis.report.conftest import Visiting

# Elements and attributes that only markup from the data could have made.
STRANGE = """() => {
  const made = 'iframe, object, embed, base, form, meta[http-equiv=refresh], main img, main style, main script';
  const acts = ({ name, value }) => name.startsWith('on')
    || (['href', 'src', 'xlink:href', 'action'].includes(name) && /^\\s*(javascript|https?):/i.test(value));
  return [...document.querySelectorAll('*')].filter((node) => node.matches(made) || [...node.attributes].some(acts))
    .map((node) => node.outerHTML.slice(0, 200));
}"""

ADDRESSES = (
    "#/questions?q=<img src=x onerror=window.hacked=1>",
    "#/transcript?task=__proto__&episode=constructor",
    "#/transcript?episode=../../outside",
    "#/matching?axis=__proto__",
    "#/responses?system=<script>window.hacked=1</script>",
    "#/deployment?x=toString&seconds=NaN&usd=-1",
    "#/statistics?a=__proto__&b=__proto__",
    "#/overview?sort=javascript:window.hacked=1&condition=__proto__",
    "#/javascript:window.hacked=1",
    "#/%00%ff?%00=%ff&&&===",
)


def harmless(visit: Visit) -> None:
    """Nothing ran and nothing became markup."""
    assert visit.page.evaluate("() => window.hacked") is None
    assert visit.page.evaluate("() => ({}).hacked") is None
    assert visit.page.evaluate(STRANGE) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_hostile_run_changes_no_view(visit: Visiting, theme: str) -> None:
    opened = visit("hostile", color_scheme=theme)
    for view in VIEWS:
        opened.view(view)
        harmless(opened)


@pytest.mark.parametrize("name", ["small", "hostile"])
def test_a_hostile_address_changes_nothing(visit: Visiting, name: str) -> None:
    opened = visit(name)
    for address in ADDRESSES:
        opened.open(address)
        harmless(opened)


def test_names_are_shown_as_they_are(visit: Visiting) -> None:
    page = visit("hostile").open("#/overview")
    assert hostile.TEXTS["script"] in page.locator("h1").inner_text()
    names = " ".join(page.locator("#score-table tbody th").all_inner_texts())
    assert hostile.TEXTS["script"] in names
    assert "__proto__" in names


def test_pointing_at_every_part_of_a_figure_runs_nothing(visit: Visiting) -> None:
    opened, pointed = visit("hostile"), 0
    for view in ("matching", "responses", "deployment"):
        page = opened.view(view)
        for mark in page.locator("main svg :is(path, circle, rect, polygon):visible").all()[:12]:
            mark.hover(force=True)
            pointed += 1
    assert pointed
    harmless(opened)


def test_every_button_can_be_pressed_on_a_hostile_run(visit: Visiting) -> None:
    opened = visit("hostile")
    for view in VIEWS:
        page = opened.view(view)
        for place in range(min(30, page.locator("main button:visible").count())):
            button = page.locator("main button:visible").nth(place)
            if button.count() and button.is_enabled():
                button.click()
                opened.settle()
                harmless(opened)


def test_every_transcript_is_text_and_nothing_else(visit: Visiting) -> None:
    opened = visit("hostile")
    page = opened.open("#/questions")
    links = [
        entry.locator("a.mark").nth(place % len(hostile.SYSTEMS)).get_attribute("href") or ""
        for place, entry in enumerate(page.locator("#questions-list li").all()[: len(hostile.TEXTS)])
    ]
    assert len(links) == len(hostile.TEXTS)
    for link in links:
        opened.open(link)
        page.locator("#transcript-body .step").first.wait_for()
        harmless(opened)
    opened.open(links[0])
    assert hostile.TEXTS["script"] in page.locator("#transcript-body").inner_text()


def test_a_text_of_a_megabyte_is_folded_and_unfolds(visit: Visiting) -> None:
    opened = visit("hostile")
    opened.view("transcript")
    folds = opened.page.locator("#transcript-body button.fold")
    before = len(opened.page.locator("#transcript-body").inner_text())
    assert before < 100_000
    folds.first.click()
    assert len(opened.page.locator("#transcript-body").inner_text()) > before + 10_000
    harmless(opened)


def test_directions_and_codes_of_terminals_are_named(visit: Visiting) -> None:
    opened = visit("hostile")
    for name, tag in (("bidi", "U+202E"), ("ansi", "ESC[31m"), ("unicode", "U+0000")):
        page = opened.open(f"#/questions?text={name}%20")
        opened.open(page.locator("#questions-list a.mark").first.get_attribute("href") or "")
        page.locator("#transcript-body .codes", has_text=tag).first.wait_for()
