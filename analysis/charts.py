"""Charts as data: one specification that `figures` draws for print and `plotly_figures` for the page.

A chart is made from the tidy frames of the views. A colour is that of an LLM and a symbol that of a workflow, on the
page and in print (`palette`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from r_eval.analysis.frame import short_names
from r_eval.analysis.palette import CAUSE_COLOURS, INK, LLM_COLOURS, NO_LLM, TYPE_COLOURS, Entry, Style, clipped
from r_eval.analysis.response_types import NAMES, TYPES
from r_eval.analysis.tables import rows_of, visible

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

ChartKind = Literal["radar", "heat", "bars", "rings", "columns", "scatter", "boxes"]
Frames = Mapping[str, "pandas.DataFrame"]
MOST_CAUSES = 8
TOPS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Ends of the scale of radars, so that weak systems can be read too."""
SCORE = "Score, percent"


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a radar, one colour of bars, one point with its interval, one row of a heat map, or one box.

    Attributes:
        values: One per category of the chart; NaN where it is not known. Of a box: its 5, 25, 50, 75 and 95 %.
        low, high: Ends of the 95 % intervals of `values`; empty where there are none.
        x: Of a scatter, the other coordinate.
    """

    name: str
    values: Sequence[float]
    colour: str = INK
    symbol: str = "circle"
    dash: str = "solid"
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    x: float = math.nan
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """What a chart shows; `values` are shares (0 to 1), drawn as percent, but for the seconds of boxes.

    Attributes:
        name: Of its files and in the page's address.
        section: Of the page, its heading.
        group: Charts of one group are side by side under one legend, on one scale.
        categories: Axes of a radar, columns of a heat map, rows of bars and boxes, places of columns.
        top: End of the scale of `values`; None leaves it to the data.
        log: Whether x is logarithmic.
        front: Points (x, value) of the Pareto front, in the order of x.
        page: Whether it is drawn on the page; all are drawn as figures.
    """

    kind: ChartKind
    name: str
    title: str
    series: Sequence[Series]
    categories: Sequence[str] = ()
    condition: str = ""
    tab: str = "results"
    section: str = "Matching"
    group: str = ""
    note: str = ""
    x_label: str = ""
    y_label: str = SCORE
    top: float | None = None
    log: bool = False
    front: Sequence[tuple[float, float]] = ()
    legend: Sequence[Entry] = ()
    page: bool = True

    @property
    def unit(self) -> float:
        """What values are multiplied with to be drawn."""
        return 1.0 if self.kind == "boxes" else 100.0

    def is_right(self, series: Series) -> bool:
        """Whether a point of a scatter is in the right half, so that its name belongs to the left of it."""
        across = [one.x for one in self.series]
        return series.x > (math.sqrt(min(across) * max(across)) if self.log else max(across) / 2)


def charts(results: Results, frames: Frames) -> list[Chart]:
    """Every chart that there are numbers for, condition by condition; `frames` are those of the views, by name."""
    style = Style.of(results)
    found: list[Chart] = []
    for condition in results.conditions:
        own = {
            name: frame[frame["condition"] == condition] if "condition" in frame else frame
            for name, frame in frames.items()
        }
        made = [*_matching(own, style), *_deployment(own, style)]
        made += [*_errors(own, style), *_components(own["components"])]
        found += [replace(chart, condition=condition) for chart in made if chart.series]
    return found


# ---- scores


def _wide(frame: pandas.DataFrame, rows: str, columns: str) -> pandas.DataFrame:
    """Scores by the names of rows and columns, in the order of their first appearance."""
    own = frame.astype({rows: str, columns: str})
    return own.pivot_table(index=rows, columns=columns, values="score", sort=False)


def _ordered(averages: pandas.DataFrame) -> pandas.DataFrame:
    """The averages over everything, best first and references last."""
    own = averages[(averages["group"] == "all") & averages["score"].notna()]
    own = own.assign(_last=own["role"] == "reference")
    return own.sort_values(["_last", "score"], ascending=[True, False], kind="stable")


def _matching(frames: Frames, style: Style) -> Iterator[Chart]:
    """Workflow x LLM: as a heat map, and as one radar per workflow; the best LLM's scores by level and domain."""
    own = frames["averages"]
    own = own[(own["role"] != "reference") & own["score"].notna()]
    overall = own[own["group"] == "all"]
    with_llm = overall[overall["llm"] != NO_LLM]
    table = _wide(with_llm, "workflow", "llm")
    if min(table.shape) > 1:
        rows = [Series(clipped(str(name)), table.loc[name].tolist()) for name in table.index]
        heads = [style.short[llm] for llm in table.columns]
        yield Chart("heat", "workflow-by-llm", "Mean score of every workflow with every LLM, percent", rows, heads)
    axes, values = _axes(own, frames["task_scores"])
    values = values[values["system"].isin(overall["system"])]
    if len(axes) > 2:
        yield from _radars(overall, axes, values, style)
    if len(axes) > 1 and len(with_llm):
        llm = str(with_llm.sort_values("score", ascending=False)["llm"].iloc[0])
        by = "domain and level" if "group" in values else "task"
        rows_by = values[values["llm"] == llm].groupby("workflow", observed=True, sort=False)
        series = [_columns(str(name), part, axes, place) for place, (name, part) in enumerate(rows_by)]
        title = f"Scores of {style.short[llm]} by {by}, percent"
        yield Chart("columns", "levels", title, series, list(axes.values()), legend=_legend(series))


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
    table = _wide(values, "system", "axis").reindex(columns=list(axes))
    top = next(top for top in TOPS if table.max().max() <= top + 1e-9 or top == 1.0)
    note = f"All radars have one scale: 0 to {100 * top:.0f} percent."
    drawn = overall[overall["system"].isin(table.index)]
    for workflow, own in drawn.groupby("workflow", observed=True, sort=False):
        title = clipped(str(workflow))
        lines = [
            Series(
                style.short[row.llm] if row.llm != NO_LLM else title,
                table.loc[row.system].tolist(),
                style.colours[row.llm],
                dash=style.dashes[row.llm],
            )
            for row in rows_of(own)
        ]
        chart = Chart("radar", f"radar-{workflow}", title, lines, list(axes.values()), group="radar", note=note)
        yield replace(chart, top=top, legend=style.llm_legend(drawn["llm"].tolist()))


def _columns(name: str, rows: pandas.DataFrame, places: Iterable[str], nth: int, by: str = "axis") -> Series:
    """Scores with intervals at some places."""
    found: Any = rows.drop_duplicates(by).set_index(by).reindex(list(places))
    mean, low, high = (found[end].astype(float).tolist() for end in ("score", "score_low", "score_high"))
    return Series(clipped(name), mean, LLM_COLOURS[nth % len(LLM_COLOURS)], low=low, high=high)


def _legend(series: Iterable[Series]) -> list[Entry]:
    return [(one.name, one.colour, "") for one in series]


# ---- deployment


def _deployment(frames: Frames, style: Style) -> Iterator[Chart]:
    """Score against seconds and against money, over everything and by domain; the distribution of the seconds."""
    found = frames["deployment"]
    found = found[found["quality"].notna() & (found["role"] != "reference")]
    for domain, rows in found.groupby("domain", observed=True, sort=False):
        yield from _scatters(str(domain), rows, style)
    seconds: Any = frames["latencies"].groupby("system", observed=True)["seconds"]
    quantiles = seconds.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).unstack()
    own = _ordered(frames["averages"])
    timed = [row for row in rows_of(own[own["role"] != "reference"]) if row.system in quantiles.index]
    boxes = [
        Series(style.labels[row.system], quantiles.loc[row.system].tolist(), style.colours[row.llm]) for row in timed
    ]
    spread = [value for box in boxes for value in box.values if value > 0]
    yield Chart(
        *("boxes", "latency", "Seconds per question", boxes, [box.name for box in boxes]),
        tab="details",
        section="Deployment",
        x_label="Seconds per question",
        log=bool(spread) and max(spread) > 30 * min(spread),
        legend=style.llm_legend([row.llm for row in timed]),
        note="Box: the middle half, with the median; whiskers: 5 to 95 %. Episodes with replayed replies are left out.",
    )


def _scatters(domain: str, rows: pandas.DataFrame, style: Style) -> Iterator[Chart]:
    whole = domain == "all"
    for name, word, unit in (("seconds", "latency", "Seconds"), ("cost", "cost", "USD")):
        column = f"{name}_mean"
        known = rows[rows[column] > 0]
        front = known[known[f"front_{name}"].fillna(False).astype(bool)].sort_values([column, "quality"])
        points = [
            Series(
                *(style.labels[row.system], [row.quality], style.colours[row.llm], style.symbols[row.workflow]),
                low=[row.quality_low],
                high=[row.quality_high],
                x=x,
                hollow=row.role != "system",
            )
            for row, x in zip(rows_of(known), known[column], strict=True)
        ]
        yield Chart(
            "scatter",
            f"score-by-{name}{'' if whole else f'-{domain}'}",
            f"Score against {word}{'' if whole else f', {clipped(domain)}'}",
            points,
            tab="results" if whole else "details",
            section="Deployment",
            group="deployment" if whole else "deployment-by-domain",
            note="Bars are 95 % intervals, hollow marks baselines. The line is the Pareto front.",
            x_label=f"{unit} per question (mean)",
            log=bool(len(known)) and known[column].max() > 8 * known[column].min(),
            front=list(zip(front[column], front["quality"], strict=True)),
            legend=[*style.llm_legend(known["llm"].tolist()), *style.workflow_legend(known["workflow"].tolist())],
        )


# ---- errors, components


def _errors(frames: Frames, style: Style) -> Iterator[Chart]:
    """Response types as bars and, printed, as rings; the commonest causes as bars."""
    order = _ordered(frames["averages"])["system"].astype(str).tolist()

    def bars(name: str, title: str, rows: pandas.DataFrame, series: Sequence[Series]) -> Chart:
        names = [style.labels[str(system)] for system in rows.index]
        chart = Chart("bars", name, title, series, names, tab="errors", section=title, legend=_legend(series))
        return replace(chart, y_label="Share of the recorded episodes, percent")

    rows = _stacked(frames["response_shares"], "response_type", order)
    rows = rows.reindex(columns=list(TYPES), fill_value=0.0)
    series = [Series(f"{NAMES[one]} ({one})", rows[one].tolist(), TYPE_COLOURS[one]) for one in TYPES if len(rows)]
    types = replace(bars("responses", "Response types", rows, series), top=1.0)
    yield types
    yield replace(types, kind="rings", name="response-rings", page=False)
    rows = _stacked(frames["causes"], "cause", order)
    most = rows.sum().sort_values(ascending=False, kind="stable").index.tolist()
    colours = zip(most, CAUSE_COLOURS, strict=False)
    series = [Series(visible(one.replace("_", " ")), rows[one].tolist(), colour) for one, colour in colours]
    if rest := most[MOST_CAUSES:]:
        series.append(Series("other", rows[rest].sum(axis=1).tolist(), "#c9ced4"))
    yield bars("causes", "Causes", rows, series)


def _stacked(frame: pandas.DataFrame, by: str, order: Sequence[str]) -> pandas.DataFrame:
    """Shares by system, in the order of the ranking, and by type or cause."""
    own = frame[frame["share"].notna()].astype({"system": str, by: str})
    table = own.pivot_table(index="system", columns=by, values="share", aggfunc="sum", fill_value=0.0)
    places = {system: number for number, system in enumerate(order)}
    return table.loc[sorted(table.index, key=lambda system: places.get(system, len(order)))]


def _components(found: pandas.DataFrame) -> Iterator[Chart]:
    """Score by the setting of each component that a sweep varies, a colour per task."""
    own = found[found["main"] & found["score"].notna()]
    several = found["study"].nunique() > 1
    for (study, component), rows in own.groupby(["study", "component"], sort=False, observed=True):
        settings = rows["setting"].astype(str).drop_duplicates().tolist()
        tasks = rows["task"].astype(str).drop_duplicates().tolist()
        if len(settings) < 2:
            continue
        series = [
            _columns(short, rows[rows["task"] == task], settings, place, "setting")
            for place, (task, short) in enumerate(zip(tasks, short_names(tasks), strict=True))
        ]
        title = clipped(f"{component} ({study})" if several else str(component), 60)
        yield Chart(
            *("columns", f"component-{component}" + (f"-{study}" if several else ""), title, series),
            [clipped(setting, 22) for setting in settings],
            tab="details",
            section="Sweeps",
            group="components",
            legend=_legend(series),
        )
