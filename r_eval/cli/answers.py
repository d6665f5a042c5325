"""`r-eval score --answers`: results from outside, scored against a private question file."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from r_eval.analysis.outside import Scored

NAMED = 5


def answers_command(private: Path, answers: Path, names: Sequence[str], k: int, as_json: bool) -> int:
    """Score results and print a line for every metric and type of question."""
    from rich.console import Console

    from r_eval.analysis.outside import read_results, score_results
    from r_eval.tasks.base import DEFAULT_METRIC
    from r_eval.tasks.questions import read_questions

    questions = read_questions(private)
    scored = score_results(questions, read_results(answers), [DEFAULT_METRIC, *names], k)
    if scored.unknown:
        sys.stderr.write(f"r-eval: {answers}: no question of {private} has the id {_named(scored.unknown)}\n")
    if as_json:
        record = {
            "questions": len(questions),
            "k": k,
            "missing": scored.missing,
            "unknown": scored.unknown,
            "scores": [line.as_dict() for line in scored.lines],
        }
        sys.stdout.write(json.dumps(record) + "\n")
        return 0
    console = Console() if sys.stdout.isatty() else Console(width=100)
    console.print(_table(scored))
    sys.stdout.write(f"{len(questions)} questions, {len(scored.missing)} without an answer, which counts 0\n")
    if not any("@" in line.metric for line in scored.lines):
        sys.stdout.write(f"found_ids are not scored: no question of {private} has text_ids in its meta\n")
    return 0


def _table(scored: Scored) -> Table:
    from rich.table import Table
    from rich.text import Text

    from r_eval.environments.schema import clip

    table = Table()
    for heading in ("metric", "questions", "mean %", "95 % interval", "n", "missing"):
        table.add_column(heading, justify="left" if heading in ("metric", "questions") else "right")
    for line in scored.lines:
        of = line.estimate
        kind = line.type if line.type.isprintable() else repr(line.type)
        table.add_row(
            line.metric,
            Text(clip(kind)),
            "" if of.mean is None else f"{100 * of.mean:.1f}",
            "" if of.low is None or of.high is None else f"{100 * of.low:.1f} to {100 * of.high:.1f}",
            str(of.n),
            str(line.missing),
        )
    return table


def _named(ids: Sequence[str]) -> str:
    """Ids from outside as one line without control characters."""
    from r_eval.environments.schema import clip

    return ", ".join(clip(ascii(name)) for name in ids[:NAMED]) + (f", ... ({len(ids)})" if len(ids) > NAMED else "")
