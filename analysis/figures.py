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

from r_eval.analysis.charts import Chart, ChartKind, Series
from r_eval.analysis.palette import DASHES, INK, SYMBOLS, Entry, clipped
from r_eval.errors import MissingExtra
from r_eval.folder import file_name, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOFT, LINE = "#5b646d", "#d3d8dc"
METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None}}
"""What would differ the next time is left out."""
PANEL = 3.5
"""Inches of a side of a radar."""
MATCHED, UNMATCHED = "#4b7f52", "#d9d4cb"
FROM, TO = (0.957, 0.969, 0.98), (0.031, 0.251, 0.447)
CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}
CJK = ("Noto Sans CJK SC", "WenQuanYi Micro Hei", "Microsoft YaHei", "PingFang SC", "Arial Unicode MS")
"""Families with Chinese and Japanese characters, which matplotlib's own lacks."""


def write_figures(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Write every chart, all radars of a condition as one figure, as PNG and SVG; the paths.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    paths: list[Path] = []
    several = len({chart.condition for chart in charts}) > 1
    with _styled():
        for name, members in _figures(charts):
            ending, figure = f"-{members[0].condition}" if several else "", figure_of(members)
            for kind, metadata in METADATA.items():
                written = io.BytesIO()
                figure.savefig(written, format=kind, dpi=160, metadata=metadata)
                paths.append(folder / f"{file_name(f'{name}{ending}')}.{kind}")
                write_whole(paths[-1], [written.getvalue()])
    return paths


def _figures(charts: Sequence[Chart]) -> Iterator[tuple[str, list[Chart]]]:
    """Files with the charts in them: the radars of a condition together, each other chart alone."""
    for condition in dict.fromkeys(chart.condition for chart in charts):
        own = [chart for chart in charts if chart.condition == condition]
        if radars := [chart for chart in own if chart.kind == "radar"]:
            yield "radar", radars
        yield from ((chart.name, [chart]) for chart in own if chart.kind != "radar")


@contextmanager
def _styled() -> Iterator[None]:
    """Settings of matplotlib for the figures, put back afterwards."""
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
        **{"figure.constrained_layout.w_pad": 0.06, "figure.constrained_layout.h_pad": 0.08},
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    }
    with matplotlib.rc_context(ours), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that leaves no room, a character that no font has
        yield


def figure_of(charts: Sequence[Chart]) -> Figure:
    """One figure of a chart, or of several radars with one legend."""
    from matplotlib.figure import Figure

    chart = charts[0]
    number = len(chart.categories) if chart.kind == "rings" else len(charts)
    most = 6 if chart.kind == "rings" else 3
    across = math.ceil(number / math.ceil(number / most))  # rows that are about equally full
    down = math.ceil(number / across)
    figure = Figure(figsize=_size(chart, across, down), layout="constrained")
    polar = {"projection": "polar"} if chart.kind == "radar" else {}
    grid = figure.subplots(down, across, squeeze=False, subplot_kw=polar).ravel()
    for axes in grid[number:]:
        axes.set_visible(False)
    if chart.kind == "rings":
        for place, name in enumerate(chart.categories):
            _rings(grid[place], name, [(max(0.0, one.values[place]), one.colour) for one in chart.series])
        used = [entry for entry, series in zip(chart.legend, chart.series, strict=True) if any(series.values)]
        _legend(figure, [*used, ("answer matches", MATCHED, ""), ("answer does not match", UNMATCHED, "")])
        return figure
    for axes, one in zip(grid, charts, strict=False):
        _DRAWN[one.kind](axes, one)
        if chart.kind == "radar":
            axes.set_title(one.title, pad=14)
    if chart.kind != "radar":
        figure.suptitle(chart.title, x=0.01, ha="left", fontsize=10.5)
    _legend(figure, [entry for one in charts for entry in one.legend])
    return figure


def _size(chart: Chart, across: int, down: int) -> tuple[float, float]:
    """Inches of a figure."""
    rows = len(chart.categories)
    if chart.kind == "heat":
        names = max(len(series.name) for series in chart.series) / 14
        return max(5.2, names + 0.78 * rows), 1.5 + 0.36 * len(chart.series)
    if chart.kind == "radar":
        return max(5.0, PANEL * across), max(4.4, PANEL * down)
    if chart.kind == "rings":
        return max(1.75 * across, 5.6), 2.3 * down + 1.0
    if chart.kind in ("bars", "boxes"):
        return 8.0, 1.4 + 0.27 * rows
    return 7.2, 4.6 if chart.kind == "scatter" else 3.4


def _legend(figure: Figure, entries: Sequence[Entry]) -> None:
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
    columns = max(1, min(len(unique), int(figure.get_figwidth() * 12 / (longest + 5))))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8.5, columnspacing=1.4)


def _scaled(chart: Chart, values: Sequence[float]) -> list[float]:
    return [chart.unit * value for value in values]


def _interval(series: Series) -> list[list[float]] | None:
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


def _values(axes: Axes, chart: Chart, axis: Literal["x", "y"]) -> None:
    """The axis of the values, with its grid."""
    axes.grid(axis=axis)
    axes.set(**{f"{axis}label": chart.y_label, f"{axis}lim": (0, 100 * chart.top if chart.top else None)})


def _across(axes: Axes, chart: Chart) -> None:
    """The x axis of a scatter or of boxes."""
    axes.set_xlabel(chart.x_label)
    axes.grid(axis="x")
    if chart.log:
        from matplotlib.ticker import LogLocator

        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))  # as on the page
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.10f}".rstrip("0").rstrip("."))
        axes.xaxis.set_minor_formatter("")


def _ink_on(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def _radar(axes: Axes, chart: Chart) -> None:
    angles = [2 * math.pi * place / len(chart.categories) for place in range(len(chart.categories))]
    polar: Any = axes
    polar.set_theta_offset(math.pi / 2)
    polar.set_theta_direction(-1)
    for series in chart.series:
        values = _scaled(chart, series.values)
        style: Any = {"color": series.colour, "linestyle": DASHES[series.dash], "linewidth": 1.7, "markersize": 3.5}
        axes.plot([*angles, angles[0]], [*values, values[0]], marker="o", **style)
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
    axes.set_xticks([place - 0.5 for place in range(1, len(chart.categories))], minor=True)
    axes.set_yticks([place - 0.5 for place in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)


def _bars(axes: Axes, chart: Chart) -> None:
    ends = [0.0] * len(chart.categories)
    for series in chart.series:
        widths = _scaled(chart, series.values)
        axes.barh(range(len(ends)), widths, left=ends, color=series.colour, height=0.78)
        for place, (width, end) in enumerate(zip(widths, ends, strict=True)):
            if width >= 4.5:
                axes.text(end + width / 2, place, f"{width:.0f}", fontsize=7, color=_ink_on(series.colour), **CENTRED)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    _rows(axes, chart.categories)
    _values(axes, chart, "x")


def _columns(axes: Axes, chart: Chart) -> None:
    """Columns side by side."""
    width = 0.8 / len(chart.series)
    for number, series in enumerate(chart.series):
        shift = width * (number - (len(chart.series) - 1) / 2)
        bars: Any = {"color": series.colour, "ecolor": SOFT, "error_kw": {"elinewidth": 1}}
        places = [place + shift for place in range(len(chart.categories))]
        axes.bar(places, _scaled(chart, series.values), width * 0.92, yerr=_interval(series), **bars)
    axes.set_xticks(range(len(chart.categories)), chart.categories)
    _values(axes, chart, "y")


def _scatter(axes: Axes, chart: Chart) -> None:
    if len(chart.front) > 1:
        x, y = [x for x, _ in chart.front], [100 * y for _, y in chart.front]
        axes.plot(x, y, color=SOFT, linestyle=":", linewidth=1.3, drawstyle="steps-post", zorder=1)
    for place, series in enumerate(chart.series):
        value = 100 * series.values[0]
        look: Any = {"color": series.colour, "markerfacecolor": "white" if series.hollow else series.colour}
        look |= {"fmt": SYMBOLS[series.symbol], "markersize": 6.5, "markeredgewidth": 1.2, "elinewidth": 1.1}
        axes.errorbar([series.x], [value], yerr=_interval(series), zorder=3, **look)
        if (series.x, series.values[0]) in chart.front:
            align = "right" if chart.is_right(series) else "left"
            way = (-7 if align == "right" else 7), (6 if place % 2 else -10)
            axes.annotate(series.name, (series.x, value), way, textcoords="offset points", ha=align, fontsize=7.5)
    _across(axes, chart)
    if not chart.log:
        axes.set_xlim(left=0)
    axes.margins(x=0.12)
    axes.grid(axis="y")
    axes.set_ylabel(chart.y_label)
    axes.set_ylim(bottom=-1.5)


def _boxes(axes: Axes, chart: Chart) -> None:
    names = ("whislo", "q1", "med", "q3", "whishi")
    fixed: dict[str, Any] = {"orientation": "horizontal", "widths": 0.55, "showfliers": False, "manage_ticks": False}
    for place, series in enumerate(chart.series):
        line = {"color": series.colour, "linewidth": 1.2}
        parts: dict[str, Any] = {f"{part}props": line for part in ("box", "whisker", "cap", "median")}
        box = {**dict(zip(names, series.values, strict=True)), "fliers": []}
        axes.bxp([box], positions=[place], **fixed, **parts)
    _rows(axes, chart.categories)
    _across(axes, chart)


def _rings(axes: Axes, name: str, shares: Sequence[tuple[float, str]]) -> None:
    """Two rings of a system: inside, whether the answer matches; outside, the six response types."""
    right = sum(share for share, _ in shares[:2])
    inside = [(right, MATCHED), (1 - right, UNMATCHED)]
    for parts, radius, width, numbers in ((shares, 1.0, 0.34, True), (inside, 0.64, 0.2, False)):
        drawn = [part for part in parts if part[0] > 0]
        edge = {"width": width, "edgecolor": "white", "linewidth": 0.8 if len(drawn) > 1 else 0}
        look: Any = {"radius": radius, "startangle": 90, "counterclock": False, "wedgeprops": edge, "pctdistance": 0.83}
        look["autopct"] = (lambda share: f"{share:.0f}" if share >= 6 else "") if numbers else (lambda share: "")
        made: Any = axes.pie([share for share, _ in drawn], colors=[colour for _, colour in drawn], **look)
        for text, (_, colour) in zip(made[2], drawn, strict=True):
            text.set(fontsize=6.5, color=_ink_on(colour))
    axes.text(0, 0, f"{100 * right:.0f} %", fontsize=9, **CENTRED)
    axes.set_title("\n".join(clipped(part, 22) for part in name.split(" · ")), fontsize=8)


_DRAWN: dict[ChartKind, Callable[[Axes, Chart], None]] = {
    **{"radar": _radar, "heat": _heat, "bars": _bars, "columns": _columns, "scatter": _scatter, "boxes": _boxes},
}
