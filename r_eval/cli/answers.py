"""`r-eval score --answers`: results from outside, scored against a private question file."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from r_eval.analysis.submissions import read_results, score_results
from r_eval.cli.options import print_json, results_console
from r_eval.environments.schema import clip
from r_eval.tasks.base import DEFAULT_METRIC
from r_eval.tasks.questions import read_questions

NAMED = 5
"""Unknown ids that are named."""


def score_answers(private: Path, answers: Path, names: Sequence[str], k: int, as_json: bool) -> None:
    """Score results and print a line for every metric and type of question."""
    questions = read_questions(private)
    scored = score_results(questions, read_results(answers), [DEFAULT_METRIC, *names], k)
    if unknown := scored.unknown:
        ids = ", ".join(clip(ascii(name)) for name in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        sys.stderr.write(f"r-eval: {answers}: {private} has no question with the id {ids}{more}\n")
    if as_json:
        names_of = {"score": "mean", "score_low": "low", "score_high": "high", "questions": "n"}
        scores = json.loads(scored.scores.rename(columns=names_of).to_json(orient="records"))
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
