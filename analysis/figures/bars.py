"""Stacked bars of the response types: each system's recorded episodes, 100 % a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from r_eval.analysis.figures.style import INK, Style, legend_columns, placed_figure, whole
from r_eval.analysis.responses import NAMES, TYPES
from r_eval.analysis.rows import Aggregates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"EM": "#0b4f8a", "AM": "#79b4e2", "GE": "#f2cf5b", "RE": "#e58a2b", "ME": "#a9afb5", "TE": "#9c3d10"}
DARK = frozenset({"EM", "TE"})
"""Types whose colour wants a light text."""
NOTED = 0.05
"""Share from which a part of a bar holds its number."""


def response_bars(aggregates: Aggregates, condition: str, style: Style) -> Figure | None:
    """The figure, best system at the top; None where nothing is recorded."""
    rows = [row for row in aggregates.under(condition) if row.recorded]
    rows.sort(key=lambda row: row.overall.mean or 0.0)
    if not rows:
        return None
    figure = placed_figure(8.5, 1.5 + 0.3 * len(rows))
    axes = figure.add_subplot()
    ends = [0.0] * len(rows)
    for type_ in TYPES:
        shares = [row.share(type_) or 0.0 for row in rows]
        axes.barh(range(len(rows)), shares, left=ends, color=COLOURS[type_], height=0.78, label=NAMES[type_])
        for line, (share, end) in enumerate(zip(shares, ends, strict=True)):
            if share >= NOTED:
                colour = "white" if type_ in DARK else INK
                text = axes.text(end + share / 2, line, whole(share), color=colour, size=7)
                text.set(ha="center", va="center", in_layout=False)  # within the bar: quicker to place
        ends = [end + share for end, share in zip(ends, shares, strict=True)]
    axes.set_yticks(range(len(rows)), [f"{style.name(row)}  (n={row.recorded})" for row in rows])
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axes.set_xlabel("Share of the recorded episodes, percent")
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    columns = legend_columns(figure.get_figwidth(), [NAMES[type_] for type_ in TYPES])
    figure.legend(loc="outside lower center", ncols=columns)
    return figure
