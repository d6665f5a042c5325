"""Charts for papers: PNG and SVG files drawn by matplotlib from the same specification as the page's.

matplotlib is imported when a figure is drawn, without pyplot: no window, no state that others see. The same data give
the same bytes. No text of a name is read as a formula.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from r_eval.analysis.charts import Chart, ChartKind, Series, is_right
from r_eval.analysis.palette import DASHES, INK, SYMBOLS, clipped
from r_eval.errors import MissingExtra
from r_eval.folder import file_name, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOFT, LINE = "#5b646d", "#d3d8dc"
DPI = 160
ROW = 0.27
"""Inches of a row of bars."""
PANEL = 3.5  # inches of a side of a radar
MATCHED, UNMATCHED = "#4b7f52", "#d9d4cb"
FROM, TO = (0.957, 0.969, 0.98), (0.031, 0.251, 0.447)
CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}
NOTED = 0.045
"""Share from which a part of a bar holds its number."""
CJK = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
    *("Microsoft YaHei", "PingFang SC", "Hiragino Sans GB", "SimHei", "Arial Unicode MS"),
)
"""Families with Chinese and Japanese characters, which matplotlib's own lacks."""


def write_figures(charts: Sequence[Chart], folder: Path, warn: Callable[[str], None] | None = None) -> list[Path]:
    """Write every chart, all radars of a condition as one figure, as PNG and SVG; the paths.

    Args:
        warn: Called with a sentence where no font has a character of a name, which is drawn as a box.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    paths: list[Path] = []
    several = len({chart.condition for chart in charts}) > 1
    with _styled() as lacking:
        for name, members in _figures(charts):
            ending = f"-{members[0].condition}" if several else ""
            paths += save(figure_of(members), folder, file_name(f"{name}{ending}"))
    if lacking and warn is not None:
        warn(
            f"figures: no installed font has {' '.join(sorted(lacking)[:5])}; install one (for Chinese: Noto Sans CJK)"
        )
    return paths


def _figures(charts: Sequence[Chart]) -> Iterator[tuple[str, list[Chart]]]:
    """Files with the charts in them: the radars of a condition together, each other chart alone."""
    for condition in dict.fromkeys(chart.condition for chart in charts):
        own = [chart for chart in charts if chart.condition == condition]
        if radars := [chart for chart in own if chart.kind == "radar"]:
            yield "radar", radars
        yield from ((chart.name, [chart]) for chart in own if chart.kind != "radar")


@contextmanager
def _styled() -> Iterator[set[str]]:
    """Settings of matplotlib for the figures, put back afterwards; gives the characters that no font has."""
    try:
        import matplotlib
        from matplotlib.font_manager import get_font_names
    except ImportError:
        raise MissingExtra("matplotlib", "report", "Drawing figures") from None
    there = set(get_font_names())
    ours: dict[Any, Any] = {
        **{"text.parse_math": False, "text.usetex": False, "svg.hashsalt": "r-eval", "svg.fonttype": "none"},
        **{"font.family": ["DejaVu Sans", *(name for name in CJK if name in there)], "font.size": 9},
        **{"axes.titlesize": 10, "axes.edgecolor": LINE, "axes.axisbelow": True, "legend.frameon": False},
        **{"axes.spines.top": False, "axes.spines.right": False, "grid.color": LINE, "grid.linewidth": 0.6},
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    }
    lacking: set[str] = set()
    with matplotlib.rc_context(ours), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield lacking
    for warning in heard:
        found = str(warning.message)
        if found.startswith("Glyph ") and found.split()[1].isdigit():
            lacking.add(chr(int(found.split()[1])))


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure in each of the formats, whole files without what would differ the next time.

    The places of the parts are found once and each format is drawn once; `savefig` does both twice.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine("none")
    files = {folder / f"{name}.{ending}": io.BytesIO() for ending in ("png", "svg")}
    png, svg = files.values()
    figure.dpi = DPI
    raster: Any = FigureCanvasAgg(figure)
    raster.print_png(png, metadata={"Software": None})
    vector: Any = FigureCanvasSVG(figure)
    vector.print_svg(svg, metadata={"Date": None})
    for path, written in files.items():
        write_whole(path, [written.getvalue()])
    return list(files)


def png(chart: Chart, dpi: int = 110) -> bytes:
    """One chart as a picture, for a notebook.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    with _styled(), io.BytesIO() as written:
        figure_of([chart]).savefig(written, format="png", dpi=dpi, bbox_inches="tight")
        return written.getvalue()


def figure_of(charts: Sequence[Chart]) -> Figure:
    """One figure of a chart, or of several radars with one legend."""
    from matplotlib.figure import Figure

    chart = charts[0]
    if chart.kind == "rings":
        return _rings(chart)
    across = math.ceil(len(charts) / math.ceil(len(charts) / 3))  # rows that are about equally full
    down = math.ceil(len(charts) / across)
    width, height = _size(chart) if len(charts) == 1 else (PANEL * across, PANEL * down)
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.08)
    polar = {"projection": "polar"} if chart.kind == "radar" else {}
    grid = figure.subplots(down, across, squeeze=False, subplot_kw=polar).ravel()
    for axes, one in zip(grid, charts, strict=False):
        _DRAWN[one.kind](axes, one)
        if len(charts) > 1 or one.kind == "radar":
            axes.set_title(one.title, pad=14)
    for axes in grid[len(charts) :]:
        axes.set_visible(False)
    if len(charts) == 1 and chart.kind != "radar":
        figure.suptitle(chart.title, x=0.01, ha="left", fontsize=10.5)
    _legend(figure, [entry for one in charts for entry in one.legend], width)
    return figure


def _size(chart: Chart) -> tuple[float, float]:
    rows = len(chart.categories)
    if chart.kind == "heat":
        names = max(len(series.name) for series in chart.series) / 14
        return max(5.2, names + 0.78 * rows), 1.5 + 0.36 * len(chart.series)
    if chart.kind == "radar":
        return 5.0, 4.4
    if chart.kind in ("bars", "dots", "boxes"):
        return 8.0, 1.4 + ROW * rows
    return (7.2, 4.6) if chart.kind == "scatter" else (7.2, 3.4)


def _legend(figure: Figure, entries: Sequence[tuple[str, str, str]], width: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    unique = list(dict.fromkeys(entries))
    if len(unique) < 2:
        return
    handles = [
        Line2D([], [], color=colour, marker=SYMBOLS[symbol], linestyle="", label=label, markersize=6)
        if symbol
        else Patch(color=colour, label=label)
        for label, colour, symbol in unique
    ]
    longest = max(len(label) for label, _, _ in unique)
    columns = max(1, min(len(unique), int(width * 12 / (longest + 5))))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8.5, columnspacing=1.4)


def _scaled(chart: Chart, values: Sequence[float]) -> list[float]:
    return [100 * value for value in values] if chart.percent else list(values)


def _errors(series: Series) -> list[list[float]] | None:
    if not series.low:
        return None
    below = [100 * max(0.0, value - low) for value, low in zip(series.values, series.low, strict=True)]
    return [below, [100 * max(0.0, high - value) for value, high in zip(series.values, series.high, strict=True)]]


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    """Labels at the left, the first at the top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _radar(axes: Axes, chart: Chart) -> None:
    angles = [2 * math.pi * place / len(chart.categories) for place in range(len(chart.categories))]
    polar: Any = axes
    polar.set_theta_offset(math.pi / 2)
    polar.set_theta_direction(-1)
    for series in chart.series:
        values = _scaled(chart, series.values)
        style = {"color": series.colour, "linestyle": DASHES[series.dash], "linewidth": 1.7, "markersize": 3.5}
        axes.plot([*angles, angles[0]], [*values, values[0]], marker="o", **style)  # type: ignore[arg-type]
    axes.set_xticks(angles, [label.replace(" ", "\n", 1) if len(label) > 12 else label for label in chart.categories])
    axes.tick_params(axis="x", labelsize=8, pad=7)
    top = 100 * (chart.top or 1.0)
    axes.set_ylim(0, top)
    step = next(step for step in (1, 2, 5, 10, 20) if top <= 5 * step)
    rings = list(range(step, math.ceil(top) + 1, step))
    axes.set_yticks(rings, [f"{ring:g}" for ring in rings], fontsize=7, color=SOFT)
    polar.set_rlabel_position(180 / len(chart.categories))
    polar.spines["polar"].set_color(LINE)


def _heat(axes: Axes, chart: Chart) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    rows = [_scaled(chart, series.values) for series in chart.series]
    most = max((value for row in rows for value in row if math.isfinite(value)), default=0.0) or 1.0
    colours = LinearSegmentedColormap.from_list("scores", [FROM, TO])
    colours.set_bad("white")
    axes.imshow(rows, cmap=colours, vmin=0, vmax=most, aspect="auto")
    for line, row in enumerate(rows):
        for place, value in enumerate(row):
            text, dark = (f"{value:.1f}", value > 0.55 * most) if math.isfinite(value) else ("–", False)
            axes.text(place, line, text, fontsize=8, color="white" if dark else INK, **CENTRED)
    axes.set_xticks(range(len(chart.categories)), chart.categories, rotation=38, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(rows)), [series.name for series in chart.series])
    for label, series in zip(axes.get_yticklabels(), chart.series, strict=True):
        label.set_color(series.colour if series.colour == INK else SOFT)
    axes.set_xticks([place - 0.5 for place in range(1, len(chart.categories))], minor=True)
    axes.set_yticks([place - 0.5 for place in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


def _bars(axes: Axes, chart: Chart) -> None:
    places = range(len(chart.categories))
    ends = [0.0] * len(places)
    for series in chart.series:
        widths = _scaled(chart, series.values)
        axes.barh(places, widths, left=ends, color=series.colour, height=0.78)
        for place, (width, end) in enumerate(zip(widths, ends, strict=True)):
            if width >= 100 * NOTED:
                axes.text(end + width / 2, place, f"{width:.0f}", fontsize=7, color=_ink_on(series.colour), **CENTRED)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    _rows(axes, chart.categories)
    _values(axes, chart, "x")


def _ink_on(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def _values(axes: Axes, chart: Chart, axis: Literal["x", "y"]) -> None:
    """The axis of the values, with its grid."""
    axes.grid(axis=axis)
    top = 100 * chart.top if chart.top else None
    axes.set(**{f"{axis}label": chart.y_label, f"{axis}lim": (0, top)})


def _dots(axes: Axes, chart: Chart) -> None:
    for place, series in enumerate(chart.series):
        axes.errorbar(_scaled(chart, series.values), [place], xerr=_errors(series), **_marks(series))
    _rows(axes, chart.categories)
    _values(axes, chart, "x")


def _marks(series: Series) -> dict[str, Any]:
    face = "white" if series.hollow else series.colour
    return {
        **{"fmt": SYMBOLS[series.symbol], "color": series.colour, "markerfacecolor": face, "markersize": 6.5},
        **{"elinewidth": 1.1, "capsize": 0, "markeredgewidth": 1.2},
    }


def _columns(axes: Axes, chart: Chart) -> None:
    width = 0.8 / len(chart.series)
    for number, series in enumerate(chart.series):
        places = [place + width * (number - (len(chart.series) - 1) / 2) for place in range(len(chart.categories))]
        bars = {"color": series.colour, "ecolor": SOFT, "error_kw": {"elinewidth": 1}}
        axes.bar(places, _scaled(chart, series.values), width * 0.92, yerr=_errors(series), **bars)  # type: ignore[arg-type]
    axes.set_xticks(range(len(chart.categories)), chart.categories)
    _values(axes, chart, "y")


def _lines(axes: Axes, chart: Chart) -> None:
    middle = (len(chart.series) - 1) / 2
    for number, series in enumerate(chart.series):
        places = [place + 0.05 * (number - middle) for place in range(len(chart.categories))]
        marks = {**_marks(series), "linewidth": 1.3, "fmt": f"{SYMBOLS[series.symbol]}-", "markersize": 5}
        axes.errorbar(places, _scaled(chart, series.values), yerr=_errors(series), **marks)
    axes.set_xticks(range(len(chart.categories)), chart.categories)
    _values(axes, chart, "y")


def _scatter(axes: Axes, chart: Chart) -> None:
    if len(chart.front) > 1:
        front = [x for x, _ in chart.front], [100 * y for _, y in chart.front]
        axes.plot(*front, color=SOFT, linestyle=":", linewidth=1.3, drawstyle="steps-post", zorder=1)
    for place, series in enumerate(chart.series):
        value = 100 * series.values[0]
        axes.errorbar(series.x, [value], yerr=_errors(series), zorder=3, **_marks(series))
        if series.named:
            align = "right" if is_right(chart, series) else "left"
            way = (-7 if align == "right" else 7), (6 if place % 2 else -10)
            axes.annotate(series.name, (series.x[0], value), way, textcoords="offset points", ha=align, fontsize=7.5)
    if chart.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(_plain)
        axes.xaxis.set_minor_formatter("")
    else:
        axes.set_xlim(left=0)
    axes.margins(x=0.12)
    axes.set_xlabel(chart.x_label)
    axes.grid(axis="both")
    axes.set_ylabel(chart.y_label)
    axes.set_ylim(bottom=-1.5)


def _plain(value: float, _: float) -> str:
    return f"{value:.10f}".rstrip("0").rstrip(".")


def _boxes(axes: Axes, chart: Chart) -> None:
    names = ("whislo", "q1", "med", "q3", "whishi")
    fixed: dict[str, Any] = {"orientation": "horizontal", "widths": 0.55, "showfliers": False, "manage_ticks": False}
    for place, series in enumerate(chart.series):
        line = {"color": series.colour, "linewidth": 1.2}
        parts: dict[str, Any] = {f"{part}props": line for part in ("box", "whisker", "cap", "median")}
        box = {**dict(zip(names, series.values, strict=True)), "fliers": []}
        axes.bxp([box], positions=[place], **fixed, **parts)
    _rows(axes, chart.categories)
    if chart.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(_plain)
    axes.grid(axis="x")
    axes.set_xlabel(chart.x_label)


# ---- the printed rings


def _rings(chart: Chart) -> Figure:
    """Two rings for each system: inside, whether the answer matches; outside, the six response types."""
    from matplotlib.figure import Figure

    across = min(6, len(chart.categories))
    down = math.ceil(len(chart.categories) / across)
    figure = Figure(figsize=(max(1.75 * across, 5.6), 2.3 * down + 1.0))
    figure.set_layout_engine("constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for place, axes in enumerate(grid):
        if place >= len(chart.categories):
            axes.set_visible(False)
            continue
        shares = [(max(0.0, series.values[place]), series.colour) for series in chart.series]
        right = sum(share for share, _ in shares[:2])
        _ring(axes, shares, 1.0, 0.34, numbers=True)
        _ring(axes, [(right, MATCHED), (1 - right, UNMATCHED)], 0.64, 0.2)
        axes.text(0, 0, f"{100 * right:.0f} %", fontsize=9, **CENTRED)
        axes.set_title("\n".join(clipped(part, 22) for part in chart.categories[place].split(" · ")), fontsize=8)
    used = [entry for entry, series in zip(chart.legend, chart.series, strict=True) if any(series.values)]
    used += [("answer matches", MATCHED, ""), ("answer does not match", UNMATCHED, "")]
    _legend(figure, used, figure.get_figwidth())
    return figure


def _ring(axes: Axes, parts: Sequence[tuple[float, str]], radius: float, width: float, numbers: bool = False) -> None:
    drawn = [part for part in parts if part[0] > 0]
    edge = {"width": width, "edgecolor": "white", "linewidth": 0.8 if len(drawn) > 1 else 0}
    label: Any = {"autopct": lambda share: f"{share:.0f}" if share >= 6 else "", "pctdistance": 0.83} if numbers else {}
    shares, colours = [share for share, _ in drawn], [colour for _, colour in drawn]
    made: Any = axes.pie(
        shares, colors=colours, radius=radius, startangle=90, counterclock=False, wedgeprops=edge, **label
    )
    for text, colour in zip(made[2] if numbers else (), colours, strict=False):
        text.set(fontsize=6.5, color=_ink_on(colour))


_DRAWN: dict[ChartKind, Callable[[Axes, Chart], None]] = {
    **{"radar": _radar, "heat": _heat, "bars": _bars, "dots": _dots},
    **{"columns": _columns, "lines": _lines, "scatter": _scatter, "boxes": _boxes},
}
