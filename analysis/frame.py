"""The episodes of runs as one frame: its columns, their types, and how it is read from the kept scores.

One row per recorded episode, infrastructure failures among them (`missing`). A column has the same type whatever a run
holds, so that Parquet files of several runs can be read together.

`seconds` are of the episode itself: without `queue_seconds` and `retry_seconds`, as in every table; `llm_seconds` and
`environment_seconds` are parts of it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import from_json

from r_eval.analysis.qrels import RETRIEVAL
from r_eval.folder import Cell, RunFolder, whole_lines
from r_eval.records import INFRASTRUCTURE_FAILURES, Question

if TYPE_CHECKING:
    import pandas

TEXT, WHOLE, NUMBER, FLAG = "string", "int64", "float64", "bool"
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
    "missing": FLAG,
    "scorer_version": WHOLE,
    "episode_id": TEXT,
    "reward": NUMBER,
    **dict.fromkeys(("undecided", "unparsed"), FLAG),
    "taxonomy": TEXT,
    "threshold": NUMBER,
    **dict.fromkeys(("api_calls", "api_found", "characters"), NUMBER),
    **{f"retrieval_{name}": NUMBER for name in RETRIEVAL},
}
"""The columns and their types; those of further metrics, numbers, follow `metric`."""
UNIQUE = ("episode_id", "answer")
"""Texts that no two episodes are expected to share; all others are categories."""
CLUSTER_KEYS = ("document", "documents", "cluster")
"""Keys of a question's meta that name what it shares with others; the first that is there counts."""

SystemRole = Literal["system", "baseline", "reference"]
"""A system uses tools. A baseline does without and is ranked with the systems. A reference sees the gold and is shown
next to the ranking, never in it."""

CellColumns = dict[str, Any]
"""The rows of a cell, column by column: lists of texts, arrays of numbers, or one text for all rows."""


def role_of(workflow: str, uses_gold: bool = False) -> SystemRole:
    """The role of a workflow's systems, by the workflow's own name."""
    if uses_gold or workflow == "oracle":
        return "reference"
    return "baseline" if workflow == "direct" else "system"


def roles(manifest: Mapping[str, Any]) -> dict[str, SystemRole]:
    """The role of each system of a run, by its name; a workflow that the grid renames or varies keeps its role."""
    entries = (manifest.get("grid") or {}).get("workflows", ())
    own = {one["name"]: str(one["workflow"]) for one in entries if isinstance(one, dict) and one.get("name")}
    gold = {entry["name"] for entry in manifest.get("systems", ()) if entry.get("reference")}
    cells = {f"{cell['workflow']}+{cell['llm']}": cell["workflow"] for cell in manifest["cells"]}
    varied = (manifest.get("vary") or {}).get("workflows", {})
    bases = {workflow: workflow.partition("@")[0] if workflow in varied else workflow for workflow in cells.values()}
    return {name: role_of(own.get(bases[it], bases[it]), name in gold) for name, it in cells.items()}


def domain_of(task: str) -> str:
    """The domain in a task's name: what is before the slash."""
    return task.partition("/")[0]


def short_names(names: Sequence[str]) -> list[str]:
    """Names without what is before the last "/", where that leaves them different."""
    short = [name.rpartition("/")[2] or name for name in names]
    count = Counter(short)
    return [name if count[cut] > 1 else cut for name, cut in zip(names, short, strict=True)]


def cluster_of(question: Question) -> str:
    """The document that a question shares with others, its own id where that is nothing."""
    found = next((question.meta[key] for key in CLUSTER_KEYS if question.meta.get(key)), question.id)
    return found if isinstance(found, str) else repr(found)


def read(runs: Sequence[RunFolder], suffixes: Sequence[str] = (), answers: bool = False) -> pandas.DataFrame:
    """The episodes of scored runs, cell by cell in the order of their grids; texts that recur are categories.

    Args:
        suffixes: What is added to the systems and LLMs of each run.
        answers: Whether the answers are read, which takes reading every episode; without them they are missing.

    Raises:
        UserError: A folder is not a run, or a record cannot be read.
    """
    import pandas

    ends = suffixes or [""] * len(runs)
    parts = [part for run, suffix in zip(runs, ends, strict=True) for part in cell_parts(run, suffix, answers)]
    names = list(COLUMNS)
    behind = names.index("metric") + 1
    names[behind:behind] = dict.fromkeys(name for part in parts for name in part if name not in COLUMNS)
    return pandas.DataFrame({name: _column(name, COLUMNS.get(name, NUMBER), parts) for name in names}, copy=False)


def plain(frame: pandas.DataFrame) -> pandas.DataFrame:
    """A frame with texts in place of categories: one type a column, whatever a run holds."""
    import pandas

    categories = [name for name in frame if isinstance(frame[name].dtype, pandas.CategoricalDtype)]
    return frame.astype(dict.fromkeys(categories, TEXT))


def metric_column(metric: str) -> str:
    """The column of a further metric."""
    return f"metric_{metric}" if metric in COLUMNS else metric


def further_metrics(frame: pandas.DataFrame) -> list[str]:
    """The columns of further metrics."""
    return [name for name in frame.columns if name not in COLUMNS]


def cell_parts(run: RunFolder, suffix: str = "", answers: bool = False) -> Iterator[CellColumns]:
    """The rows of each cell of a scored run that has any, by column; None where there is no value."""
    manifest = run.manifest()
    role = roles(manifest)
    domains = {entry["name"]: entry.get("domain") or domain_of(entry["name"]) for entry in manifest["tasks"]}
    questions: dict[str, dict[str, tuple[str, str]]] = {}
    for cell in run.cells():
        if cell.task not in questions:
            questions[cell.task] = {
                one.id: (cluster_of(one), str(one.meta.get("template") or "")) for one in run.questions(cell.task)
            }
        records = _records(run, cell)
        texts = {one.episode_id: one.answer for one in run.cell_episodes(cell)} if answers else None
        if texts is not None:
            records = [one for one in records if one["episode_id"] in texts]  # its line has been damaged since
        if records:
            part = _columns(records, questions[cell.task])
            part |= {"run": manifest["name"], "domain": domains[cell.task], "role": role[cell.system]}
            part |= {**cell._asdict(), "system": cell.system + suffix, "llm": cell.llm + suffix}
            part["answer"] = texts and [texts[one["episode_id"]] for one in records]
            yield part


def _columns(records: Sequence[Mapping[str, Any]], questions: Mapping[str, tuple[str, str]]) -> CellColumns:
    """The columns that the score records of a cell make."""
    import numpy as np

    shared = [questions.get(one["question_id"], (one["question_id"], "")) for one in records]
    failed = np.array([one["outcome"] in INFRASTRUCTURE_FAILURES for one in records])
    known = zip(records, failed, strict=True)
    made: CellColumns = {
        "cluster": [cluster for cluster, _ in shared],
        "template": [template for _, template in shared],
        "missing": failed,
        "supported": [None if missing or one["undecided"] else one["supported"] for one, missing in known],
    }
    for name in COLUMNS.keys() & records[0].keys() - made.keys():
        values = [one[name] for one in records]
        made[name] = values if COLUMNS[name] == TEXT else np.array(values, COLUMNS[name])
    nested = [("metrics", {name: metric_column(name) for name in records[0]["metrics"]})]
    if any(one["retrieval"] for one in records):
        nested.append(("retrieval", {name: f"retrieval_{name}" for name in RETRIEVAL}))
    for key, columns in nested:
        for name, column in columns.items():
            made[column] = np.array([(one[key] or {}).get(name) for one in records], NUMBER)
    return made


def _records(run: RunFolder, cell: Cell) -> list[dict[str, Any]]:
    """The kept scores of a cell."""
    path = cell.path(run.scores_root)
    lines = [line for _, line in whole_lines(path)] if path.exists() else []
    found: list[dict[str, Any]] = from_json(b"[%b]" % b",".join(lines))
    return found


def _column(name: str, type_: str, parts: Sequence[CellColumns]) -> Any:
    """One column of all parts; a part that lacks it has no value there, and a single text is that of all its rows."""
    import numpy as np
    import pandas

    sizes = [len(part["episode_id"]) for part in parts]
    values = [part.get(name, "" if type_ == TEXT and name != "answer" else None) for part in parts]
    if type_ in (WHOLE, NUMBER, FLAG):
        filled = (np.full(size, np.nan) if own is None else own for size, own in zip(sizes, values, strict=True))
        return np.concatenate([np.empty(0, type_), *filled])
    repeated = (own if isinstance(own, list) else [own] * size for size, own in zip(sizes, values, strict=True))
    together = list(itertools.chain.from_iterable(repeated))
    if type_ == TEXT and name not in UNIQUE:
        return pandas.Categorical(together, list(dict.fromkeys(together)))
    return pandas.array(together, dtype="string" if type_ == TEXT else "boolean")
