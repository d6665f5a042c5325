"""The kept scores of a run by column, a cell at a time: what statistics and the analyses are computed from.

100,000 episodes take a few MiB here. Questions that share a template or a document are no independent sample;
`clusters` says which do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis.epochs import over_epochs
from r_eval.analysis.responses import TYPES
from r_eval.analysis.retrieval import RETRIEVAL
from r_eval.analysis.scoring import ensure_scored
from r_eval.folder import Cell, RunFolder
from r_eval.records import Question

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LATENCY = ("seconds", "queue", "retry")
"""Numbers that only episodes have whose replies were all made in this run."""
NUMBERS = (*LATENCY, "calls", "prompt_tokens", "completion_tokens", "cost", "characters", "replayed")
CLUSTER_KEYS = ("template", "document", "documents", "cluster")
"""Keys of a question's meta that name what it shares with others, the first that is there counts."""

Shared = Mapping[str, Mapping[str, str]]
"""By task and question, what a question shares with others, as `clusters` says."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The score records of one cell, one place an episode.

    Attributes:
        cell: System, condition and task.
        questions: Question ids.
        epochs: From 0.
        scores: From 0 to 1; NaN for infrastructure failures.
        types: Places in `TYPES`.
        outcomes, causes: Words, as the record has them.
        numbers: The columns of NUMBERS, an episode; NaN where it is not known: an unknown price, and the
            LATENCY of an episode with a replayed reply.
        metrics: Further metrics that were asked for, by name; NaN as in `scores`.
        expected: Episodes that the grid asks for.
        retrieval: The metrics of retrieval by name; NaN where one is not known.
    """

    cell: Cell
    questions: list[str]
    epochs: Integers
    scores: Floats
    types: NDArray[np.int8]
    outcomes: list[str]
    causes: list[str]
    numbers: dict[str, Floats]
    metrics: dict[str, Floats]
    expected: int
    retrieval: dict[str, Floats] = field(default_factory=dict)

    def by_question(self, values: Floats | None = None) -> dict[str, float]:
        """The mean of each question over its epochs; questions without any value are left out.

        Args:
            values: One an episode, NaN where it has none; absent: the scores.
        """
        own = self.scores if values is None else values
        return over_epochs(zip(self.questions, own.tolist(), strict=True))


def columns(run: RunFolder) -> Iterator[Columns]:
    """The scores of a run, cell by cell in the grid's order; what is missing or out of date is scored first.

    Raises:
        UserError: The folder is not a run, or a record cannot be read.
    """
    ensure_scored(run)
    for cell, entry in zip(run.cells(), run.manifest()["cells"], strict=True):
        yield of_records(cell, list(run.scores(cell).values()), int(entry["episodes"]))


def of_records(cell: Cell, records: list[dict[str, Any]], expected: int) -> Columns:
    """The columns of a cell's score records."""
    place = {type_: number for number, type_ in enumerate(TYPES)}
    names = sorted({name for record in records for name in record["metrics"]})
    return Columns(
        cell,
        [sys.intern(record["question_id"]) for record in records],
        np.array([record["epoch"] for record in records], np.int64),
        _floats(record["score"] for record in records),
        np.array([place[record["response_type"]] for record in records], np.int8),
        [sys.intern(record["outcome"]) for record in records],
        [sys.intern(record["outcome_cause"]) for record in records],
        {name: _floats(_number(record, name) for record in records) for name in NUMBERS},
        {name: _floats(record["metrics"].get(name) for record in records) for name in names},
        expected,
        {name: _floats((record.get("retrieval") or {}).get(name) for record in records) for name in RETRIEVAL},
    )


def _number(record: dict[str, Any], name: str) -> float | None:
    return None if name in LATENCY and record.get("replayed") else record.get(name)


def clusters(run: RunFolder) -> dict[str, dict[str, str]]:
    """By task and question id, what the question shares with others: its template, document, or itself alone."""
    return {
        entry["name"]: {question.id: cluster_of(question) for question in run.questions(entry["name"])}
        for entry in run.manifest()["tasks"]
    }


def cluster_of(question: Question) -> str:
    """What a question shares with others, its own id where that is nothing."""
    found = next((question.meta[key] for key in CLUSTER_KEYS if question.meta.get(key)), question.id)
    return found if isinstance(found, str) else repr(found)


def _floats(values: Iterator[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)
