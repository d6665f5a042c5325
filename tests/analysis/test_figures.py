"""The figures: which are drawn, what they hold, and that no name breaks one."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.deployment import Deployed, deployment
from r_eval.analysis.published import read_published
from r_eval.analysis.report import write_report
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.systems import systems
from r_eval.folder import RunFolder

pytest.importorskip("matplotlib")

from r_eval.analysis.figures import figures, write_figures
from r_eval.analysis.figures.radar import MOST, Panel, _panels, _rings
from r_eval.analysis.figures.style import COLOURS, GREY, LONGEST, MARKERS, NO_LLM, Style, shown, styled
from r_eval.analysis.matching import profile

PAPER = Path(__file__).parents[2] / "examples" / "paper"


@pytest.fixture(scope="module")
def drawn(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    found = systems(run)
    write_figures(aggregate(run), folder, deployment(found), found)
    return folder


def published(folder: Path, *lines: str) -> Aggregates:
    (folder / "scores.csv").write_text("\n".join(["workflow,llm,task,score", *lines, ""]), encoding="utf-8")
    return read_published(folder)


def texts(path: Path) -> str:
    """The words of an SVG, of which matplotlib writes the texts as texts."""
    return "\n".join(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8")))


def test_a_run_has_every_figure_in_three_formats(drawn: Path) -> None:
    names = {path.stem for path in drawn.iterdir()}
    assert names == {
        *("radar", "radar-normalised", "radar-react", "radar-pal", "radar-dfsdt", "radar-fc", "radar-direct"),
        *("heat-map", "responses", "response-rings", "deployment", "difficulty"),
    }
    assert {path.suffix for path in drawn.iterdir()} == {".png", ".svg", ".pdf"}
    assert len(list(drawn.iterdir())) == 36


def test_a_png_is_one_and_wide_enough_to_read(drawn: Path) -> None:
    for path in drawn.glob("*.png"):
        head = path.read_bytes()[:24]
        assert head.startswith(b"\x89PNG")
        assert struct.unpack(">II", head[16:])[0] >= 600


def test_a_radar_names_its_axes_and_systems(drawn: Path) -> None:
    found = texts(drawn / "radar-react.svg")
    assert {"aminer", "KA", "smollm2-135m", "gpt-4o-mini"} <= set(found.split())


def test_radars_leave_out_references(drawn: Path) -> None:
    shown = set(texts(drawn / "radar.svg").split())
    assert ("direct" in shown, "oracle" in shown) == (True, False)


def test_response_types_say_how_many_episodes_stand_behind_a_bar(drawn: Path) -> None:
    assert texts(drawn / "responses.svg").count("(n=80)") == 11


def test_the_deployment_figure_says_at_how_many_connections(drawn: Path) -> None:
    assert "times taken at a number of connections that is not recorded" in texts(drawn / "deployment.svg")


def of_one_workflow(run: RunFolder) -> Aggregates:
    found = aggregate(run)
    found.rows = [row for row in found.rows if row.workflow == "react"]
    return found


def drawn_names(aggregates: Aggregates, deployed: Sequence[Deployed] = ()) -> set[str]:
    """The names of the figures that are drawn."""
    with styled():
        return {name for name, _ in figures(aggregates, deployed)}


def test_the_same_data_give_the_same_files(run: RunFolder, tmp_path: Path) -> None:
    drawn = tmp_path / "again"
    for folder in (drawn, tmp_path):
        write_figures(of_one_workflow(run), folder)
    differing = [
        path.name for path in sorted(drawn.iterdir()) if path.read_bytes() != (tmp_path / path.name).read_bytes()
    ]
    assert differing == []


def test_each_condition_has_figures_of_its_own(make_run: Callable[..., RunFolder], tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", questions=2, conditions=("clean", "noisy"))
    react = [one for one in deployment(systems(run)) if one.workflow == "react"]
    names = drawn_names(of_one_workflow(run), react)
    assert {"radar-clean", "radar-noisy", "deployment-noisy", "responses-clean"} <= names


def test_published_means_have_radars_and_a_heat_map() -> None:
    names = drawn_names(read_published(PAPER))
    assert names == {"heat-map", "radar", "radar-normalised", *(f"radar-{w}" for w in ("react", "pal", "dfsdt", "fc"))}


def test_fewer_than_three_axes_make_no_radar(tmp_path: Path) -> None:
    assert drawn_names(published(tmp_path, "pal,a,1-1,10", "pal,a,2-1,10")) == {"heat-map"}


def test_tasks_without_levels_make_a_radar_too(tmp_path: Path) -> None:
    found = published(tmp_path, *(f"pal,a,shop/t{number},10" for number in range(3)))
    assert drawn_names(found) == {"heat-map", "radar", "radar-normalised", "radar-pal"}


def test_scores_that_are_missing_or_0_break_no_radar(tmp_path: Path) -> None:
    found = published(tmp_path, *(f"pal,a,{id_},0" for id_ in ("1-1", "2-1", "3-1")), "pal,b,1-1,0")
    assert len(write_figures(found, tmp_path / "out")) == 12


def test_a_radar_holds_at_most_six_systems_shared_out_evenly() -> None:
    found = read_published(PAPER)
    rows = [row for row in found.rows if row.workflow == "react"]
    assert [len(panel.rows) for panel in _panels("react", rows, profile(found))] == [4, 4]
    assert max(len(panel.rows) for panel in _panels("all", found.rows, profile(found))) <= MOST


def test_rings_are_round_numbers_and_hold_the_largest_value() -> None:
    found = read_published(PAPER)
    rings = _rings(profile(found), found.rows)
    assert [round(100 * ring, 6) for ring in rings] == [20, 40, 60, 80, 100]
    fc = [row for row in found.rows if row.workflow == "fc"]
    assert [round(100 * ring, 6) for ring in Panel("fc", fc, profile(found), _rings(profile(found), fc)).rings] == [
        *(5, 10, 15, 20, 25),
    ]


def test_an_llm_has_one_colour_everywhere_and_a_workflow_one_marker() -> None:
    style = Style.of(read_published(PAPER))
    assert len(set(style.colours.values()) - {GREY}) == len(COLOURS) == 8
    assert len(set(style.markers.values())) == 4


def test_more_llms_than_colours_differ_by_their_dash(tmp_path: Path) -> None:
    style = Style.of(published(tmp_path, *(f"pal,m{number},1-1,4" for number in range(20))))
    assert len({(style.colours[llm], style.dashes[llm]) for llm in style.colours if llm != NO_LLM}) == 20


def test_colours_and_markers_are_the_pages() -> None:
    scripts = Path(__file__).parents[2] / "analysis" / "report"
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(scripts.glob("*.js")))
    light = [re.findall("#[0-9a-f]{6}", line) for line in text.splitlines() if line.strip().startswith("light: [")]
    assert list(COLOURS) in light
    assert len(re.findall('"', re.findall(r"const MARKERS = \[(.*)\]", text)[0])) == 2 * len(MARKERS)


@pytest.mark.parametrize("name", ["$x^{", "\\frac", "_a", "<b>&", "a\nb", "x" * 200, "\ud800", "\x00", "回答"])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_no_name_breaks_a_figure(name: str, tmp_path: Path) -> None:
    aggregates = read_published(PAPER)
    aggregates.rows = [row for row in aggregates.rows if row.workflow == "fc"][:1]
    for row in aggregates.rows:
        row.workflow = name
        row.llm = f"{name}{row.llm}"
    out = tmp_path / "out"
    paths = write_figures(aggregates, out)
    assert len(paths) == 12
    assert all(path.parent == out and path.stat().st_size > 1000 for path in paths)


def test_long_names_are_cut() -> None:
    assert len(shown("x" * 500)) == LONGEST


def test_the_report_goes_on_without_matplotlib(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told: list[str] = []
    page = write_report([run], tmp_path, told.append)
    assert page.is_file()
    assert (tmp_path / "tables" / "scores.csv").is_file()
    assert told == ["no figures: Drawing figures needs matplotlib: type  pip install 'r-eval[report]'"]


def test_the_report_imports_matplotlib_only_to_draw() -> None:
    code = "import sys, r_eval.analysis.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
