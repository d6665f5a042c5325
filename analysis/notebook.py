"""A run as a notebook shows it: its tables, and below them response types and deployment as pictures.

Whatever a name holds is text.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from r_eval.errors import MissingExtra
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 110


def html_summary(run: RunFolder) -> str:
    """The HTML; without matplotlib the tables alone."""
    return _tables(run) + "".join(_pictures(run))


def _tables(run: RunFolder) -> str:
    from rich.console import Console

    from r_eval.analysis.summary import tables

    console = Console(file=io.StringIO(), width=120, record=True, color_system="standard", force_terminal=True)
    for table in tables(run):
        console.print(table)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def _pictures(run: RunFolder) -> Iterator[str]:
    """The two pictures from which a system is chosen, under each condition."""
    from r_eval.analysis.deployment import deployment
    from r_eval.analysis.figures import names_written
    from r_eval.analysis.figures.bars import response_bars
    from r_eval.analysis.figures.scatter import deployment_scatter
    from r_eval.analysis.figures.style import Style, styled
    from r_eval.analysis.published import load
    from r_eval.analysis.systems import systems

    aggregates = load(run)
    if not aggregates.has_episodes:
        return
    style, deployed = Style.of(aggregates), deployment(systems(run))
    try:
        with styled(names_written(aggregates)):
            for condition in aggregates.conditions:
                under = f" under {condition}" if len(aggregates.conditions) > 1 else ""
                own = [one for one in deployed if one.condition == condition]
                yield _image(response_bars(aggregates, condition, style), f"Response types{under}")
                yield _image(deployment_scatter(own, style), f"Deployment{under}")
    except MissingExtra:
        return


def _image(figure: Figure | None, title: str) -> str:
    """An element with the picture in it; nothing where there is none."""
    if figure is None:
        return ""
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=DPI)
    source = base64.b64encode(written.getvalue()).decode("ascii")
    return (
        f'<img style="display: block; max-width: 100%" alt="{html.escape(title)}" src="data:image/png;base64,{source}">'
    )
