"""Charts as data: one specification that `figures` draws for print and `plotly_figure` turns into a figure of the page.

A chart is made from the tidy frames of the views. A colour stands for an LLM and a symbol for a workflow, on the page
and in print (`palette`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from r_eval.analysis.palette import (
    CAUSE_COLOURS,
    GREY,
    INK,
    LLM_COLOURS,
    NO_LLM,
    SYMBOLS,
    TYPE_COLOURS,
    Style,
    clipped,
    short_names,
)
from r_eval.analysis.response_types import NAMES, TYPES
from r_eval.analysis.tables import rows_of, visible

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

ChartKind = Literal["radar", "heat", "bars", "rings", "dots", "columns", "lines", "scatter", "boxes"]
MOST_CAUSES = 8


@dataclass(frozen=True, slots=True)
class Series:
    """One line, one colour of bars, one point with its interval, one row of a heat map, or one box.

    Attributes:
        values: One per category of the chart; NaN where it is not known. Of a box: its 5, 25, 50, 75 and 95 %.
        low, high: Ends of the 95 % intervals of `values`; empty where there are none.
        x: Of a scatter, the other coordinate.
        named: Of a scatter, whether the point carries its name.
    """

    name: str
    values: Sequence[float]
    colour: str = INK
    symbol: str = "circle"
    dash: str = "solid"
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    x: Sequence[float] = ()
    hollow: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """What a chart shows.

    Attributes:
        name: Of its files and in the page's address.
        section: Of the page, the heading that it stands under.
        group: Charts of one group stand side by side under one legend, on one scale.
        categories: Axes of a radar, columns of a heat map, rows of bars and dots, places of columns and lines.
        percent: Whether `values` are shares (0 to 1), drawn as percent.
        top: End of the scale of `values`; None leaves it to the data.
        log: Whether x is logarithmic.
        front: Points (x, value) of the Pareto front, in the order of x.
        legend: Label, colour and symbol ("" a square of the colour) of each entry.
        page: Whether it is drawn on the page; all are drawn as figures.
    """

    kind: ChartKind
    name: str
    title: str
    series: Sequence[Series]
    categories: Sequence[str] = ()
    condition: str = ""
    tab: str = "results"
    section: str = ""
    group: str = ""
    note: str = ""
    x_label: str = ""
    y_label: str = ""
    percent: bool = True
    top: float | None = None
    log: bool = False
    front: Sequence[tuple[float, float]] = ()
    legend: Sequence[tuple[str, str, str]] = ()
    page: bool = True


def charts(results: Results, frames: Mapping[str, pandas.DataFrame]) -> list[Chart]:
    """Every chart that there are numbers for, condition by condition.

    Args:
        frames: By the names of the views.
    """
    style = Style.of(results)
    found: list[Chart] = []
    for condition in results.conditions:
        own = {
            name: frame[frame["condition"] == condition] if "condition" in frame else frame
            for name, frame in frames.items()
        }
        made = [
            *_matching(own, style),
            *_deployment(own, style),
            *_scores(results, own, style),
            *_errors(own, style),
            *_components(own["components"]),
        ]
        found += [replace(chart, condition=condition) for chart in made if chart.series]
    return found


def _place(tab: str, section: str, group: str = "") -> dict[str, Any]:
    """Where a chart stands on the page."""
    return {"tab": tab, "section": section, "group": group}


# ---- results


def _scores(results: Results, frames: Mapping[str, pandas.DataFrame], style: Style) -> Iterator[Chart]:
    """Systems with intervals, and systems x tasks; both for print alone."""
    overall = _ordered(frames["averages"])
    if overall.empty:
        return
    labels = [style.labels[system] for system in overall["system"]]
    dots = [_point(style, row, row.score, row.score_low, row.score_high) for row in rows_of(overall)]
    legend = style.llm_legend(overall["llm"].tolist())
    title, unit = "Scores with 95 % intervals", "Score, percent (mean over tasks)"
    yield Chart("dots", "ranking", title, dots, labels, y_label=unit, legend=legend, page=False)
    tasks = results.tasks["name"].tolist()
    by_task = _table(frames["task_scores"], "system", "task")
    mean = ["mean over tasks"] if len(tasks) > 1 else []
    rows = []
    for row, label in zip(rows_of(overall), labels, strict=True):
        values = [*(_at(by_task, row.system, task) for task in tasks), *([row.score] if mean else [])]
        rows.append(Series(label, values, GREY if row.role == "reference" else INK))
    heads = [*map(_task_label, rows_of(results.tasks)), *mean]
    yield Chart("heat", "heat-map", "Mean score, percent", rows, heads, page=False)


def _task_label(task: Any) -> str:
    known = " ".join(part for part in (task.id, task.level) if part)
    return f"{clipped(task.short, 22)} ({clipped(known, 12)})" if known else clipped(task.short, 22)


def _point(style: Style, row: Any, value: float, low: float, high: float, **more: Any) -> Series:
    """A system's mark with its interval; hollow where it is no tool-using system."""
    looks = style.colours[row.llm], style.symbols[row.workflow]
    return Series(
        style.labels[row.system], [value], *looks, low=[low], high=[high], hollow=row.role != "system", **more
    )


def _table(frame: pandas.DataFrame, index: str, columns: str) -> Any:
    return frame.pivot_table(index=index, columns=columns, values="score", observed=True)


def _at(table: Any, row: str, column: str) -> float:
    known = row in table.index and column in table.columns
    return float(table.loc[row, column]) if known else math.nan


def _ordered(averages: pandas.DataFrame) -> pandas.DataFrame:
    """The averages over everything, best first and references last."""
    own = averages[(averages["group"] == "all") & averages["score"].notna()]
    own = own.assign(_last=own["role"] == "reference")
    return own.sort_values(["_last", "score"], ascending=[True, False], kind="stable")


def _matching(frames: Mapping[str, pandas.DataFrame], style: Style) -> Iterator[Chart]:
    """Workflow x LLM: as a heat map, and as one radar per workflow; the best LLM's scores by level and domain."""
    averages = frames["averages"]
    own = averages[(averages["role"] != "reference") & averages["score"].notna()]
    overall = own[own["group"] == "all"]
    workflows = overall["workflow"].astype(str).drop_duplicates().tolist()
    llms = [llm for llm in overall["llm"].astype(str).drop_duplicates() if llm != NO_LLM]
    if len(workflows) > 1 and len(llms) > 1:
        table = _table(overall, "workflow", "llm")
        rows = [Series(clipped(w), [_at(table, w, llm) for llm in llms]) for w in workflows]
        heads = [style.short[llm] for llm in llms]
        title = "Mean score of every workflow with every LLM, percent"
        yield Chart("heat", "workflow-by-llm", title, rows, heads, section="Matching")
    axes, values = _axes(own, frames["task_scores"])
    if len(axes) > 2:
        yield from _radars(overall, axes, values, style)
    if len(axes) > 1 and llms:
        yield _levels(overall, axes, values, style)


def _axes(averages: pandas.DataFrame, scores: pandas.DataFrame) -> tuple[dict[str, str], pandas.DataFrame]:
    """What a profile is drawn over: each domain's levels, or the tasks where there are too few of them.

    Returns:
        The axes with their labels, and a row for each system on each axis.
    """
    levels = averages[averages["level"].notna() & (averages["level"] != "")]
    axes = {
        str(group): f"{clipped(str(domain), 18)} {level}"
        for group, domain, level in levels[["group", "domain", "level"]].drop_duplicates().itertuples(index=False)
    }
    if len(axes) > 2:
        return axes, levels.assign(axis=levels["group"].astype(str))
    names = scores["task"].astype(str).drop_duplicates().tolist()
    labels = {name: clipped(short, 18) for name, short in zip(names, short_names(names), strict=True)}
    return labels, scores.assign(axis=scores["task"].astype(str))


def _radars(
    overall: pandas.DataFrame, axes: Mapping[str, str], values: pandas.DataFrame, style: Style
) -> Iterator[Chart]:
    table = _table(values, "system", "axis")
    shown = overall[overall["system"].astype(str).isin(table.index)]
    top = nice_top(float(table.loc[table.index.isin(shown["system"].astype(str))].max().max()))
    more: dict[str, Any] = {"section": "Matching", "group": "radar", "top": top}
    more |= {"legend": style.llm_legend(shown["llm"].tolist())}
    more |= {"note": f"All radars have one scale: 0 to {100 * top:.0f} percent."}
    for workflow in shown["workflow"].astype(str).drop_duplicates():
        lines = []
        for row in rows_of(shown[shown["workflow"] == workflow]):
            name = style.short[row.llm] if row.llm != NO_LLM else clipped(workflow)
            profile = [_at(table, row.system, axis) for axis in axes]
            lines.append(Series(name, profile, style.colours[row.llm], dash=style.dashes[row.llm]))
        yield Chart("radar", f"radar-{workflow}", clipped(workflow), lines, list(axes.values()), **more)


def _levels(overall: pandas.DataFrame, axes: Mapping[str, str], values: pandas.DataFrame, style: Style) -> Chart:
    """The LLM with the best score: its mean on each level of each domain (the paper's Figures 3 and 7)."""
    llm = str(overall[overall["llm"] != NO_LLM].sort_values("score", ascending=False)["llm"].iloc[0])
    own = values[(values["llm"] == llm) & values["system"].isin(overall["system"])]
    series = [
        _line(clipped(workflow), own[own["workflow"] == workflow].set_index("axis"), axes, _nth(LLM_COLOURS, place))
        for place, workflow in enumerate(own["workflow"].astype(str).drop_duplicates())
    ]
    by = "task" if "task" in values and "group" not in values else "domain and level"
    title, legend = f"Scores of {style.short[llm]} by {by}, percent", [(one.name, one.colour, "") for one in series]
    names, label = list(axes.values()), "Score, percent"
    return Chart("columns", "levels", title, series, names, section="Matching", y_label=label, legend=legend)


def _nth(looks: Sequence[str], place: int) -> str:
    return looks[place % len(looks)]


def _line(name: str, rows: Any, places: Iterable[str], colour: str, symbol: str = "circle") -> Series:
    """Scores with intervals at some places, of rows by place."""
    ends = ([float(rows[end].get(place, math.nan)) for place in places] for end in ("score", "score_low", "score_high"))
    mean, low, high = ends
    return Series(name, mean, colour, symbol, low=low, high=high)


def _deployment(frames: Mapping[str, pandas.DataFrame], style: Style) -> Iterator[Chart]:
    """Score against seconds and against money, over everything and by domain; the distribution of the seconds."""
    found = frames["deployment"]
    for domain in found["domain"].astype(str).drop_duplicates():
        rows = found[(found["domain"] == domain) & found["quality"].notna() & (found["role"] != "reference")]
        if domain == "all":
            end, of, place = "", "", _place("results", "Deployment", "deployment")
        else:
            end, of, place = (
                f"-{domain}",
                f", {clipped(domain)}",
                _place("details", "Deployment", "deployment-by-domain"),
            )
        for name, word, unit in (("seconds", "latency", "Seconds"), ("cost", "cost", "USD")):
            column = f"{name}_mean"
            known = rows[rows[column].notna() & (rows[column] > 0)]
            on_front = known[known[f"front_{name}"].fillna(False).astype(bool)].sort_values([column, "quality"])
            named = set(on_front["system"])
            points = [_point(style, row, row.quality, row.quality_low, row.quality_high) for row in rows_of(known)]
            points = [
                replace(point, x=[x], named=system in named)
                for point, x, system in zip(points, known[column], known["system"], strict=True)
            ]
            yield Chart(
                *("scatter", f"score-by-{name}{end}", f"Score against {word}{of}", points),
                **place,
                x_label=f"{unit} per question (mean)",
                y_label="Score, percent",
                log=bool(len(known)) and known[column].max() > 15 * known[column].min(),
                front=list(zip(on_front[column], on_front["quality"], strict=True)),
                legend=[*style.llm_legend(known["llm"].tolist()), *style.workflow_legend(known["workflow"].tolist())],
                note="Bars are 95 % intervals, hollow marks baselines. The line is the Pareto front.",
            )
    yield _latency(frames, style)


def _latency(frames: Mapping[str, pandas.DataFrame], style: Style) -> Chart:
    seconds: Any = frames["latencies"].groupby("system", observed=True)["seconds"]
    quantiles = seconds.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).unstack()
    own = _ordered(frames["averages"])
    rows = [row for row in rows_of(own[own["role"] != "reference"]) if row.system in quantiles.index]
    boxes = [
        Series(style.labels[row.system], quantiles.loc[row.system].tolist(), style.colours[row.llm]) for row in rows
    ]
    spread = [value for box in boxes for value in box.values if value > 0]
    return Chart(
        *("boxes", "latency", "Seconds per question", boxes, [box.name for box in boxes]),
        **_place("details", "Deployment"),
        x_label="Seconds per question",
        percent=False,
        log=bool(spread) and max(spread) > 30 * min(spread),
        legend=style.llm_legend([row.llm for row in rows]),
        note="Box: the middle half, with the median; whiskers: 5 to 95 %. Episodes with replayed replies are left out.",
    )


# ---- errors, components


def _errors(frames: Mapping[str, pandas.DataFrame], style: Style) -> Iterator[Chart]:
    """Response types as bars and, printed, as rings; the commonest causes as bars."""
    order = _ordered(frames["averages"])["system"].astype(str).tolist()
    label = "Share of the recorded episodes, percent"
    systems, rows = _stacked(frames["response_shares"], "response_type", order)
    nothing = [0.0] * len(systems)
    series = [Series(f"{NAMES[one]} ({one})", rows.get(one, nothing), TYPE_COLOURS[one]) for one in TYPES]
    types = Chart(
        *("bars", "responses", "Response types", series if rows else [], [style.labels[one] for one in systems]),
        **_place("errors", "Response types"),
        y_label=label,
        top=1.0,
        legend=[(one.name, one.colour, "") for one in series],
    )
    yield types
    yield replace(types, kind="rings", name="response-rings", page=False)
    systems, rows = _stacked(frames["causes"], "cause", order)
    most = sorted(rows, key=lambda cause: -sum(rows[cause]))[:MOST_CAUSES]
    series = [Series(visible(one.replace("_", " ")), rows[one], CAUSE_COLOURS[n]) for n, one in enumerate(most)]
    if rest := [rows[cause] for cause in rows if cause not in most]:
        series.append(Series("other", [sum(values) for values in zip(*rest, strict=True)], "#c9ced4"))
    legend = [(one.name, one.colour, "") for one in series]
    names = [style.labels[one] for one in systems]
    yield Chart("bars", "causes", "Causes", series, names, **_place("errors", "Causes"), y_label=label, legend=legend)


def _stacked(frame: pandas.DataFrame, by: str, order: Sequence[str]) -> tuple[list[str], dict[str, list[float]]]:
    """The systems of a frame in the order of the ranking, and by type or cause the share of each."""
    place = {system: number for number, system in enumerate(order)}
    own = frame[frame["share"].notna()]
    table: Any = own.pivot_table(
        index="system", columns=by, values="share", observed=True, aggfunc="sum", fill_value=0.0
    )
    systems = sorted(map(str, table.index), key=lambda system: place.get(system, len(order)))
    return systems, {str(name): [float(table.loc[system, name]) for system in systems] for name in table.columns}


def _components(found: pandas.DataFrame) -> Iterator[Chart]:
    """Score by the setting of each component that a sweep varies, a line per task."""
    own = found[found["main"].fillna(False).astype(bool) & found["score"].notna()] if len(found) else found
    several = found["study"].nunique() > 1
    for (study, component), rows in own.groupby(["study", "component"], sort=False, observed=True):
        settings = rows["setting"].astype(str).drop_duplicates().tolist()
        tasks = rows["task"].astype(str).drop_duplicates().tolist()
        if len(settings) < 2:
            continue
        series = []
        for place, (task, short) in enumerate(zip(tasks, short_names(tasks), strict=True)):
            line = rows[rows["task"] == task].drop_duplicates("setting").set_index("setting")
            looks = _nth(LLM_COLOURS, place), _nth(list(SYMBOLS), place)
            series.append(_line(clipped(short), line, settings, *looks))
        title = clipped(f"{component} ({study})" if several else str(component), 60)
        yield Chart(
            *("lines", f"component-{component}" + (f"-{study}" if several else ""), title, series),
            [clipped(setting, 22) for setting in settings],
            **_place("details", "Sweeps", "components"),
            y_label="Score, percent",
            legend=[(one.name, one.colour, one.symbol) for one in series],
        )


def is_right(chart: Chart, series: Series) -> bool:
    """Whether a point of a scatter is in the right half, so that its name belongs to the left of it."""
    across = [one.x[0] for one in chart.series]
    left, right, x = min(across), max(across), series.x[0]
    return x > (math.sqrt(left * right) if chart.log else right / 2)


def nice_top(value: float) -> float:
    """The least round share at or above a value, so that weak systems can be read too."""
    steps = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    return next((top for top in steps if value <= top + 1e-9), 1.0)
