"""Retrieval by system: how well it found what is right, and whose fault its wrong answers are.

Of the episodes with a score whose right documents or evidence are known (`retrieval`). A wrong answer is

- a failure of retrieval where its response type is RE and not all that is right was found: no LLM could have read it;
- a failure of generation where the type is GE: all of it was there to be read;
- another one otherwise: misused tools, or right documents of which the passage with the evidence was not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from r_eval.analysis.columns import Columns, Shared
from r_eval.analysis.estimate import Estimate, average, of_questions
from r_eval.analysis.responses import TYPES
from r_eval.analysis.retrieval import RETRIEVAL
from r_eval.analysis.systems import System

WRONG = ("GE", "RE", "TE")
"""Types of a scored answer that does not match."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The retrieval of one system on one task, or over all its tasks.

    Attributes:
        task: "" for all tasks together: means over tasks, each with the same weight, and sums of episodes.
        episodes: Scored ones whose retrieval is known.
        metrics: By name; a metric that is known of no episode has no mean.
        wrong: Those of them whose answer does not match.
        retrieval, generation: Wrong ones that failed in retrieval, and in generation.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    task: str
    episodes: int
    metrics: Mapping[str, Estimate]
    wrong: int
    retrieval: int
    generation: int

    @property
    def other(self) -> int:
        """Wrong answers that are neither."""
        return self.wrong - self.retrieval - self.generation

    def share(self, failures: int) -> float | None:
        """A number of failures as a share of the wrong answers; None where there are none."""
        return failures / self.wrong if self.wrong else None


def retrieved(systems: Sequence[System], shared: Shared) -> list[Retrieved]:
    """A line a system and task of which retrieval is known, in the order of the systems; then one over several tasks.

    Args:
        shared: By task and question, what a question shares with others.
    """
    lines = []
    for system in systems:
        own = [_of_task(system, cell, shared.get(task, {})) for task, cell in system.cells.items()]
        known = [line for line in own if line.episodes]
        lines += known
        if len(known) > 1:
            lines.append(_of_all(known))
    return lines


def _of_task(system: System, cell: Columns, shared: Mapping[str, str]) -> Retrieved:
    recall = cell.retrieval["recall"]
    known = ~np.isnan(cell.scores) & ~np.isnan(recall)
    of = {type_: known & (cell.types == TYPES.index(type_)) for type_ in WRONG}
    return Retrieved(
        *(system.condition, system.name, system.workflow, system.llm, cell.cell.task),
        episodes=int(known.sum()),
        metrics={name: _estimate(cell, name, known, shared) for name in RETRIEVAL},
        wrong=sum(int(found.sum()) for found in of.values()),
        retrieval=int((of["RE"] & (recall < 1.0)).sum()),
        generation=int(of["GE"].sum()),
    )


def _estimate(cell: Columns, name: str, known: np.ndarray, shared: Mapping[str, str]) -> Estimate:
    values = cell.retrieval[name]
    places = np.flatnonzero(known & ~np.isnan(values)).tolist()
    return of_questions([cell.questions[at] for at in places], [float(values[at]) for at in places], 0, shared)


def _of_all(lines: Sequence[Retrieved]) -> Retrieved:
    first = lines[0]
    return Retrieved(
        *(first.condition, first.system, first.workflow, first.llm, ""),
        episodes=sum(line.episodes for line in lines),
        metrics={name: average([line.metrics[name] for line in lines], len(lines)) for name in RETRIEVAL},
        wrong=sum(line.wrong for line in lines),
        retrieval=sum(line.retrieval for line in lines),
        generation=sum(line.generation for line in lines),
    )
