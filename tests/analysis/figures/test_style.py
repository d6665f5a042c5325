"""Names, colours and markers are the page's; files hold no date and no formula."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest

from r_eval.analysis.published import read_published
from r_eval.analysis.rows import Aggregates, Row

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from r_eval.analysis.figures.bars import COLOURS as TYPE_COLOURS
from r_eval.analysis.figures.style import COLOURS, GREY, MARKERS, NO_LLM, Style, legend_of, save, shown, styled, whole
from tests.analysis.figures.conftest import PAPER

REPORT = Path(__file__).parents[3] / "analysis" / "report"
SHAPES = {
    **{"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "cross": "P"},
    **{"star": "*", "pentagon": "p", "hexagon": "h", "triangle-down": "v", "x": "X"},
}
"""The page's names of the markers."""


@pytest.fixture(scope="module")
def shared() -> str:
    return (REPORT / "shared.js").read_text(encoding="utf-8")


def with_bound() -> Aggregates:
    found = read_published(PAPER)
    found.rows.insert(0, Row("clean", "oracle+none", "oracle", NO_LLM, role="reference"))
    return found


def test_colours_of_llms_are_the_pages(shared: str) -> None:
    line = re.findall(r"LLM_COLOURS = \{\s*light: \[(.*)\]", shared)[0]
    assert re.findall("#[0-9a-f]{6}", line) == list(COLOURS)


def test_colours_of_response_types_are_the_pages(shared: str) -> None:
    line = re.findall(r"TYPE_COLOURS = \{\s*light: \{(.*)\}", shared)[0]
    assert dict(re.findall(r'(\w+): "(#[0-9a-f]{6})"', line)) == TYPE_COLOURS


def test_markers_are_the_pages_in_the_same_order(shared: str) -> None:
    names = re.findall(r'"([\w-]+)"', re.findall(r"MARKERS = \[(.*)\]", shared)[0])
    assert [SHAPES[name] for name in names] == list(MARKERS)


def test_a_workflow_that_asks_no_llm_takes_no_colour_away() -> None:
    plain, bound = Style.of(read_published(PAPER)), Style.of(with_bound())
    assert bound.colours[NO_LLM] == GREY
    assert all(bound.colours[llm] == colour for llm, colour in plain.colours.items())


def test_a_system_without_an_llm_is_called_by_its_workflow() -> None:
    found = with_bound()
    style = Style.of(found)
    assert [style.name(row) for row in found.rows[:2]] == ["oracle", "react · gpt-4-1106"]


@pytest.mark.parametrize("width", [3.0, 5.0, 7.0, 12.0])
def test_each_kind_in_a_legend_begins_a_column(width: float) -> None:
    found = read_published(PAPER)
    style = Style.of(found)
    kinds = [style.llm_handles(list(style.colours)[:5]), style.workflow_handles(list(style.markers))]
    handles, columns = legend_of(kinds, width)
    high, over = divmod(len(handles), columns)
    assert over == 0
    assert handles.index(kinds[1][0]) % high == 0


@pytest.mark.parametrize(("share", "text"), [(0.125, "13"), (0.0625, "6"), (0.285, "29"), (0.0, "0"), (1.0, "100")])
def test_whole_percent_are_rounded_as_on_the_page(share: float, text: str) -> None:
    assert whole(share) == text


@pytest.mark.parametrize(
    ("name", "seen"),
    [("a\u202eb", "a b"), ("\u200b\u2066", "?"), ("a\x1b[31m", "a [31m"), ("  a\n b ", "a b"), ("$x$", "$x$")],
)
def test_what_turns_text_or_cannot_be_seen_is_left_out(name: str, seen: str) -> None:
    assert shown(name) == seen


def saved(folder: Path, text: str = "Score $x^2$ 50 % \\alpha <b>") -> dict[str, bytes]:
    with styled():
        figure = Figure(figsize=(3, 2))
        figure.add_subplot().set_title(text)
        return {path.suffix: path.read_bytes() for path in save(figure, folder, "one")}


def test_a_figure_is_saved_in_three_formats(tmp_path: Path) -> None:
    found = saved(tmp_path)
    assert list(found) == [".png", ".svg", ".pdf"]
    assert (found[".png"][:4], found[".pdf"][:5]) == (b"\x89PNG", b"%PDF-")


def test_the_same_figure_has_the_same_bytes(tmp_path: Path) -> None:
    assert saved(tmp_path / "a") == saved(tmp_path / "b")


def test_no_file_has_a_date(tmp_path: Path) -> None:
    found = saved(tmp_path)
    assert b"CreationDate" not in found[".pdf"]
    assert b"<dc:date>" not in found[".svg"]


def test_a_pdf_has_its_fonts_in_it_as_outlines_that_can_be_edited(tmp_path: Path) -> None:
    found = saved(tmp_path)[".pdf"]
    assert b"/FontFile2" in found
    assert b"/CIDFontType2" in found
    assert b"/Type3" not in found


def test_a_formula_in_a_name_is_shown_as_it_stands(tmp_path: Path) -> None:
    found = saved(tmp_path)
    assert "Score $x^2$ 50 % \\alpha &lt;b&gt;" in found[".svg"].decode("utf-8")
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", found[".pdf"], re.DOTALL)
    assert any(b"Tj" in _unpacked(stream) or b"TJ" in _unpacked(stream) for stream in streams)


def _unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return stream


def test_a_character_that_no_font_has_is_a_box_without_a_warning(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    saved(tmp_path, "\U0001f9ff \U00012000")
    assert [str(warning.message) for warning in recwarn] == []
