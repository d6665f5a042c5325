"""`r-eval score`."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from r_eval.analysis.metrics import summaries
from r_eval.analysis.response_types import THRESHOLDS
from r_eval.analysis.scoring import DEFAULT_METRIC, score_run
from r_eval.cli.options import Json, RunPath, open_run, print_json, print_lines, results_console
from r_eval.errors import UserError

NAMED = 5
"""Unknown ids that are named."""


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
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="RESULTS.json", help="Score these results; RUN is a private question file."),
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="K", min=1, help="With --answers: how many texts found count.")] = 5,
    json: Json = False,
) -> None:
    """Score the episodes of a run again.

    No LLM is called except by metrics that are one, such as judge@LLM.
    """
    if answers is not None:
        if taxonomy != "strict" or match_threshold is not None:
            raise UserError("--taxonomy and --match-threshold need episodes, and results from outside have none")
        _score_answers(run, answers, [DEFAULT_METRIC, *(metric or [])], k, json)
        return
    if run.suffix == ".jsonl" and run.is_file():
        raise UserError(f"{run} is a file, not a run; with a private question file, give --answers RESULTS.json")
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


def _score_answers(private: Path, answers: Path, metrics: Sequence[str], k: int, as_json: bool) -> None:
    """Score results from outside against a private question file, and print a line per metric and type of question."""
    from rich.table import Table
    from rich.text import Text

    from r_eval.analysis.submissions import read_results, score_results
    from r_eval.environments.schema import clip
    from r_eval.tasks.questions import read_questions

    questions = read_questions(private)
    scored = score_results(questions, read_results(answers), metrics, k)
    if unknown := scored.unknown:
        ids = ", ".join(clip(ascii(name)) for name in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        sys.stderr.write(f"r-eval: {answers}: {private} has no question with the id {ids}{more}\n")
    if as_json:
        names_of = {"score": "mean", "score_low": "low", "score_high": "high", "questions": "n"}
        scores = json_module.loads(scored.scores.rename(columns=names_of).to_json(orient="records"))
        found = {"questions": len(questions), "k": k, "missing": scored.missing, "unknown": unknown}
        print_json({**found, "scores": scores})
        return
    table = Table("metric", "questions")
    for heading in ("mean %", "95 % interval", "n", "missing"):
        table.add_column(heading, justify="right")
    for line in scored.scores.to_dict("records"):
        kind = line["type"] if line["type"].isprintable() else repr(line["type"])
        mean, low, high = (f"{100 * line[name]:.1f}" for name in ("score", "score_low", "score_high"))
        table.add_row(
            line["metric"], Text(clip(kind)), mean, f"{low} to {high}", str(line["questions"]), str(line["missing"])
        )
    results_console().print(table)
    sys.stdout.write(f"{len(questions)} questions; {len(scored.missing)} without an answer, scored 0\n")
    if not scored.scores["metric"].str.contains("@").any():
        sys.stdout.write(f"found_ids not scored: no question of {private} has text_ids in its meta\n")
