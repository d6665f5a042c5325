"""Charts made from the frames of a run: what they hold, as plotly's JSON and as files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.charts import Chart, charts
from r_eval.analysis.figures import write_figures
from r_eval.analysis.plotly_figures import plotly_figure
from r_eval.analysis.results import Results, load
from r_eval.analysis.views import frames
from tests.analysis.report import hostile, makers


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, dict[str, Any], list[Chart]]:
    results = load(makers.small(tmp_path_factory.mktemp("charts") / "run", questions=8))
    found = dict(frames(results))
    return results, found, charts(results, found)


def named(found: list[Chart], name: str) -> Chart:
    return next(chart for chart in found if chart.name == name)


Made = tuple[Results, dict[str, Any], list[Chart]]


def test_there_is_a_radar_for_each_workflow_with_all_its_llms_on_one_scale(made: Made) -> None:
    radars = [chart for chart in made[2] if chart.kind == "radar"]
    assert [chart.title for chart in radars] == ["react", "pal", "dfsdt", "fc"]
    assert {tuple(series.name for series in chart.series) for chart in radars} == {("smollm2-135m", "gpt-4o-mini")}
    assert len({(chart.top, tuple(chart.categories), tuple(chart.legend)) for chart in radars}) == 1
    most = max(value for chart in radars for series in chart.series for value in series.values)
    assert most <= (radars[0].top or 0)


def test_no_reference_and_no_system_at_0_is_on_the_front(made: Made) -> None:
    chart = named(made[2], "score-by-seconds")
    assert "oracle" not in [series.name for series in chart.series]
    points = {(series.x, series.values[0]) for series in chart.series}
    assert all(point in points and point[1] > 0 for point in chart.front)
    for x, y in points:  # nothing is better and as fast as a point of the front
        assert not any(x <= fx and y > fy for fx, fy in chart.front)


def test_the_figures_of_the_page_are_json_without_nan(made: Made) -> None:
    for chart in filter(lambda chart: chart.page, made[2]):
        figure = json.loads(json.dumps(plotly_figure(chart), allow_nan=False))
        assert figure["data"], chart.name


def test_names_are_text_to_plotly_and_to_matplotlib(tmp_path: Path) -> None:
    results = load(hostile.hostile(tmp_path / "run"))
    found = charts(results, frames(results))
    figures = json.dumps([plotly_figure(chart) for chart in found if chart.page])
    shown = re.sub(r'"meta": "(\\.|[^"\\])*"', "", figures)  # meta is compared, never drawn
    assert set(re.findall(r"<[^>]*>?", shown)) <= {"<b>", "</b>", "<br>"}
    assert "\\u202e" not in shown
    paths = write_figures([chart for chart in found if chart.condition == "clean"][:3], tmp_path / "figures")
    assert paths
    assert all(path.stat().st_size > 1000 for path in paths)


def test_figures_are_png_and_svg_and_the_same_each_time(made: Made, tmp_path: Path) -> None:
    names = ("radar-pal", "workflow-by-llm", "responses", "response-rings", "score-by-seconds")
    own = [named(made[2], name) for name in names]
    once, again = write_figures(own, tmp_path / "1"), write_figures(own, tmp_path / "2")
    assert [path.name for path in once] == [
        f"{name}.{ending}"
        for name in ("radar", "workflow-by-llm", "responses", "response-rings", "score-by-seconds")
        for ending in ("png", "svg")
    ]
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]
