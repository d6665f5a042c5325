"""A character is drawn with an installed font that has it; where none has, that is said once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval.analysis.published import read_published
from r_eval.analysis.rows import Aggregates

pytest.importorskip("matplotlib")

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from r_eval.analysis import figures as drawing
from r_eval.analysis.figures.fonts import OF_BOXES, OWN, families
from r_eval.analysis.figures.style import save, styled
from tests.analysis.figures.conftest import PAPER

HERE, NOWHERE = "\u4e2d", "\u6587"
"""Characters that the test's font has and has not."""


@pytest.fixture(autouse=True)
def bare() -> Iterator[None]:
    """A machine that has matplotlib's own fonts alone."""
    before = list(fontManager.ttflist)
    fontManager.ttflist = [font for font in before if font.name.startswith((OWN, OF_BOXES))]
    yield
    fontManager.ttflist = before


@pytest.fixture
def font(tmp_path: Path) -> str:
    """An installed font with one character, a square; the name of its family."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for point in ((0, 700), (700, 700), (700, 0)):
        pen.lineTo(point)
    pen.closePath()
    made = FontBuilder(1000, isTTF=True)
    made.setupGlyphOrder([".notdef", "square"])
    made.setupCharacterMap({ord(HERE): "square"})
    made.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "square": pen.glyph()})
    made.setupHorizontalMetrics({".notdef": (500, 0), "square": (800, 0)})
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": "One Square", "styleName": "Regular", "psName": "OneSquare"})
    made.setupOS2()
    made.setupPost()
    path = tmp_path / "square.ttf"
    made.save(path)
    fontManager.addfont(path)
    return "One Square"


def called(name: str) -> Aggregates:
    """The paper's table with another name of an LLM."""
    found = read_published(PAPER)
    for row in found.rows:
        row.llm = name if row.llm == "gpt-4-1106" else row.llm
    return found


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """What is said of the figures when an LLM has a name; one empty figure is drawn."""
    monkeypatch.setattr(drawing, "figures", lambda *_: iter([("one", Figure(figsize=(1, 1)))]))

    def write(name: str) -> list[str]:
        told: list[str] = []
        drawing.write_figures(called(name), tmp_path, told=told.append)
        return told

    return write


def test_latin_names_need_no_other_font() -> None:
    assert families(["fc · gpt-4.1", "Škoda"]) == ([OWN], set())


def test_an_installed_font_that_has_the_character_is_found(font: str) -> None:
    assert families([f"a {HERE}"]) == ([OWN, font], set())


def test_a_font_of_boxes_has_no_character() -> None:
    assert families([NOWHERE]) == ([OWN], {NOWHERE})


@pytest.mark.filterwarnings("error")
def test_the_found_font_is_in_the_pdf(font: str, tmp_path: Path) -> None:
    with styled([HERE]) as lacking:
        figure = Figure(figsize=(3, 2))
        figure.add_subplot().set_title(HERE)
        paths = save(figure, tmp_path, "one")
    assert not lacking
    assert b"OneSquare" in paths[2].read_bytes()


def test_a_name_that_no_font_has_is_told_with_what_to_do(said: Callable[[str], list[str]]) -> None:
    [line] = said(f"model{NOWHERE}")
    assert line.startswith("figures: no font here has all characters of ")
    assert "Install a font" in line


def test_names_that_can_be_drawn_are_not_spoken_of(said: Callable[[str], list[str]]) -> None:
    assert said("model") == []
