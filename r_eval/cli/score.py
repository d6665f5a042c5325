"""`r-eval score`."""

from __future__ import annotations

from typing import Annotated

import typer

from r_eval.analysis.metrics import summaries
from r_eval.analysis.response_types import THRESHOLDS
from r_eval.analysis.scoring import DEFAULT_METRIC, score_run
from r_eval.cli.options import Json, RunPath, open_run, print_json, print_lines, results_console


def score(
    run: RunPath,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", metavar="NAME", help="A further metric; repeat for several.")
    ] = None,
    taxonomy: Annotated[
        str, typer.Option("--taxonomy", metavar="|".join(THRESHOLDS), help="The rule of the response types.")
    ] = "strict",
    match_threshold: Annotated[
        float | None,
        typer.Option("--match-threshold", metavar="X", min=0, max=1, help="The lowest score that counts as a match."),
    ] = None,
    json: Json = False,
) -> None:
    """Score the episodes of a run again.

    No LLM is called except by metrics that are one, such as judge@LLM.
    """
    folder = open_run(run)
    scores = score_run(folder, metric or [], taxonomy, match_threshold)
    own = [task.get("metric") or DEFAULT_METRIC for task in folder.manifest()["tasks"]]
    notes = summaries(dict.fromkeys([*own, *(metric or [])]))
    if json:
        keys = ("taxonomy", "threshold", "episodes", "scored", "mean", "undecided", "unparsed", "types")
        print_json({"run": str(run), **{key: getattr(scores, key) for key in keys}, "notes": notes})
        return
    from r_eval.analysis.results import load
    from r_eval.analysis.scores import further
    from r_eval.analysis.summary import summary_tables
    from r_eval.analysis.tables import text

    results, console = load(folder), results_console()
    for table in summary_tables(results):
        console.print(table)
    if metric:
        console.print(text(further(results), "Further metrics"))
    print_lines(notes)
