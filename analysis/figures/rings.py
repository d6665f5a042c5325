"""The two-ring charts of the response types, one a system: inside, whether the answers match; outside, the six types.

The shares are of the recorded episodes, as in the bars, so an episode that the machinery stopped is among them (ME).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from r_eval.analysis.figures.bars import COLOURS, DARK
from r_eval.analysis.figures.style import DIM, INK, Style, legend_columns, shown, whole
from r_eval.analysis.responses import NAMES, TYPES
from r_eval.analysis.rows import Aggregates, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MATCHED = ("EM", "AM")
INNER = {"answer matches": "#4b7f52", "it does not": "#d9d4cb"}
"""What the inner ring tells apart, with the colours."""
MOST_ACROSS = 6
SIDE, HEAD, LINE = 1.75, 0.42, 0.22
"""Inches: of a chart, of the name above it, of a line of the legend."""
NAME = 22
"""Characters of a line of a name."""
NOTED = 0.06
"""Share from which a part holds its number."""


def response_rings(aggregates: Aggregates, condition: str, style: Style) -> Figure | None:
    """The figure, best system first; None where nothing is recorded."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = [row for row in aggregates.under(condition) if row.recorded]
    rows.sort(key=lambda row: -(row.overall.mean or 0.0))
    if not rows:
        return None
    across = _across(len(rows))
    width = max(SIDE * across, 5.4)
    colours = {NAMES[type_]: COLOURS[type_] for type_ in TYPES} | INNER
    columns = legend_columns(width, list(colours))
    below = 0.2 + LINE * math.ceil(len(colours) / columns)
    down = math.ceil(len(rows) / across)
    height = (SIDE + HEAD) * down + below + 0.1
    figure = Figure(figsize=(width, height))
    left = (width - SIDE * across) / 2
    for number, row in enumerate(rows):
        line, place = divmod(number, across)
        bottom = height - 0.1 - (SIDE + HEAD) * (line + 1)
        axes = figure.add_axes(((left + place * SIDE) / width, bottom / height, SIDE / width, SIDE / height))
        _rings(axes, row)
        name = [shown(part, NAME) for part in style.name(row, "\n").split("\n")]
        axes.set_title("\n".join(name), fontsize=8, pad=0, linespacing=1.15, y=1.0, va="bottom")
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="lower center", ncols=columns, bbox_to_anchor=(0.5, 0.04 / height))
    return figure


def _across(count: int) -> int:
    """Charts side by side, so that the last line is as full as can be."""
    lines = math.ceil(count / MOST_ACROSS)
    return math.ceil(count / lines)


def _rings(axes: Axes, row: Row) -> None:
    """Draw a system's rings, clockwise from the top."""
    shares = [row.share(type_) or 0.0 for type_ in TYPES]
    matched = sum(row.share(type_) or 0.0 for type_ in MATCHED)
    outer = [COLOURS[type_] for type_ in TYPES]
    _ring(axes, shares, outer, 1.0, 0.34)
    _ring(axes, [matched, 1 - matched], list(INNER.values()), 0.64, 0.2)
    start = 0.0
    for type_, share in zip(TYPES, shares, strict=True):
        if share >= NOTED:
            angle = 2 * math.pi * (start + share / 2)
            colour = "white" if type_ in DARK else INK
            _number(axes, (0.83 * math.sin(angle), 0.83 * math.cos(angle)), whole(share), 6.5, colour)
        start += share
    _number(axes, (0.0, 0.07), f"{whole(matched)} %", 9, INK)
    _number(axes, (0.0, -0.17), f"n={row.recorded}", 6, DIM)
    axes.set_xlim(-1.08, 1.08)
    axes.set_ylim(-1.08, 1.08)


def _ring(axes: Axes, shares: Sequence[float], colours: Sequence[str], radius: float, width: float) -> None:
    drawn = [(share, colour) for share, colour in zip(shares, colours, strict=True) if share > 0]
    axes.pie(
        [share for share, _ in drawn],
        colors=[colour for _, colour in drawn],
        radius=radius,
        startangle=90,
        counterclock=False,
        wedgeprops={"width": width, "edgecolor": "white", "linewidth": 0.8 if len(drawn) > 1 else 0},
    )


def _number(axes: Axes, at: tuple[float, float], text: str, size: float, colour: str) -> None:
    axes.text(*at, text, fontsize=size, color=colour, ha="center", va="center")
