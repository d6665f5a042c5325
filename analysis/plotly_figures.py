"""A chart as plotly's JSON (`data`, `layout`), for the page. Dictionaries suffice: plotly.py itself is not imported.

Names are text: plotly reads a little markup in labels, so every `<` and `&` is escaped. Colours of paper, text and
grid are the page's, which has a template for each theme.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

from r_eval.analysis.charts import Chart, ChartKind, Series, is_right
from r_eval.analysis.palette import INK

Figure = dict[str, Any]
FROM, TO = "#f4f7fa", "#6aa5da"
"""Colours of the least and the highest value of a heat map."""
ROW = 27
"""Pixels of a row of bars."""
NOTED = 0.05
"""Share from which a part of a bar holds its number."""


def plotly_figure(chart: Chart) -> Figure:
    """The figure of a chart that the page draws (`chart.page`); missing values are null."""
    figure = _DRAWN[chart.kind](chart)
    figure["layout"] = {
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "margin": {"l": 8, "r": 16, "t": 12, "b": 44},
        **figure["layout"],
    }
    return figure


def markup(text: str) -> str:
    """A text in which plotly finds no markup."""
    return html.escape(text, quote=False)


def _number(value: float, scale: float = 1.0) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{scale * value:.6g}")


def _numbers(chart: Chart, values: Sequence[float]) -> list[float | None]:
    return [_number(value, 100.0 if chart.percent else 1.0) for value in values]


def _hover_text(chart: Chart, series: Series, place: int) -> str:
    """What the pointer shows of a value."""
    value = series.values[place]
    unit = 100.0 if chart.percent else 1.0
    text = "no value" if not math.isfinite(value) else f"{unit * value:.1f}{' %' if chart.percent else ''}"
    if len(series.low) > place and math.isfinite(series.low[place]):
        text += f" ({unit * series.low[place]:.1f} to {unit * series.high[place]:.1f})"
    where = f"<br>{markup(chart.categories[place])}" if chart.categories else ""
    return f"<b>{markup(series.name)}</b>{where}<br>{text}"


def _hover(chart: Chart, series: Series) -> Figure:
    return {
        "hoverinfo": "text",
        "hovertext": [_hover_text(chart, series, place) for place in range(len(series.values))],
        "name": markup(series.name),
        "meta": series.name,
    }


def _errors(series: Series) -> Figure:
    """The interval around each value, as plotly has it: two distances."""
    if not series.low:
        return {}
    pairs = zip(series.values, series.low, series.high, strict=True)
    ends = [(_number(high - value, 100.0) or 0.0, _number(value - low, 100.0) or 0.0) for value, low, high in pairs]
    return {
        **{"type": "data", "symmetric": False, "thickness": 1.2, "width": 0, "color": series.colour},
        **{"array": [up for up, _ in ends], "arrayminus": [down for _, down in ends]},
    }


def _axis(labels: Sequence[str], **more: Any) -> Figure:
    """An axis with a label at each place; by number, since two names may be alike."""
    ticks = {"tickvals": list(range(len(labels))), "ticktext": [markup(label) for label in labels]}
    return {**ticks, "tickmode": "array", "automargin": True, "zeroline": False, **more}


def _value_axis(chart: Chart) -> Figure:
    top, title = [0, 100 * chart.top] if chart.top else None, {"text": markup(chart.y_label)}
    return {"title": title, "rangemode": "tozero", "zeroline": False, "range": top, "automargin": True}


def _x_axis(chart: Chart, values: Sequence[float]) -> Figure:
    """The other axis of a scatter or of boxes; logarithmic where the values ask for it."""
    axis = {"title": {"text": markup(chart.x_label)}, "type": "log" if chart.log else "linear", "zeroline": False}
    return axis | _ticks(values) if chart.log else axis


def _radar(chart: Chart) -> Figure:
    angles = [360 * place / len(chart.categories) for place in range(len(chart.categories))]
    data = [
        {
            "type": "scatterpolar",
            "mode": "lines+markers",
            "r": [*(values := _numbers(chart, series.values)), values[0]],
            "theta": [*angles, 0],
            "line": {"color": series.colour, "dash": series.dash, "width": 2},
            "marker": {"size": 5},
            **(hover := _hover(chart, series)),
            "hovertext": [*hover["hovertext"], hover["hovertext"][0]],
        }
        for series in chart.series
    ]
    radial = {"range": [0, 100 * (chart.top or 1.0)], "angle": 90, "tickangle": 90}
    radial |= {"nticks": 5, "tickfont": {"size": 10}}
    names = {"tickmode": "array", "tickvals": angles, "ticktext": [markup(one) for one in chart.categories]}
    angular = {**names, "direction": "clockwise", "rotation": 90}
    polar = {"gridshape": "linear", "radialaxis": radial, "angularaxis": angular}
    return {"data": data, "layout": {"polar": polar, "height": 430, "margin": {"l": 70, "r": 70, "t": 36, "b": 36}}}


def _heat(chart: Chart) -> Figure:
    values = [_numbers(chart, series.values) for series in chart.series]
    most = max((value for row in values for value in row if value is not None), default=0.0) or 1.0
    data = {
        **{"type": "heatmap", "z": values, "zmin": 0, "zmax": most, "colorscale": [[0, FROM], [1, TO]]},
        **{"showscale": False, "xgap": 2, "ygap": 2},
        "text": [["" if value is None else f"{value:.1f}" for value in row] for row in values],
        "texttemplate": "%{text}",
        "textfont": {"color": INK},
        "hoverinfo": "text",
        "hovertext": [[_hover_text(chart, one, place) for place in range(len(one.values))] for one in chart.series],
    }
    rows = _axis([series.name for series in chart.series], autorange="reversed", showgrid=False)
    columns = _axis(chart.categories, side="top", showgrid=False)
    return {"data": [data], "layout": {"xaxis": columns, "yaxis": rows, "height": 90 + 44 * len(chart.series)}}


def _bars(chart: Chart) -> Figure:
    rows = list(range(len(chart.categories)))
    data = [
        {
            **{"type": "bar", "orientation": "h", "y": rows, "x": _numbers(chart, series.values)},
            "text": [f"{100 * value:.0f}" if value >= NOTED else "" for value in series.values],
            **{"textposition": "inside", "insidetextanchor": "middle", "textangle": 0},
            "marker": {"color": series.colour},
            **_hover(chart, series),
        }
        for series in chart.series
    ]
    axes = {"xaxis": _value_axis(chart), "yaxis": _axis(chart.categories, autorange="reversed", showgrid=False)}
    return {"data": data, "layout": {**axes, "barmode": "stack", "bargap": 0.25, "height": 80 + ROW * len(rows)}}


def _marker(series: Series) -> Figure:
    symbol = f"{series.symbol}-open" if series.hollow else series.symbol
    return {"color": series.colour, "symbol": symbol, "size": 10}


def _columns(chart: Chart) -> Figure:
    data = [
        {
            **{"type": "bar", "x": list(range(len(chart.categories))), "y": _numbers(chart, series.values)},
            **{"marker": {"color": series.colour}, "error_y": {**_errors(series), "color": "#8a949e"}},
            **_hover(chart, series),
        }
        for series in chart.series
    ]
    axes = {"xaxis": _axis(chart.categories, showgrid=False), "yaxis": _value_axis(chart)}
    return {"data": data, "layout": {**axes, "barmode": "group", "height": 340}}


def _lines(chart: Chart) -> Figure:
    apart = 0.06  # of a place: intervals of several lines stand side by side
    middle = (len(chart.series) - 1) / 2
    data = [
        {
            **{"type": "scatter", "mode": "lines+markers", "y": _numbers(chart, series.values)},
            "x": [place + apart * (number - middle) for place in range(len(chart.categories))],
            **{"line": {"color": series.colour, "width": 1.5}, "marker": _marker(series)},
            **{"error_y": _errors(series), **_hover(chart, series)},
        }
        for number, series in enumerate(chart.series)
    ]
    axes = {"xaxis": _axis(chart.categories, showgrid=False), "yaxis": _value_axis(chart)}
    return {"data": data, "layout": {**axes, "height": 320}}


def _scatter(chart: Chart) -> Figure:
    front = {
        **{"type": "scatter", "mode": "lines", "hoverinfo": "skip", "name": "Pareto front"},
        **{"x": [x for x, _ in chart.front], "y": [_number(y, 100.0) for _, y in chart.front]},
        "line": {"shape": "hv", "dash": "dot", "width": 1.5, "color": "#8a949e"},
    }
    data = [
        {
            **{"type": "scatter", "mode": "markers+text" if series.named else "markers", "x": list(series.x)},
            **{"y": _numbers(chart, series.values), "error_y": _errors(series), "marker": _marker(series)},
            **{
                "text": [markup(series.name)],
                "textposition": f"{'top' if place % 2 else 'bottom'} {'left' if is_right(chart, series) else 'right'}",
            },
            **{"textfont": {"size": 11}, **_hover(chart, series)},
            "hovertext": [f"{_hover_text(chart, series, 0)}<br>{markup(_plain(series.x[0]))} {markup(chart.x_label)}"],
        }
        for place, series in enumerate(chart.series)
    ]
    across = _x_axis(chart, [series.x[0] for series in chart.series])
    across |= {} if chart.log else {"rangemode": "tozero"}
    layout = {"xaxis": across, "yaxis": _value_axis(chart), "height": 430}
    layout |= {"margin": {"l": 56, "r": 16, "t": 12, "b": 48}}
    return {"data": [front, *data] if len(chart.front) > 1 else data, "layout": layout}


def _boxes(chart: Chart) -> Figure:
    ends = ("lowerfence", "q1", "median", "q3", "upperfence")
    data = [
        {
            **{"type": "box", "orientation": "h", "y": [place], "name": markup(series.name), "hoverinfo": "x"},
            **{end: [value] for end, value in zip(ends, series.values, strict=True)},
            **{"line": {"color": series.colour, "width": 1.5}, "width": 0.6},
        }
        for place, series in enumerate(chart.series)
    ]
    across = _x_axis(chart, [value for series in chart.series for value in series.values])
    axes = {"xaxis": across, "yaxis": _axis(chart.categories, autorange="reversed")}
    return {"data": data, "layout": {**axes, "height": 80 + ROW * len(chart.series)}}


def _ticks(values: Sequence[float]) -> Figure:
    """Whole numbers of a logarithmic axis: 1 and 3 of each power of ten."""
    known = [value for value in values if value > 0 and math.isfinite(value)]
    powers = range(math.floor(math.log10(min(known, default=1))), math.ceil(math.log10(max(known, default=1))) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
    return {"tickmode": "array", "tickvals": ticks, "ticktext": [_plain(tick) for tick in ticks]}


def _plain(value: float) -> str:
    return f"{float(f'{value:.3g}'):.8f}".rstrip("0").rstrip(".")


_DRAWN: dict[ChartKind, Callable[[Chart], Figure]] = {
    **{"radar": _radar, "heat": _heat, "bars": _bars, "columns": _columns},
    **{"lines": _lines, "scatter": _scatter, "boxes": _boxes},
}
