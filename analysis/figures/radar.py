"""Radars: one for each workflow over domain and level and over the tasks, and one figure with all of them.

A radar holds at most six systems; more are shared out evenly, the best first. References are left out. A value that is
not there leaves a gap in the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from r_eval.analysis.figures.style import DIM, FAINT, Style, legend_of, shown
from r_eval.analysis.matching import BEST, Profile, profile
from r_eval.analysis.rows import LEVELS, Aggregates, Row
from r_eval.analysis.summary import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 6
"""Systems in a radar."""
FEWEST = 3
"""Axes that a radar needs."""
ACROSS = 3
"""Radars side by side."""
SIDE, HIGH, HEAD, LINE = 3.5, 3.1, 0.45, 0.215
"""Inches: of a radar, of the title, of a line of the legend."""
BY: dict[Literal["level", "task"], str] = {"level": "by domain and level", "task": "by task"}
AXIS = 18
"""Characters of an axis' name."""


class Panel(NamedTuple):
    """A radar: some systems of one workflow.

    Attributes:
        rings: Where its rings lie, the outermost last.
    """

    title: str
    rows: list[Row]
    profile: Profile
    rings: list[float]


def radars(aggregates: Aggregates, condition: str, style: Style) -> Iterator[tuple[str, Figure]]:
    """Figures by name; none where there are fewer than three axes."""
    rows = [row for row in aggregates.under(condition) if not row.reference and row.overall.mean is not None]
    kinds = _kinds(aggregates)
    if not kinds or not rows:
        return
    workflows = list(dict.fromkeys(row.workflow for row in rows))
    for name, base in (("radar", ""), ("radar-normalised", BEST)):
        found = profile(aggregates, kinds[0], base, condition)
        rings = _rings(found, rows)  # the same for all, so that they can be compared
        panels = [panel for w in workflows for panel in _panels(shown(w), _of(w, rows), found, rings)]
        yield name, _figure(panels, aggregates, style, _title(found))
    for workflow in workflows:
        own = _of(workflow, rows)
        by_kind = [_panels(BY[kind], own, profile(aggregates, kind, "", condition)) for kind in kinds]
        across = len(kinds) if len(by_kind[0]) == 1 else min(ACROSS, len(by_kind[0]))
        panels = [panel for panels in by_kind for panel in panels]
        own_scale = "; each radar has a scale of its own" if len({panel.rings[-1] for panel in panels}) > 1 else ""
        title = f"{shown(workflow)}: score, percent{own_scale}"
        yield f"radar-{workflow}", _figure(panels, aggregates, style, title, across)


def _kinds(aggregates: Aggregates) -> list[Literal["level", "task"]]:
    """What there are enough axes of; tasks only where they say more than the levels do."""
    levels = [group for group in aggregates.groups if group.rpartition("_")[2] in LEVELS]
    kinds: list[Literal["level", "task"]] = ["level"] if len(levels) >= FEWEST else []
    if len(aggregates.tasks) >= FEWEST and (not kinds or len(aggregates.tasks) > len(levels)):
        kinds.append("task")
    return kinds


def _title(found: Profile) -> str:
    return "Score, percent" if not found.base else "Score, percent of the best system's on each axis"


def _of(workflow: str, rows: Sequence[Row]) -> list[Row]:
    """The systems of a workflow, the best first."""
    return sorted((row for row in rows if row.workflow == workflow), key=lambda row: -(row.overall.mean or 0.0))


def _panels(title: str, rows: Sequence[Row], found: Profile, rings: list[float] | None = None) -> list[Panel]:
    """Radars of some systems; without given rings each has its own, so that weak systems can be read too."""
    count = math.ceil(len(rows) / MOST)
    size = math.ceil(len(rows) / count)
    panels = []
    for number in range(count):
        part = list(rows[number * size : (number + 1) * size])
        own = f"{title} ({number + 1} of {count})" if count > 1 else title
        panels.append(Panel(own, part, found, rings or _rings(found, part)))
    return panels


def _rings(found: Profile, rows: Sequence[Row]) -> list[float]:
    """At most five, at round numbers, the last at or beyond the largest value."""
    lines = dict(zip(found.systems, found.values, strict=True))
    most = max((value for row in rows for value in lines[row.system] if value is not None), default=0.0)
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if step == 0.2 or most <= 5 * step + 1e-9)
    return [step * number for number in range(1, max(1, math.ceil(round(most / step, 9))) + 1)]


def _figure(panels: Sequence[Panel], aggregates: Aggregates, style: Style, title: str, across: int = ACROSS) -> Figure:
    """Radars side by side, placed by inches: to have matplotlib find the places takes most of the time of drawing."""
    from matplotlib.figure import Figure

    llms = [llm for llm in style.colours if any(row.llm == llm for panel in panels for row in panel.rows)]
    workflows = list(dict.fromkeys(row.workflow for panel in panels for row in panel.rows))
    kinds = style.llm_handles(llms), style.workflow_handles(workflows) if len(workflows) > 1 else []
    across = math.ceil(len(panels) / math.ceil(len(panels) / across))  # lines that are about equally full
    width = max(SIDE * across, 4.2)
    handles, columns = legend_of(kinds, width)
    below = 0.25 + LINE * len(handles) / columns
    height = HEAD + HIGH * math.ceil(len(panels) / across) + below
    figure = Figure(figsize=(width, height))
    side = width / across
    for number, panel in enumerate(panels):
        down, right = divmod(number, across)
        bottom = height - HEAD - HIGH * (down + 1)
        axes = figure.add_axes((right * side / width, bottom / height, side / width, (HIGH - 0.35) / height))
        _radar(axes, panel, _axis_names(panel.profile, aggregates), style)
    figure.suptitle(title, y=1 - 0.12 / height, va="top")
    figure.legend(handles=handles, loc="lower center", ncols=columns, bbox_to_anchor=(0.5, 0.05 / height))
    return figure


def _axis_names(found: Profile, aggregates: Aggregates) -> list[str]:
    tasks = {task.name: task for task in aggregates.tasks}
    if not all(axis in tasks for axis in found.axes):
        parts = [axis.rpartition("_") for axis in found.axes]
        return [f"{shown(domain, AXIS)}\n{level}" for domain, _, level in parts]
    names = zip(found.axes, short_names(list(found.axes)), strict=True)
    return [f"{tasks[axis].id}\n{shown(name, AXIS)}".strip() for axis, name in names]


def _radar(axes: Axes, panel: Panel, names: Sequence[str], style: Style) -> None:
    """Draw a radar with lines and texts; matplotlib's own polar axes take several times as long."""
    spokes = [
        (math.sin(2 * math.pi * k / len(names)), math.cos(2 * math.pi * k / len(names))) for k in range(len(names))
    ]
    _web(axes, spokes, names, panel.rings)
    lines = dict(zip(panel.profile.systems, panel.profile.values, strict=True))
    for row in panel.rows:
        sizes = [math.nan if value is None else value / panel.rings[-1] for value in lines[row.system]]
        points = [(size * x, size * y) for size, (x, y) in zip(sizes, spokes, strict=True)]
        points.append(points[0])
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=style.colours[row.llm],
            linestyle=style.dashes[row.llm],
            marker=style.markers[row.workflow],
            markersize=4,
            linewidth=1.5,
        )
    axes.set_title(panel.title, y=1.0)  # where it is anyway: matplotlib measures the hidden ticks to find that out


def _web(axes: Axes, spokes: Sequence[tuple[float, float]], names: Sequence[str], rings: Sequence[float]) -> None:
    """Rings with their numbers, spokes with their names."""
    gap = (math.nan, math.nan)
    web = [point for x, y in spokes for point in ((0.0, 0.0), (x, y), gap)]
    for ring in rings:
        web += [*((ring / rings[-1] * x, ring / rings[-1] * y) for x, y in (*spokes, spokes[0])), gap]
    axes.plot([x for x, _ in web], [y for _, y in web], color=FAINT, linewidth=0.7, zorder=1)
    for (x, y), name in zip(spokes, names, strict=True):
        across = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
        up = "bottom" if y > 0.9 else "top" if y < -0.9 else "center"
        axes.text(1.1 * x, 1.1 * y, name, ha=across, va=up, fontsize=7.5, linespacing=1.1)
    for ring in rings:
        at = [ring / rings[-1] * (one + two) / 2 for one, two in zip(spokes[0], spokes[1], strict=True)]
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.8}
        number = axes.text(at[0], at[1], f"{100 * ring:.0f}", fontsize=6.5, color=DIM, bbox=paper)
        number.set(ha="center", va="center", zorder=3)  # above the lines, which show through
    axes.set_xlim(-1.8, 1.8)
    axes.set_ylim(-1.4, 1.4)
    axes.set_aspect("equal")
    axes.set_axis_off()
