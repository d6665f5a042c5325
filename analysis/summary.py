"""The scores and response types of a run, for the terminal and for a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from r_eval.analysis import tables
from r_eval.analysis.response_types import TYPES
from r_eval.analysis.tables import rows_of

if TYPE_CHECKING:
    import pandas
    from rich.table import Table
    from rich.text import Text

    from r_eval.analysis.results import Results

FITTING = 6
"""Tasks that stand side by side in a table of the terminal."""


def summary_tables(results: Results) -> list[Table]:
    """The score tables and the response types under each condition, best system first."""
    from r_eval.analysis.errors import responses_table
    from r_eval.analysis.scores import averages, scores

    means, by_task, types = averages(results), scores(results), responses_table(results)
    found: list[Table] = []
    for condition in results.conditions:
        under = f" ({tables.visible(condition)})" if len(results.conditions) > 1 else ""
        own, tasks, responses = (frame[frame["condition"] == condition] for frame in (means, by_task, types))
        order = own[own["group"] == "all"].sort_values("score", ascending=False, kind="stable")
        found += _score_tables(results, order, own, tasks, under)
        if len(responses):
            found.append(_response_table(order, responses, under))
    return found


def text_summary(results: Results) -> str:
    """The tables as plain text of at most 100 columns, where the number of tasks allows."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=100, color_system=None)
    for table in summary_tables(results):
        console.print(table)
    return out.getvalue()


def html_summary(results: Results) -> str:
    """The tables as a notebook shows them."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120, record=True, color_system="standard", force_terminal=True)
    for table in summary_tables(results):
        console.print(table)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def _score_tables(
    results: Results, order: pandas.DataFrame, means: pandas.DataFrame, scores: pandas.DataFrame, under: str
) -> Iterator[Table]:
    """Percent by system and task; of many tasks the averages come first, then the tasks, some at a time."""
    by_task = {(row.system, row.task): row.score for row in rows_of(scores)}
    by_group = {(row.system, row.group): row.score for row in rows_of(means)}
    names = dict(zip(results.tasks["name"], results.tasks["short"], strict=True))
    groups = {
        str(group): str(group).replace("_", " ") for group in means["group"].drop_duplicates() if "_" in str(group)
    }
    if len(names) <= FITTING:
        yield _scores(f"Scores, percent{under}", order, names, by_task, whole=True)
        return
    yield _scores(f"Average scores, percent{under}", order, groups, by_group, whole=True)
    for start in range(0, len(names), FITTING):
        block = dict(list(names.items())[start : start + FITTING])
        yield _scores(f"Scores, percent{under}", order, block, by_task)


def _scores(
    title: str,
    order: pandas.DataFrame,
    columns: Mapping[str, str],
    values: Mapping[tuple[str, str], float],
    whole: bool = False,
) -> Table:
    """Best in bold, references dim.

    Args:
        columns: Headings by task or group.
        whole: With the average over all tasks, the rank and the number of episodes.
    """
    from rich.text import Text

    table = tables.rich_table(title)
    table.add_column("system", overflow="fold")
    for name in columns.values():
        table.add_column(Text(tables.visible(name).replace("-", "-\n")), justify="right", no_wrap=True, min_width=5)
    for name in ("average", "rank", "episodes", "missing") if whole else ():
        if name != "missing" or order["incomplete"].sum() > 0:
            table.add_column(name, justify="right", no_wrap=True)
    ranked = set(order[order["role"] != "reference"]["system"])
    best = {key: max((values.get((system, key), 0.0) for system in ranked), default=0.0) for key in columns}
    top = order[order["role"] != "reference"]["score"].max()
    for row in rows_of(order):
        style = "dim" if row.role == "reference" else ""
        cells = [_cell(values.get((row.system, key)), best[key], style) for key in columns]
        if whole:
            cells += [_cell(row.score, top, style), Text(tables.number("rank", row.rank), style)]
            cells.append(Text(tables.number("episodes", row.episodes), style))
        if whole and len(table.columns) > len(columns) + 4:
            cells.append(Text(tables.number("missing", row.incomplete) if row.incomplete else "", style))
        table.add_row(Text(tables.visible(row.system), style), *cells)
    if len(table.columns) > len(columns) + 4:
        table.caption = "missing: infrastructure failures and episodes still to run; r-eval run resumes them"
    return table


def _cell(value: float | None, best: float, style: str) -> Text:
    from rich.text import Text

    bold = value is not None and value == best and value > 0 and not style
    return Text(tables.number("score", value), "bold" if bold else style)


def _response_table(order: pandas.DataFrame, responses: pandas.DataFrame, under: str) -> Table:
    """Share of each response type by system, percent of the recorded episodes."""
    place = {system: number for number, system in enumerate(order["system"])}
    own = responses.assign(_at=responses["system"].map(place).astype(float)).sort_values("_at", kind="stable")
    columns = own[["system", *TYPES, "undecided", "unparsed", "episodes"]]
    return tables.text(columns, f"Response types{under}")
