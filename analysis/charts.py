"""Charts as data: one specification that `figures` draws for print and `plotly_figure` turns into a figure of the page.

A chart is made from the tidy frames of the views. A colour stands for an LLM and a symbol for a workflow, on the page
and in print; the palette is Okabe and Ito's, which the common kinds of colour blindness leave distinct.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from r_eval.analysis.response_types import NAMES, TYPES
from r_eval.analysis.tables import rows_of, visible

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

Kind = Literal["radar", "heat", "bars", "rings", "dots", "columns", "lines", "scatter", "boxes"]
INK = "#1c2126"
GREY = "#8a949e"
"""Colour of systems that use no LLM."""
LLM_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b6529a", "#b07900", "#3d9fd6", "#6b6b6b", "#7a5195")
TYPE_COLOURS = {"EM": "#0b4f8a", "AM": "#79b4e2", "GE": "#f2cf5b", "RE": "#e58a2b", "ME": "#a9afb5", "TE": "#8c2d04"}
CAUSE_COLOURS = ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255")
"""Tol's muted palette, for causes: no colour of it stands for a response type or an LLM."""
DARK = {
    **dict(
        zip(
            LLM_COLOURS,
            ("#56b4e9", "#f58545", "#2fc79a", "#dd8fc4", "#eab541", "#9ad4f5", "#b5b5b5", "#b79bd6"),
            strict=True,
        )
    ),
    **{"#0b4f8a": "#3f8fd2", "#79b4e2": "#9fcdf0", "#f2cf5b": "#e8c547", "#e58a2b": "#d97b1f", "#a9afb5": "#7f8891"},
    **{"#8c2d04": "#c4512d", "#332288": "#7b6fd6", "#117733": "#3fa35f", "#882255": "#c4588f", INK: "#e6e8ea"},
}
"""What a colour becomes on dark paper; others stay."""
SYMBOLS = {
    **{"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "cross": "P", "star": "*", "pentagon": "p"},
    **{"hexagon": "h", "triangle-down": "v", "x": "X"},
}
"""Symbols by plotly's name, with matplotlib's."""
GLYPHS = dict(zip(SYMBOLS, "●■◆▲✚★⬟⬢▼✖", strict=True))
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
NO_LLM = "none"
LONGEST = 34
"""Characters of a name in a chart."""
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

    kind: Kind
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


@dataclass(frozen=True, slots=True)
class Style:
    """By name: the colour, dash and short name of LLMs, the symbol of workflows, the label of systems."""

    colours: Mapping[str, str]
    dashes: Mapping[str, str]
    symbols: Mapping[str, str]
    short: Mapping[str, str]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, results: Results) -> Style:
        """In the order of the grid."""
        own = results.cells[["system", "workflow", "llm"]].astype(str).drop_duplicates()
        every, workflows = own["llm"].drop_duplicates().tolist(), own["workflow"].drop_duplicates().tolist()
        llms, dashes, symbols = [llm for llm in every if llm != NO_LLM], list(DASHES), list(SYMBOLS)
        short = dict(zip(every, map(clipped, short_names(every)), strict=True))
        return cls(
            {llm: LLM_COLOURS[place % len(LLM_COLOURS)] for place, llm in enumerate(llms)} | {NO_LLM: GREY},
            {llm: dashes[place // len(LLM_COLOURS) % len(dashes)] for place, llm in enumerate(llms)}
            | {NO_LLM: "solid"},
            {workflow: symbols[place % len(symbols)] for place, workflow in enumerate(workflows)},
            short,
            {
                system: clipped(workflow) if llm == NO_LLM else f"{clipped(workflow)} · {short[llm]}"
                for system, workflow, llm in own.itertuples(index=False)
            },
        )

    def llm_legend(self, llms: Sequence[str]) -> list[tuple[str, str, str]]:
        """Legend entries of the LLMs that use their colour."""
        return [(self.short[llm], self.colours[llm], "circle") for llm in self.colours if llm in set(llms) - {NO_LLM}]

    def workflow_legend(self, workflows: Sequence[str]) -> list[tuple[str, str, str]]:
        """Legend entries of workflows, in the colour of the text."""
        return [(clipped(one), INK, self.symbols[one]) for one in self.symbols if one in set(workflows)]


def clipped(name: str, longest: int = LONGEST) -> str:
    """A name on one line, cut where it is long."""
    line = visible(name) or "?"
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def short_names(names: Sequence[str]) -> list[str]:
    """Names without what stands before the last "/", where that leaves them different."""
    short = [name.rpartition("/")[2] or name for name in names]
    count = Counter(short)
    return [name if count[cut] > 1 else cut for name, cut in zip(names, short, strict=True)]


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
        found += [
            *_matching(own, style, condition),
            *_deployment(own, style, condition),
            *_scores(results, own, style, condition),
            *_errors(own, style, condition),
            *_components(own, condition),
        ]
    return [chart for chart in found if chart.series]


# ---- results


def _scores(results: Results, frames: Mapping[str, pandas.DataFrame], style: Style, condition: str) -> Iterator[Chart]:
    """Systems with intervals; systems x tasks; radars; levels and domains."""
    overall = _ordered(frames["averages"])
    if overall.empty:
        return
    percent = "Score, percent (mean over tasks)"
    yield Chart(
        "dots",
        "ranking",
        "Scores with 95 % intervals",
        [_dot(style, row, row.score, row.score_low, row.score_high) for row in rows_of(overall)],
        [style.labels[system] for system in overall["system"]],
        condition,
        y_label=percent,
        legend=style.llm_legend(overall["llm"].tolist()),
        page=False,
    )
    tasks = results.tasks["name"].tolist()
    by_task = frames["task_scores"].pivot_table(index="system", columns="task", values="score", observed=True)
    mean = ["mean over tasks"] if len(tasks) > 1 else []
    yield Chart(
        "heat",
        "heat-map",
        "Mean score, percent",
        [
            Series(
                style.labels[row.system],
                [*(_at(by_task, row.system, task) for task in tasks), *([row.score] if mean else [])],
                GREY if row.role == "reference" else INK,
            )
            for row in rows_of(overall)
        ],
        [*map(_task_label, rows_of(results.tasks)), *mean],
        condition,
        page=False,
    )


def _task_label(task: Any) -> str:
    known = " ".join(part for part in (task.id, task.level) if part)
    return f"{clipped(task.short, 22)} ({clipped(known, 12)})" if known else clipped(task.short, 22)


def _dot(style: Style, row: Any, value: float, low: float, high: float) -> Series:
    hollow = row.role != "system"
    name, colour, symbol = style.labels[row.system], style.colours[row.llm], style.symbols[row.workflow]
    return Series(name, [value], colour, symbol, low=[low], high=[high], hollow=hollow)


def _at(table: Any, row: str, column: str) -> float:
    known = row in table.index and column in table.columns
    return float(table.loc[row, column]) if known else math.nan


def _ordered(averages: pandas.DataFrame, group: str = "all") -> pandas.DataFrame:
    """The averages of a group, best first and references last."""
    own = averages[(averages["group"] == group) & averages["score"].notna()]
    return own.assign(_last=own["role"] == "reference").sort_values(
        ["_last", "score"], ascending=[True, False], kind="stable"
    )


def _matching(frames: Mapping[str, pandas.DataFrame], style: Style, condition: str) -> Iterator[Chart]:
    """Workflow x LLM: as a heat map, and as one radar per workflow; the best LLM's scores by level and domain."""
    averages = frames["averages"]
    own = averages[(averages["role"] != "reference") & averages["score"].notna()]
    overall = own[own["group"] == "all"]
    workflows = overall["workflow"].astype(str).drop_duplicates().tolist()
    llms = [llm for llm in overall["llm"].astype(str).drop_duplicates() if llm != NO_LLM]
    if len(workflows) > 1 and len(llms) > 1:
        table = overall.pivot_table(index="workflow", columns="llm", values="score", observed=True)
        rows = [Series(clipped(w), [_at(table, w, llm) for llm in llms]) for w in workflows]
        heads = [style.short[llm] for llm in llms]
        title = "Mean score of every workflow with every LLM, percent"
        yield Chart("heat", "workflow-by-llm", title, rows, heads, condition, section="Matching")
    axes, values = _axes(own, frames["task_scores"])
    if len(axes) < 2:
        return
    if len(axes) > 2:
        yield from _radars(overall, axes, values, style, condition)
    if llms:
        yield from _levels(overall, axes, values, style, condition)


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
    return dict(zip(names, (clipped(n, 18) for n in short_names(names)), strict=True)), scores.assign(
        axis=scores["task"].astype(str)
    )


def _radars(
    overall: pandas.DataFrame, axes: Mapping[str, str], values: pandas.DataFrame, style: Style, condition: str
) -> Iterator[Chart]:
    table = values.pivot_table(index="system", columns="axis", values="score", observed=True)
    shown = overall[overall["system"].astype(str).isin(table.index)]
    top = nice_top(float(table.loc[table.index.isin(shown["system"].astype(str))].max().max()))
    legend = style.llm_legend(shown["llm"].tolist())
    for workflow in shown["workflow"].astype(str).drop_duplicates():
        rows = shown[shown["workflow"] == workflow]
        lines = [
            Series(
                style.short[row.llm] if row.llm != NO_LLM else clipped(workflow),
                [_at(table, row.system, axis) for axis in axes],
                style.colours[row.llm],
                dash=style.dashes[row.llm],
            )
            for row in rows_of(rows)
        ]
        yield Chart(
            "radar",
            f"radar-{workflow}",
            clipped(workflow),
            lines,
            list(axes.values()),
            condition,
            section="Matching",
            group="radar",
            note=f"All radars have one scale: 0 to {100 * top:.0f} percent.",
            top=top,
            legend=legend,
        )


def _levels(
    overall: pandas.DataFrame, axes: Mapping[str, str], values: pandas.DataFrame, style: Style, condition: str
) -> Iterator[Chart]:
    """The LLM with the best score: its mean on each level of each domain (the paper's Figures 3 and 7)."""
    llm = str(overall[overall["llm"] != NO_LLM].sort_values("score", ascending=False)["llm"].iloc[0])
    own = values[(values["llm"] == llm) & values["system"].isin(overall["system"])]
    series = []
    for place, workflow in enumerate(own["workflow"].astype(str).drop_duplicates()):
        rows: Any = own[own["workflow"] == workflow].set_index("axis")
        columns = (
            [float(rows[end].get(axis, math.nan)) for axis in axes] for end in ("score", "score_low", "score_high")
        )
        mean, low, high = columns
        colour = LLM_COLOURS[place % len(LLM_COLOURS)]
        series.append(Series(clipped(workflow), mean, colour, low=low, high=high))
    by = "task" if "task" in values and "group" not in values else "domain and level"
    title = f"Scores of {style.short[llm]} by {by}, percent"
    legend = [(one.name, one.colour, "") for one in series]
    yield Chart(
        "columns",
        "levels",
        title,
        series,
        list(axes.values()),
        condition,
        section="Matching",
        y_label="Score, percent",
        legend=legend,
    )


def _deployment(frames: Mapping[str, pandas.DataFrame], style: Style, condition: str) -> Iterator[Chart]:
    """Score against seconds and against money, over everything and by domain; the distribution of the seconds."""
    found = frames["deployment"]
    for domain in found["domain"].astype(str).drop_duplicates():
        rows = found[(found["domain"] == domain) & found["quality"].notna()]
        whole = domain == "all"
        for name, label in (("seconds", "Seconds per question (mean)"), ("cost", "USD per question (mean)")):
            column, front = f"{name}_mean", f"front_{name}"
            known = rows[(rows["role"] != "reference") & rows[column].notna() & (rows[column] > 0)]
            on_front = known[known[front].fillna(False).astype(bool)].sort_values([column, "quality"])
            points = [
                Series(
                    style.labels[row.system],
                    [row.quality],
                    style.colours[row.llm],
                    style.symbols[row.workflow],
                    low=[row.quality_low],
                    high=[row.quality_high],
                    x=[getattr(row, column)],
                    hollow=row.role == "baseline",
                    named=row.system in set(on_front["system"]),
                )
                for row in rows_of(known)
            ]
            yield Chart(
                "scatter",
                f"score-by-{name}" + ("" if whole else f"-{domain}"),
                f"Score against {'latency' if name == 'seconds' else name}{'' if whole else f', {clipped(domain)}'}",
                points,
                condition=condition,
                tab="results" if whole else "details",
                section="Deployment",
                group="deployment" if whole else "deployment-by-domain",
                x_label=label,
                y_label="Score, percent",
                log=bool(len(known)) and known[column].max() > 15 * known[column].min(),
                front=list(zip(on_front[column], on_front["quality"], strict=True)),
                legend=[*style.llm_legend(known["llm"].tolist()), *style.workflow_legend(known["workflow"].tolist())],
                note="Bars are 95 % intervals, hollow marks baselines. The line is the Pareto front.",
            )
    yield from _latency(frames, style, condition)


def _latency(frames: Mapping[str, pandas.DataFrame], style: Style, condition: str) -> Iterator[Chart]:
    fresh = frames["latencies"]
    seconds: Any = fresh.groupby("system", observed=True)["seconds"]
    quantiles = seconds.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).unstack()
    own = _ordered(frames["averages"])
    rows = [row for row in rows_of(own[own["role"] != "reference"]) if row.system in quantiles.index]
    boxes = [
        Series(style.labels[row.system], quantiles.loc[row.system].tolist(), style.colours[row.llm]) for row in rows
    ]
    spread = [value for box in boxes for value in box.values if value > 0]
    yield Chart(
        "boxes",
        "latency",
        "Seconds per question",
        boxes,
        [box.name for box in boxes],
        condition,
        tab="details",
        section="Deployment",
        x_label="Seconds per question",
        percent=False,
        log=bool(spread) and max(spread) > 30 * min(spread),
        legend=style.llm_legend([row.llm for row in rows]),
        note="Box: the middle half, with the median; whiskers: 5 to 95 %. Episodes with replayed replies are left out.",
    )


# ---- errors, components


def _errors(frames: Mapping[str, pandas.DataFrame], style: Style, condition: str) -> Iterator[Chart]:
    responses, causes = frames["response_shares"], frames["causes"]
    order = {system: place for place, system in enumerate(_ordered(frames["averages"])["system"].astype(str))}
    for chart_kind, name, page in (("bars", "responses", True), ("rings", "response-rings", False)):
        rows, colours = _stacked(responses, "response_type", order), TYPE_COLOURS
        series = [
            Series(f"{NAMES[type_]} ({type_})", rows.get(type_, [0.0] * len(order)), colours[type_]) for type_ in TYPES
        ]
        yield Chart(
            chart_kind,  # type: ignore[arg-type]
            name,
            "Response types",
            series if rows else [],
            _labels(responses, order, style),
            condition,
            tab="errors",
            section="Response types",
            y_label="Share of the recorded episodes, percent",
            top=1.0,
            legend=[(one.name, one.colour, "") for one in series],
            page=page,
        )
    rows = _stacked(causes, "cause", order)
    most = sorted(rows, key=lambda cause: -sum(rows[cause]))[:MOST_CAUSES]
    series = [Series(visible(one.replace("_", " ")), rows[one], CAUSE_COLOURS[n]) for n, one in enumerate(most)]
    if rest := [rows[cause] for cause in rows if cause not in most]:
        series.append(Series("other", [sum(values) for values in zip(*rest, strict=True)], "#c9ced4"))
    yield Chart(
        "bars",
        "causes",
        "Causes",
        series,
        _labels(causes, order, style),
        condition,
        tab="errors",
        section="Causes",
        y_label="Share of the recorded episodes, percent",
        legend=[(one.name, one.colour, "") for one in series],
    )


def _stacked(frame: pandas.DataFrame, by: str, order: Mapping[str, int]) -> dict[str, list[float]]:
    """By type or cause, the share of each system of the frame, in the order of the ranking."""
    own = frame[frame["share"].notna()]
    table: Any = own.pivot_table(
        index="system", columns=by, values="share", observed=True, aggfunc="sum", fill_value=0.0
    )
    systems = sorted(map(str, table.index), key=lambda system: order.get(system, len(order)))
    return {str(name): [float(table.loc[system, name]) for system in systems] for name in table.columns}


def _labels(frame: pandas.DataFrame, order: Mapping[str, int], style: Style) -> list[str]:
    systems = frame[frame["share"].notna()]["system"].astype(str).drop_duplicates()
    return [style.labels[system] for system in sorted(systems, key=lambda system: order.get(system, len(order)))]


def _components(frames: Mapping[str, pandas.DataFrame], condition: str) -> Iterator[Chart]:
    """Score by the setting of each component that a sweep varies, a line per task."""
    found = frames["components"]
    own = found[found["main"].fillna(False).astype(bool) & found["score"].notna()] if len(found) else found
    for (study, component), rows in own.groupby(["study", "component"], sort=False, observed=True):
        settings = rows["setting"].astype(str).drop_duplicates().tolist()
        tasks = rows["task"].astype(str).drop_duplicates().tolist()
        if len(settings) < 2:
            continue
        series = []
        for place, (task, short) in enumerate(zip(tasks, short_names(tasks), strict=True)):
            line: Any = rows[rows["task"] == task].drop_duplicates("setting").set_index("setting")
            mean, low, high = (
                [float(line[end].get(setting, math.nan)) for setting in settings]
                for end in ("score", "score_low", "score_high")
            )
            looks = LLM_COLOURS[place % len(LLM_COLOURS)], list(SYMBOLS)[place % len(SYMBOLS)]
            series.append(Series(clipped(short), mean, *looks, low=low, high=high))
        yield Chart(
            "lines",
            f"component-{component}" + (f"-{study}" if found["study"].nunique() > 1 else ""),
            clipped(f"{component} ({study})" if found["study"].nunique() > 1 else str(component), 60),
            series,
            [clipped(setting, 22) for setting in settings],
            condition,
            tab="details",
            section="Sweeps",
            group="components",
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
