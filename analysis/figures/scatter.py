"""Quality against seconds, tokens and money, with the front that no system lies beyond.

A mark is the mean, the larger the more parameters the LLM has by the grid; the line beside it leads from the median to
the 95th percentile. A system whose price is not known is in no panel of money, and one that asks no LLM (the oracle) in
none at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from r_eval.analysis.deployment import Deployed, Percentiles, pareto
from r_eval.analysis.figures.axis import Part, parts
from r_eval.analysis.figures.style import INK, NO_LLM, Style, legend_of, placed_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

AREA = 64.0
"""Of the mark of an LLM whose parameters are not known."""
PANELS = (
    ("seconds", "Seconds an episode, without queue and retry"),
    ("tokens", "Tokens an episode, prompt and completion"),
    ("cost", "USD an episode"),
)


class Panel(NamedTuple):
    """Quality against one cost.

    Attributes:
        known: Systems of which it is known.
        without: How many it is not known of.
    """

    label: str
    known: list[tuple[Deployed, Percentiles]]
    without: int


def deployment_scatter(deployed: Sequence[Deployed], style: Style) -> Figure | None:
    """A panel for each cost that is known of some system; None where none is."""
    found = [one for one in deployed if one.quality is not None and one.llm != NO_LLM]
    panels = []
    for cost, label in PANELS:
        known = [(one, ends) for one in found if (ends := _cost(one, cost)) is not None and ends.mean > 0]
        if known:
            panels.append(Panel(label, known, len(found) - len(known)))
    if not panels:
        return None
    figure = placed_figure(max(5.2, 4.2 * len(panels)), 4.6, gap=0.05)
    lines = 2 if any(panel.without for panel in panels) else 1  # so that the panels are equally high
    for part, panel in zip(figure.subfigures(1, len(panels), squeeze=False)[0], panels, strict=True):
        _panel(part, panel, style)
        note = f"(left out: {panel.without}, where it is not known or 0)" if panel.without else ""
        part.supxlabel("\n".join([panel.label, note][:lines]), fontsize=9)
    llms = [llm for llm in style.colours if any(one.llm == llm for one in found)]
    workflows = [w for w in style.markers if any(one.workflow == w for one in found)]
    kinds = style.workflow_handles(workflows), style.llm_handles(llms, lines=False)
    handles, columns = legend_of(kinds, figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    figure.suptitle(_title(found))
    return figure


def _cost(one: Deployed, cost: str) -> Percentiles | None:
    if cost != "tokens":
        found: Percentiles | None = getattr(one, cost)
        return found
    prompt, completion = one.prompt_tokens, one.completion_tokens
    if prompt is None or completion is None:
        return None
    mean = prompt.mean + completion.mean  # percentiles of a sum are no sums of percentiles
    return Percentiles(mean, mean, mean, mean, mean, prompt.n)


def _panel(figure: SubFigure, panel: Panel, style: Style) -> None:
    """A panel; its axis of costs in several parts where systems lie orders apart."""
    spans = [_span(ends) for _, ends in panel.known]
    found = parts(spans)
    widths = [1.0 + math.sqrt(part.systems) for part in found]
    every = figure.subplots(1, len(found), sharey=True, squeeze=False, gridspec_kw={"width_ratios": widths})[0]
    top = min(105.0, 8 + max(100 * (one.quality or 0.0) for one, _ in panel.known))
    for number, (axes, part) in enumerate(zip(every, found, strict=True)):
        own = [
            one for one, (low, high) in zip(panel.known, spans, strict=True) if part.low <= low and high <= part.high
        ]
        _systems(axes, own, style)
        _front(axes, panel.known)
        _across(axes, part, len(found))
        axes.set_ylim(-0.03 * top, top)  # a mark at 0 is whole
        axes.grid(visible=True)
        if number:
            axes.tick_params(axis="y", length=0, labelleft=False)
            axes.spines["left"].set_visible(False)
        _breaks(axes, at_left=number > 0, at_right=number < len(found) - 1)
    every[0].set_ylabel("Quality, percent (mean over tasks)")


def _span(ends: Percentiles) -> tuple[float, float]:
    """The least and the largest positive number that is drawn of a system."""
    drawn = [value for value in (ends.mean, ends.p50, ends.p95) if value > 0]
    return min(drawn), max(drawn)


def _systems(axes: Axes, known: Sequence[tuple[Deployed, Percentiles]], style: Style) -> None:
    for one, ends in known:
        colour, quality = style.colours[one.llm], 100 * (one.quality or 0.0)
        if ends.p95 > ends.p50 > 0:
            axes.plot([ends.p50, ends.p95], [quality, quality], color=colour, linewidth=1, alpha=0.45)
        size = bubble(one.parameters)
        drawn = axes.scatter([ends.mean], [quality], s=size, marker=style.markers[one.workflow], zorder=3)
        hollow = one.role == "reference"
        drawn.set(facecolor="none" if hollow else colour, edgecolor=colour if hollow else "white", alpha=0.9)
        drawn.set_linewidth(1.4 if hollow else 0.7)


def bubble(parameters: float | None) -> float:
    """The area of a system's mark, in square points: it grows with the root of the LLM's parameters, in billions."""
    if parameters is None:
        return AREA
    return AREA * min(8.0, max(0.6, math.sqrt(parameters / 3)))


def _front(axes: Axes, known: Sequence[tuple[Deployed, Percentiles]]) -> None:
    ranked = [(ends.mean, one) for one, ends in known if one.role != "reference" and one.complete]
    points = [(cost, one.quality) for cost, one in ranked if one.quality]
    front = sorted(point for point, on in zip(points, pareto(points), strict=True) if on)
    if front:
        xs, ys = [x for x, _ in front], [100 * y for _, y in front]
        axes.plot(xs, ys, color=INK, linewidth=1, linestyle="--", zorder=0, drawstyle="steps-post")


def _across(axes: Axes, part: Part, count: int) -> None:
    """The scale of a part of an axis, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if part.logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(
            LogLocator(subs=(1.0, 3.0) if part.high / part.low < 1000 else (1.0,), numticks=12)
        )
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5) if count == 1 else MaxNLocator(3, prune="both"))
    axes.set_xlim(part.low, part.high)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))


def _plain(value: float) -> str:
    """A number without an exponent; from 10,000 on in thousands (k)."""
    if value >= 10_000:
        return f"{value / 1000:,.0f}k" if value % 1000 == 0 else f"{value / 1000:,g}k"
    return f"{value:.10f}".rstrip("0").rstrip(".")


def _breaks(axes: Axes, at_left: bool, at_right: bool) -> None:
    """Slanted strokes where the axis goes on beyond a gap."""
    from matplotlib.lines import Line2D

    mark = {"marker": [(-0.6, -1), (0.6, 1)], "markersize": 9, "linestyle": "", "color": INK, "markeredgewidth": 1}
    for there, x in ((at_left, 0.0), (at_right, 1.0)):
        if there:
            line = Line2D([x], [0.0], transform=axes.transAxes, clip_on=False, zorder=5, **mark)  # type: ignore[arg-type]
            axes.add_line(line)


def _title(found: Sequence[Deployed]) -> str:
    """At how many connections the times were taken, and what the marks mean."""
    known = sorted({one.connections for one in found if one.connections is not None})
    unknown = any(one.connections is None for one in found)
    given = [f"{number} connection{'s' if number != 1 else ''}" for number in known]
    given += ["a number of connections that is not recorded"] if unknown else []
    times = f"times taken at {', '.join(given)}" if given else ""
    sizes = "larger marks: more parameters" if any(one.parameters is not None for one in found) else ""
    return "; ".join(part for part in ("Deployment", times, sizes, "dashed: the Pareto front") if part)
