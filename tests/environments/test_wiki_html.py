"""Rendered wiki pages: what of them is running text, and what a disambiguation page offers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lxml", reason="reading HTML needs lxml")

from r_eval.environments.wiki.html import read_page


def read(markup: str | bytes) -> list[str]:
    return list(read_page("Mars", markup).paragraphs)


# Paragraphs


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


@pytest.mark.parametrize(
    "extra",
    [
        "<style>p {}</style>",
        "<script>go()</script>",
        "<table><tr><td>cell</td></tr></table>",
        "<div class='navbox x'>box</div>",
        "<div class='hatnote'>For others, see there.</div>",
        "<div role='note'>For others, see there.</div>",
        "<sup class='reference'><a href='#1'>[1]</a></sup>",
        "<span class='mw-editsection'>[edit]</span>",
        "<ol class='references'><li>Book</li></ol>",
        "<figure><figcaption>A picture</figcaption></figure>",
        "<span style='display: none'>hidden</span>",
        "<!-- comment -->",
    ],
)
def test_what_is_no_running_text_is_left_out(extra: str) -> None:
    assert read(f"<body><h1>Title</h1><p>Before{extra} after.</p></body>")[0].startswith("Before")
    assert " ".join(read(f"<body><h1>Title</h1><div>Before{extra} after.</div></body>")) == "Before after."


def test_only_the_article_of_a_page_is_read() -> None:
    page = "<body><div>Menu</div><div id='mw-content-text'><div class='x mw-parser-output'><p>Text.</p></div></div>"
    assert read(f"{page}<footer>Legal</footer></body>") == ["Text."]


def test_a_deep_page_does_not_break() -> None:
    read("<div>" * 50_000 + "x")


MARKUP = ["<p>", "</p>", "<li>", "<ul>", "</ul>", "<h2>", "</h2>", "<table>", "<br>", "<a href='x'>", "&", "<", "a"]


@given(st.lists(st.sampled_from([*MARKUP, "\x00", "\ud800"]), max_size=40))
def test_any_markup_can_be_read(parts: list[str]) -> None:
    assert all(text.strip() for text in read("".join(parts)))


# Disambiguation pages


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


@pytest.mark.parametrize(
    "markup",
    [
        "<a class='mw-redirect mw-disambig' href='Mars'>Mars</a>",
        "<h2 id='Disambiguation'>Disambiguation</h2>",
        "<p>class disambiguation</p>",
        "<div class='hatnote'>For other uses, see Mars (disambiguation)</div>",
    ],
)
def test_a_page_that_mentions_one_is_none(markup: str) -> None:
    assert not read_page("Mars", markup).is_ambiguous
