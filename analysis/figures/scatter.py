"""Quality against seconds, tokens and money, with the front that no system lies beyond.

A point is the mean; the line beside it leads from the median to the 95th percentile. A system whose price is not
known is in no panel of money.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from r_eval.analysis.deployment import Deployed, Percentiles, pareto
from r_eval.analysis.figures.style import INK, Style, legend_columns, placed_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPREAD = 20
"""Largest over smallest cost from which the axis is logarithmic."""
PANELS = (
    ("seconds", "Seconds an episode, without queue and retry"),
    ("tokens", "Tokens an episode, prompt and completion"),
    ("cost", "USD an episode"),
)


def deployment_scatter(deployed: Sequence[Deployed], style: Style) -> Figure | None:
    """A panel for each cost that is known of some system; None where none is."""
    found = [one for one in deployed if one.quality is not None]
    panels = []
    for cost, label in PANELS:
        known = [(one, ends) for one in found if (ends := _cost(one, cost)) is not None and ends.mean > 0]
        if known:
            panels.append((label, known, len(found) - len(known)))
    if not panels:
        return None
    figure = placed_figure(max(5.2, 4.2 * len(panels)), 4.6)
    for number, (label, known, without) in enumerate(panels, 1):
        _panel(figure.add_subplot(1, len(panels), number), label, known, without, style)
    llms = [llm for llm in style.colours if llm != "none" and any(one.llm == llm for one in found)]
    workflows = [w for w in style.markers if any(one.workflow == w for one in found)]
    handles = [*style.workflow_handles(workflows), *style.llm_handles(llms, lines=False)]
    labels = [str(handle.get_label()) for handle in handles]
    columns = legend_columns(figure.get_figwidth(), labels)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    figure.suptitle(_connections(found))
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


def _panel(axes: Axes, label: str, known: Sequence[tuple[Deployed, Percentiles]], without: int, style: Style) -> None:
    for one, ends in known:
        colour = style.colours[one.llm]
        quality = 100 * (one.quality or 0.0)
        if ends.p95 > ends.p50 > 0:
            axes.plot([ends.p50, ends.p95], [quality, quality], color=colour, linewidth=1, alpha=0.45)
        face = "none" if one.bound else colour
        axes.plot(
            *([ends.mean], [quality]),
            **{"marker": style.markers[one.workflow], "markersize": 8, "linestyle": ""},  # type: ignore[arg-type]
            color=colour,
            markerfacecolor=face,
        )
    contending = [(ends.mean, one.quality or 0.0) for one, ends in known if not one.bound and one.complete]
    front = sorted(point for point, on in zip(contending, pareto(contending), strict=True) if on)
    if front:
        axes.plot(
            *zip(*[(x, 100 * y) for x, y in front], strict=True),
            color=INK,
            linewidth=1,
            linestyle="--",
            zorder=0,
            drawstyle="steps-post",
        )
    _across(axes, [value for _, ends in known for value in (ends.mean, ends.p50, ends.p95) if value > 0])
    axes.set_xlabel(f"{label}\n(left out: {without}, where it is not known or 0)" if without else label)
    axes.set_ylabel("Quality, percent (mean over tasks)")
    axes.set_ylim(0, min(105.0, 8 + max(100 * (one.quality or 0.0) for one, _ in known)))
    axes.grid(visible=True)


def _across(axes: Axes, costs: Sequence[float]) -> None:
    """The scale of the costs, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if max(costs) / min(costs) > SPREAD:
        axes.set_xscale("log")
        axes.set_xlim(min(costs) / 1.5, max(costs) * 1.5)
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, 1.06 * max(costs))
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10f}".rstrip("0").rstrip(".")))


def _connections(found: Sequence[Deployed]) -> str:
    """At how many connections the times were taken."""
    given = sorted({one.connections for one in found if one.connections is not None and one.llm != "none"})
    unknown = any(one.connections is None and one.llm != "none" for one in found)
    parts = [f"{number} connection{'s' if number != 1 else ''}" for number in given]
    parts += ["a number of connections that is not recorded"] if unknown else []
    return f"Deployment; times taken at {', '.join(parts)}; dashed: the Pareto front" if parts else "Deployment"
