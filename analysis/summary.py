"""The scores and response types of a run, for the terminal and for a notebook."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from r_eval.analysis import tables
from r_eval.analysis.response_types import TYPES
from r_eval.analysis.tables import rows_of

if TYPE_CHECKING:
    import pandas
    from rich.table import Table

    from r_eval.analysis.results import Results

NAME = 20
"""Characters that the names of systems have at least in a line."""
COUNTS = ("rank", "episodes", "incomplete")
COUNTED = 34
"""Characters of a line that the average and the counts take."""


def summary_tables(results: Results, width: int = 100) -> list[Table]:
    """The score tables and the response types under each condition, best system first.

    Scores are percent by system and task; of many tasks the averages come first, then the tasks, some at a time.

    Args:
        width: Characters of a line.
    """
    from r_eval.analysis.errors import responses_table
    from r_eval.analysis.scores import averages, scores

    means, by_task, types = averages(results), scores(results), responses_table(results)
    names = dict(zip(results.tasks["name"], results.tasks["short"], strict=True))
    blocks = [("Scores", block) for block in _blocks(names, width - COUNTED, width)]
    if len(blocks) > 1:
        groups = {one: one.replace("_", " ") for one in dict.fromkeys(means["group"]) if "_" in one}
        blocks = [("Average scores", block) for block in _blocks(groups, width - COUNTED, width)]
        blocks += [("Scores", block) for block in _blocks(names, width, width)]
    found: list[Table] = []
    for condition in results.conditions:
        under = f" ({tables.visible(condition)})" if len(results.conditions) > 1 else ""
        own, tasks, responses = (frame[frame["condition"] == condition] for frame in (means, by_task, types))
        order = own[own["group"] == "all"].sort_values("score", ascending=False, kind="stable")
        values = {(row.system, row.task): row.score for row in rows_of(tasks)}
        values |= {(row.system, row.group): row.score for row in rows_of(own)}
        for place, (title, block) in enumerate(blocks):
            columns = block if place else {**block, "all": "average"}
            found.append(_scores(f"{title}, percent{under}", order, columns, values, () if place else COUNTS))
        if len(responses):
            found.append(_response_table(order, responses, under))
    return found


def text_summary(results: Results) -> str:
    """The tables as plain text of at most 100 columns, where the number of tasks allows."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=100, color_system=None, force_jupyter=False)
    for table in summary_tables(results):
        console.print(table)
    return out.getvalue()


def html_summary(results: Results) -> str:
    """The tables as a notebook shows them."""
    from rich.console import Console

    console = Console(
        file=io.StringIO(), width=120, record=True, color_system="standard", force_terminal=True, force_jupyter=False
    )
    for table in summary_tables(results, console.width):
        console.print(table)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def _blocks(columns: Mapping[str, str], first: int, width: int) -> list[dict[str, str]]:
    """Columns with their headings, as many in a table as a line has room for.

    Args:
        first: Characters of a line of the first table.
    """
    blocks: list[dict[str, str]] = [{}]
    room = first - NAME
    for name, head in columns.items():
        own = max(5, *map(len, _heading(head).splitlines())) + 2
        if blocks[-1] and own > room:
            blocks.append({})
            room = width - NAME
        blocks[-1][name] = head
        room -= own
    return blocks


def _heading(name: str) -> str:
    """A name on several lines."""
    return re.sub(r"([/-]) ?| ", "\\1\n", tables.visible(name))


def _scores(
    title: str,
    order: pandas.DataFrame,
    columns: Mapping[str, str],
    values: Mapping[tuple[str, str], float],
    counts: Sequence[str],
) -> Table:
    """Best in bold, references dim.

    Args:
        columns: Headings by task or group.
        counts: Further columns of `order`; `incomplete` only where there is any.
    """
    from rich.text import Text

    table = tables.rich_table(title)
    table.add_column("system", overflow="fold")
    for name in columns.values():
        table.add_column(Text(_heading(name)), justify="right", no_wrap=True, min_width=5)
    counts = [name for name in counts if name != "incomplete" or order[name].sum() > 0]
    for name in counts:
        table.add_column("missing" if name == "incomplete" else name, justify="right", no_wrap=True)
    if "incomplete" in counts:
        table.caption = "missing: infrastructure failures and episodes still to run; r-eval run resumes them"
    ranked = order[order["role"] != "reference"]["system"]
    best = {key: max((values.get((system, key), 0.0) for system in ranked), default=0.0) for key in columns}
    for row in order.to_dict("records"):
        style, cells = "dim" if row["role"] == "reference" else "", []
        for key in columns:
            value = values.get((row["system"], key))
            is_best = value is not None and value == best[key] and value > 0 and not style
            cells.append(Text(tables.number("score", value), "bold" if is_best else style))
        cells += [Text(tables.number(name, row[name]), style) for name in counts]
        table.add_row(tables.BrokenText(tables.visible(row["system"]), style), *cells)
    return table


def _response_table(order: pandas.DataFrame, responses: pandas.DataFrame, under: str) -> Table:
    """Share of each response type by system, percent of the recorded episodes."""
    place = {system: number for number, system in enumerate(order["system"])}
    own = responses.assign(_at=responses["system"].map(place).astype(float)).sort_values("_at", kind="stable")
    columns = own[["system", *TYPES, "undecided", "unparsed", "episodes"]]
    return tables.text(columns, f"Response types{under}")
