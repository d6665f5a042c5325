"""The episodes of a run as one frame, from the kept scores: what `Run.to_pandas` returns and views are made from.

One row per recorded episode, infrastructure failures among them (`missing`). A column has the same type whatever a run
holds, so that Parquet files of several runs can be read together.

`seconds` are of the episode itself: without `queue_seconds` and `retry_seconds`, as in every table; `llm_seconds` and
`environment_seconds` are parts of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from r_eval.analysis.aggregate import domain_of
from r_eval.analysis.columns import cluster_of
from r_eval.analysis.rows import roles
from r_eval.analysis.scoring import ensure_scored
from r_eval.folder import Cell, RunFolder
from r_eval.records import INFRASTRUCTURE_FAILURES

if TYPE_CHECKING:
    import pandas

TEXT, WHOLE, NUMBER = "string", "int64", "float64"
COLUMNS: dict[str, str] = {
    **dict.fromkeys(("run", "system", "workflow", "llm", "condition", "domain", "level", "task"), TEXT),
    **dict.fromkeys(("question_id", "cluster", "template"), TEXT),
    "epoch": WHOLE,
    "score": NUMBER,
    "metric": TEXT,
    **dict.fromkeys(("response_type", "cause"), TEXT),
    "supported": "boolean",
    **dict.fromkeys(("answer", "outcome", "outcome_cause"), TEXT),
    **dict.fromkeys(("calls", "prompt_tokens", "completion_tokens", "cached_tokens"), WHOLE),
    **dict.fromkeys(("cost", "seconds", "llm_seconds", "environment_seconds"), NUMBER),
    **dict.fromkeys(("queue_seconds", "retry_seconds"), NUMBER),
    **dict.fromkeys(("replayed", "truncated", "steps"), WHOLE),
    "role": TEXT,
    "missing": "bool",
    "scorer_version": WHOLE,
}
"""The columns and their types; those of further metrics, numbers, follow `metric`."""
RENAMED = {"queue": "queue_seconds", "retry": "retry_seconds"}
"""Fields of a score record by the names of their columns, where these differ."""


def frame(*runs: RunFolder, answers: bool = True) -> pandas.DataFrame:
    """The episodes of some runs, cell by cell in the order of their grids; missing scores are computed first.

    Args:
        answers: Whether the answers are read, which takes reading every episode; without them they are missing.

    Raises:
        UserError: A folder is not a run, or a record cannot be read.
    """
    import pandas

    further: dict[str, None] = {}
    parts: list[pandas.DataFrame] = []
    for run in runs:
        for rows in cell_rows(run, answers):
            further.update(dict.fromkeys(name for name in rows[0] if name not in COLUMNS))
            parts.append(pandas.DataFrame(rows))
    types = _types(further)
    typed = [part.reindex(columns=list(types)).astype(types) for part in parts]
    return pandas.concat(typed or [pandas.DataFrame(columns=list(types)).astype(types)], ignore_index=True)


def cell_rows(run: RunFolder, answers: bool = True) -> Iterator[list[dict[str, Any]]]:
    """The rows of each cell that has any, by column; None where there is no value. As `frame`."""
    ensure_scored(run)
    manifest, role = run.manifest(), roles(run.manifest())
    domains = {entry["name"]: entry.get("domain") or domain_of(entry["name"]) for entry in manifest["tasks"]}
    questions: dict[str, dict[str, tuple[str, str]]] = {}
    for cell in run.cells():
        if cell.task not in questions:
            questions[cell.task] = {
                one.id: (cluster_of(one), str(one.meta.get("template") or "")) for one in run.questions(cell.task)
            }
        known = {"run": manifest["name"], "domain": domains[cell.task], "role": role[cell.system]}
        rows = list(_rows(run, cell, known, questions[cell.task], answers))
        if rows:
            yield rows


def _rows(
    run: RunFolder,
    cell: Cell,
    known: Mapping[str, str],
    questions: Mapping[str, tuple[str, str]],
    answers: bool,
) -> Iterator[dict[str, Any]]:
    scores = run.scores(cell)
    texts = {one.episode_id: one.answer for one in run.cell_episodes(cell)} if answers else dict.fromkeys(scores)
    for id_, record in scores.items():
        if id_ not in texts:  # its line has been damaged since
            continue
        own = {RENAMED.get(name, name): value for name, value in record.items()}
        own |= {"system": cell.system, "answer": texts[id_], **known}
        own["cluster"], own["template"] = questions.get(record["question_id"], (record["question_id"], ""))
        own["missing"] = record["outcome"] in INFRASTRUCTURE_FAILURES
        own["supported"] = None if record["undecided"] or own["missing"] else record["supported"]
        further = {_column(name): value for name, value in record["metrics"].items()}
        yield {name: further[name] if name in further else own[name] for name in _types(further)}


def _column(metric: str) -> str:
    """The column of a further metric: its name, unless another column has it."""
    return f"metric_{metric}" if metric in COLUMNS else metric


def _types(further: Iterable[str]) -> dict[str, str]:
    """The columns with their types, those of further metrics after `metric`."""
    found: dict[str, str] = {}
    for name, type_ in COLUMNS.items():
        found[name] = type_
        if name == "metric":
            found |= dict.fromkeys(further, NUMBER)
    return found
