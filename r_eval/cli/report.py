"""`r-eval report`."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from r_eval.cli.options import OUT_FOLDER, RunPaths, complain, open_runs, print_lines
from r_eval.errors import UserError

if TYPE_CHECKING:
    import pandas

MOST = 10
"""Other systems that are named."""


def report(
    runs: RunPaths,
    out: Annotated[
        Path | None, Option(metavar="DIR", help="The folder of the report; by default RUN/report.", **OUT_FOLDER)
    ] = None,
    max_seconds: Annotated[
        float | None, Option(metavar="X", min=0, help="Name the best system within X seconds per question.")
    ] = None,
    max_usd: Annotated[
        float | None, Option(metavar="X", min=0, help="Name the best system within X USD per question.")
    ] = None,
    figures: Annotated[
        bool, Option("--figures/--no-figures", help="Draw figures for papers too; takes some seconds.")
    ] = True,
    open_page: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write the report of one or more runs: a page, tables and figures."""
    from r_eval.analysis.deployment import choose
    from r_eval.analysis.report import write_report
    from r_eval.analysis.results import load
    from r_eval.analysis.run_summary import summary_lines

    results = load(*open_runs(runs))
    limits = [(max_seconds, "s"), (max_usd, "USD")]
    budget = " and ".join(f"{amount:g} {unit}" for amount, unit in limits if amount is not None)
    if budget and not results.runs:
        raise UserError(f"{runs[0]} holds published means; --max-seconds and --max-usd need a run with episodes")
    page = write_report(results, out if out is not None else runs[0] / "report", complain, figures=figures)
    lines = [*summary_lines(results), f"Report    {page}"]
    if budget:
        chosen = choose(results, max_seconds, max_usd)
        notes = chosen.attrs["notes"]
        for condition, rows in chosen.groupby("condition", sort=False):
            within = f" ({condition})" if chosen["condition"].nunique() > 1 else ""
            lines += ["", *choice_lines(rows, f"Within {budget} per question on average{within}", notes)]
    print_lines(lines)
    if open_page and not webbrowser.open(page.resolve().as_uri()):
        complain(f"no browser could be started; open {page}")


def choice_lines(rows: pandas.DataFrame, head: str, notes: Sequence[str] = ()) -> Iterator[str]:
    """The system to take within a budget, what it takes, and what became of the others.

    Args:
        rows: Of one condition, as of `deployment.choose`.
        notes: Its notes; those about the choice are repeated.
    """
    from r_eval.analysis.results import records

    if not rows["choice"].any():
        yield f"{head}: no system {'that fits answered any question' if rows['fits'].any() else 'fits'}"
        if rows["fits"].any():
            return
    for row in records(rows[rows["choice"]]):
        yield f"{head}: {row['system']}, {row['reason']}"
        price = "price not known" if row["cost"] != row["cost"] else f"{row['cost']:.3g} USD"
        latency = "no latency" if row["seconds"] != row["seconds"] else f"{row['seconds']:.3g} s"
        yield f"  score {100 * row['quality']:.1f} %; per question {latency}, {price}"
        yield from (f"  {note}" for note in notes if note.startswith((f"{row['llm']}:", f"{row['system']}:")))
    others = rows[~rows["choice"] & (rows["reason"] != "")]
    others = others.sort_values(["fits", "quality"], ascending=False, kind="stable")
    yield from (f"  {row['system']}: {row['reason']}" for row in records(others[:MOST]))
    if len(others) > MOST:
        yield f"  and {len(others) - MOST} more"
