"""`r-eval report`."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from r_eval.analysis.deployment import Choice, choose
from r_eval.analysis.published import is_published
from r_eval.analysis.report import write_report
from r_eval.analysis.run_summary import summary_lines
from r_eval.analysis.systems import clusters_of, systems
from r_eval.cli.options import RunPaths, open_run, print_lines
from r_eval.errors import UserError

SURE = 0.95
MOST = 5
"""Other systems that are named."""


def report(
    runs: RunPaths,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The folder of the report; by default RUN/report.")
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", metavar="X", min=0, help="Name the best system within X seconds per question."),
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option("--max-usd", metavar="X", min=0, help="Name the best system within X USD per question."),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw figures for papers too; takes some seconds.")
    ] = True,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write the report of one or more runs: a page, tables and figures."""
    folders = [open_run(path) for path in runs]
    with_episodes = [folder for folder in folders if not is_published(folder.path)]
    for folder in with_episodes:
        folder.manifest()
    limits = [(max_seconds, "s"), (max_usd, "USD")]
    budget = " and ".join(f"{amount:g} {unit}" for amount, unit in limits if amount is not None)
    if budget and not with_episodes:
        raise UserError(f"{runs[0]} holds published means; --max-seconds and --max-usd need a run with episodes")
    page = write_report(folders, out if out is not None else runs[0] / "report", _note, figures=figures)
    lines = [*summary_lines(folders), f"Report    {page}"]
    if budget:
        choices = choose(systems(*with_episodes), max_seconds, max_usd, clusters_of(with_episodes))
        for choice in choices:
            condition = f" ({choice.condition})" if len(choices) > 1 else ""
            lines += ["", *choice_lines(choice, f"Within {budget} per question on average{condition}")]
    print_lines(lines)
    if open_page and not webbrowser.open(page.resolve().as_uri()):
        _note(f"no browser could be started; open {page}")


def _note(line: str) -> None:
    sys.stderr.write(f"r-eval: {line}\n")


def choice_lines(choice: Choice, head: str) -> Iterator[str]:
    """The best system within a budget, how sure that is, and what became of the others."""
    best = choice.best
    if best is not None and not best.quality:
        yield f"{head}: no system that fits answered any question"
        return
    yield f"{head}: {best.system if best is not None else 'no system fits'}"
    sample = f"{choice.resamples:,} resamples of the {choice.questions} questions"
    if best is not None:
        parts = [f"score {100 * (best.quality or 0.0):.1f} %"]
        if (taken := best.seconds) is not None:
            parts.append(f"{taken.mean:.3g} s (median {taken.p50:.3g}, 95th percentile {taken.p95:.3g})")
        parts.append(f"{best.cost.mean:.3g} USD" if best.cost is not None else "price not known")
        yield f"  {', '.join(parts)}"
        verdict = "" if choice.share >= SURE else ", so the choice is uncertain"
        yield f"  best in {100 * choice.share:.1f} % of {sample}{verdict}"
    elif choice.rivals:
        yield f"  some system fits in {100 * (1 - choice.none_fits):.1f} % of {sample}"
    for name, share in choice.rivals[:MOST]:
        yield f"  {name} is the best in {100 * share:.1f} %"
    if best is not None and choice.none_fits > 0:
        yield f"  no system fits in {100 * choice.none_fits:.1f} %"
    for name, amounts in choice.beyond[:MOST]:
        yield f"  over the limit: {name} ({amounts})"
    if len(choice.beyond) > MOST:
        yield f"  over the limit: {len(choice.beyond) - MOST} more"
    for name, reason in choice.left_out:
        yield f"  left out: {name} ({reason})"
    yield from (f"  {note}" for note in (best.notes if best is not None else ()))
