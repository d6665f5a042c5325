"""A chart as plotly's JSON (`data`, `layout`), for the page. Dictionaries suffice: plotly.py itself is not imported.

Names are text: plotly reads a little markup in labels, so every `<` and `&` is escaped. Colours of paper, text and
grid are the page's, which has a template for each theme.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

from r_eval.analysis.charts import Chart, ChartKind, Series
from r_eval.analysis.palette import INK

Figure = dict[str, Any]
Drawn = tuple[list[Figure], Figure]
"""The data and the layout of a figure."""
FROM, TO = "#f4f7fa", "#6aa5da"
"""Colours of the least and the highest value of a heat map."""
QUIET = "#8a949e"
ROW = 27
"""Pixels of a row of bars."""
NOTED = 0.05
"""Share from which a part of a bar holds its number."""


def plotly_figure(chart: Chart) -> Figure:
    """The figure of a chart that the page draws (`chart.page`); missing values are null."""
    data, layout = _DRAWN[chart.kind](chart)
    shared = {"showlegend": False, "hovermode": "closest", "dragmode": False}
    return {"data": data, "layout": {**shared, "margin": {"l": 8, "r": 16, "t": 12, "b": 44}, **layout}}


def _text(text: str) -> str:
    """A text in which plotly finds no markup."""
    return html.escape(text, quote=False)


def _numbers(chart: Chart, values: Sequence[float]) -> list[float | None]:
    return [float(f"{chart.unit * value:.6g}") if math.isfinite(value) else None for value in values]


def _hover_texts(chart: Chart, series: Series) -> list[str]:
    """What the pointer shows of each value."""
    found = []
    for place, value in enumerate(series.values):
        text = f"{100 * value:.1f} %" if math.isfinite(value) else "no value"
        if series.low and math.isfinite(series.low[place]):
            text += f" ({100 * series.low[place]:.1f} to {100 * series.high[place]:.1f})"
        where = f"<br>{_text(chart.categories[place])}" if chart.categories else ""
        found.append(f"<b>{_text(series.name)}</b>{where}<br>{text}")
    return found


def _trace(chart: Chart, series: Series, kind: str, **more: Any) -> Figure:
    hover = {"hoverinfo": "text", "hovertext": _hover_texts(chart, series)}
    return {"type": kind, "name": _text(series.name), "meta": series.name, **hover, **more}


def _interval(series: Series, colour: str) -> Figure:
    """The interval around each value, as plotly has it: two distances."""
    if not series.low:
        return {}
    ends = zip(series.values, series.low, series.high, strict=True)
    pairs = [(high - value, value - low) if math.isfinite(high - low) else (0.0, 0.0) for value, low, high in ends]
    above, below = ([float(f"{100 * pair[side]:.6g}") for pair in pairs] for side in (0, 1))
    looks = {"type": "data", "symmetric": False, "thickness": 1.2, "width": 0, "color": colour}
    return {"error_y": {**looks, "array": above, "arrayminus": below}}


def _axis(labels: Sequence[str], **more: Any) -> Figure:
    """An axis with a label at each place; by number, since two names may be alike."""
    ticks = {"tickvals": list(range(len(labels))), "ticktext": [_text(label) for label in labels]}
    return {**ticks, "tickmode": "array", "automargin": True, "zeroline": False, **more}


def _rows(labels: Sequence[str]) -> Figure:
    return {"yaxis": _axis(labels, autorange="reversed", showgrid=False), "height": 80 + ROW * len(labels)}


def _value_axis(chart: Chart) -> Figure:
    span = [0, 100 * chart.top] if chart.top else None
    title = {"text": _text(chart.y_label)}
    return {"title": title, "rangemode": "tozero", "zeroline": False, "range": span, "automargin": True}


def _x_axis(chart: Chart, values: Sequence[float]) -> Figure:
    """The other axis of a scatter or of boxes; logarithmic where the values ask for it, with 1 and 3 of each power."""
    axis: Figure = {"title": {"text": _text(chart.x_label)}, "zeroline": False, "type": "linear"}
    if not chart.log:
        return {**axis, "rangemode": "tozero"}
    known = [value for value in values if value > 0]
    powers = range(math.floor(math.log10(min(known))), math.ceil(math.log10(max(known))) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
    return {**axis, "type": "log", "tickmode": "array", "tickvals": ticks, "ticktext": [_plain(one) for one in ticks]}


def _plain(value: float) -> str:
    return f"{float(f'{value:.3g}'):.8f}".rstrip("0").rstrip(".")


def _radar(chart: Chart) -> Drawn:
    angles = [360 * place / len(chart.categories) for place in range(len(chart.categories))]
    data = []
    for series in chart.series:
        values, line = _numbers(chart, series.values), {"color": series.colour, "dash": series.dash, "width": 2}
        trace = _trace(chart, series, "scatterpolar", mode="lines+markers", line=line, marker={"size": 5})
        closed = {"r": [*values, values[0]], "theta": [*angles, 0]}
        data.append({**trace, **closed, "hovertext": [*trace["hovertext"], trace["hovertext"][0]]})
    names = {"tickmode": "array", "tickvals": angles, "ticktext": [_text(one) for one in chart.categories]}
    radial = {
        "range": [0, 100 * (chart.top or 1.0)],
        "angle": 90,
        "tickangle": 90,
        "nticks": 5,
        "tickfont": {"size": 10},
    }
    angular = {**names, "direction": "clockwise", "rotation": 90}
    polar = {"gridshape": "linear", "radialaxis": radial, "angularaxis": angular}
    return data, {"polar": polar, "height": 430, "margin": {"l": 70, "r": 70, "t": 36, "b": 36}}


def _heat(chart: Chart) -> Drawn:
    values = [_numbers(chart, series.values) for series in chart.series]
    most = max((value for row in values for value in row if value is not None), default=0.0) or 1.0
    data = {
        **{"type": "heatmap", "z": values, "zmin": 0, "zmax": most, "colorscale": [[0, FROM], [1, TO]]},
        **{"showscale": False, "xgap": 2, "ygap": 2, "texttemplate": "%{text}", "textfont": {"color": INK}},
        "text": [["" if value is None else f"{value:.1f}" for value in row] for row in values],
        **{"hoverinfo": "text", "hovertext": [_hover_texts(chart, series) for series in chart.series]},
    }
    rows = _axis([series.name for series in chart.series], autorange="reversed", showgrid=False)
    columns = _axis(chart.categories, side="top", showgrid=False)
    return [data], {"xaxis": columns, "yaxis": rows, "height": 90 + 44 * len(chart.series)}


def _bars(chart: Chart) -> Drawn:
    inside = {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0, "orientation": "h"}
    data = [
        {
            **_trace(chart, series, "bar", marker={"color": series.colour}, **inside),
            **{"y": list(range(len(series.values))), "x": _numbers(chart, series.values)},
            "text": [f"{100 * value:.0f}" if value >= NOTED else "" for value in series.values],
        }
        for series in chart.series
    ]
    return data, {"xaxis": _value_axis(chart), **_rows(chart.categories), "barmode": "stack", "bargap": 0.25}


def _columns(chart: Chart) -> Drawn:
    """Columns side by side."""
    places = list(range(len(chart.categories)))
    data = [
        {
            **_trace(chart, series, "bar", marker={"color": series.colour}),
            **{"x": places, "y": _numbers(chart, series.values), **_interval(series, QUIET)},
        }
        for series in chart.series
    ]
    names = _axis(chart.categories, showgrid=False, ticklabeloverflow="allow")
    axes = {"xaxis": names, "yaxis": _value_axis(chart)}
    return data, {**axes, "barmode": "group", "height": 330}


def _scatter(chart: Chart) -> Drawn:
    data = []
    if len(chart.front) > 1:
        x, y = zip(*chart.front, strict=True)
        line = {"shape": "hv", "dash": "dot", "width": 1.5, "color": QUIET}
        front = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "name": "Pareto front", "line": line}
        data.append({**front, "x": list(x), "y": _numbers(chart, y)})
    for place, series in enumerate(chart.series):
        named = (series.x, series.values[0]) in chart.front
        symbol = f"{series.symbol}-open" if series.hollow else series.symbol
        marker = {"color": series.colour, "symbol": symbol, "size": 10}
        trace = _trace(chart, series, "scatter", mode="markers+text" if named else "markers", marker=marker)
        where = f"{'top' if place % 2 else 'bottom'} {'left' if chart.is_right(series) else 'right'}"
        text = {"text": [_text(series.name)], "textposition": where, "textfont": {"size": 11}}
        across = f"<br>{_plain(series.x)} {_text(chart.x_label)}"
        trace |= {"hovertext": [trace["hovertext"][0] + across], **_interval(series, series.colour)}
        data.append({**trace, **text, "x": [series.x], "y": _numbers(chart, series.values)})
    axes = {"xaxis": _x_axis(chart, [series.x for series in chart.series]), "yaxis": _value_axis(chart)}
    return data, {**axes, "height": 430, "margin": {"l": 56, "r": 16, "t": 12, "b": 48}}


def _boxes(chart: Chart) -> Drawn:
    ends = ("lowerfence", "q1", "median", "q3", "upperfence")
    data = [
        {
            **{"type": "box", "orientation": "h", "y": [place], "name": _text(series.name), "hoverinfo": "x"},
            **{end: [value] for end, value in zip(ends, series.values, strict=True)},
            **{"line": {"color": series.colour, "width": 1.5}, "width": 0.6},
        }
        for place, series in enumerate(chart.series)
    ]
    across = _x_axis(chart, [value for series in chart.series for value in series.values])
    return data, {"xaxis": across, **_rows(chart.categories)}


_DRAWN: dict[ChartKind, Callable[[Chart], Drawn]] = {
    **{"radar": _radar, "heat": _heat, "bars": _bars, "columns": _columns, "scatter": _scatter, "boxes": _boxes},
}
