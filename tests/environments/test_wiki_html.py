"""Rendered wiki pages: what of them is running text, and what a disambiguation page offers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lxml", reason="reading HTML needs lxml")

from r_eval.environments.wiki.html import read_page


def read(markup: str | bytes) -> list[str]:
    return list(read_page("Mars", markup).paragraphs)


@pytest.mark.parametrize(
    ("markup", "texts"),
    [
        ("<p>One <b>bold</b>\n word.</p><p>Two.</p>", ["One bold word.", "Two."]),
        ("<p>One<br>two<br/>three</p>", ["One two three"]),
        ("<p>Fish &amp; chips &lt; 3&nbsp;euros</p>", ["Fish & chips < 3 euros"]),
        ("<h2>History</h2><p>A.</p><h3>The <i>old</i> days</h3>", ["== History ==", "A.", "=== The old days ==="]),
        ("<ul><li>A<ul><li>B</li></ul>C</li><li>D</li></ul>", ["A", "B", "C", "D"]),
        ("<dl><dt>Tea</dt><dd>A drink.</dd></dl>", ["Tea", "A drink."]),
        ("<div>Loose <p>fitted</p> again</div>end", ["Loose", "fitted", "again", "end"]),
        ("<details><summary><h2>Use</h2></summary><p>Tea.</p></details>", ["== Use ==", "Tea."]),
        ("<p>東京</p>", ["東京"]),
        ("no tags at all", ["no tags at all"]),
        ("", []),
        ("<!-- nothing -->", []),
        ("<p> </p><h2></h2>", []),
    ],
)
def test_blocks_are_paragraphs(markup: str, texts: list[str]) -> None:
    assert read(markup) == texts


def test_a_deep_page_does_not_break() -> None:
    read("<div>" * 50_000 + "x")


MARKUP = ["<p>", "</p>", "<li>", "<ul>", "</ul>", "<h2>", "</h2>", "<table>", "<br>", "<a href='x'>", "&", "<", "a"]


@given(st.lists(st.sampled_from([*MARKUP, "\x00", "\ud800"]), max_size=40))
def test_any_markup_can_be_read(parts: list[str]) -> None:
    assert all(text.strip() for text in read("".join(parts)))


@pytest.mark.parametrize(
    "mark",
    [
        "<div id='disambigbox'>",
        '<table class="plainlinks dmbox-disambig">',
        '<meta property="mw:PageProp/disambiguation" id="mwAg"/>',
    ],
)
def test_a_disambiguation_page_is_known_by_its_mark(mark: str) -> None:
    assert read_page("Mars", f"<p>Mars is several things.</p>{mark}").is_ambiguous
