"""Closed book: of a system's right answers, how many need the domain, and how many did its LLM know without it?

Each system is paired, question by question, with the workflow `direct` of the same LLM under the same condition, which
sees no domain at all. Tasks whose questions bring documents along, which `direct` is shown, are left out. A question
that both were asked is one of four:

- needed: the system is right and the LLM alone is wrong. The domain made the difference.
- knew: both are right. The answer may have been read or remembered; the score does not say.
- lost: the LLM alone is right and the system is wrong. Tools stood in its way.
- neither: both are wrong.

Right is what the response types call EM or AM. AM (right, but without evidence seen) suspects an answer of having been
remembered; `am_knew` is how many of those the LLM alone does know. With several epochs each one of the system is
compared with each one of `direct`, so that the numbers of questions are means and need not be whole.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from r_eval.analysis.columns import Columns, Shared
from r_eval.analysis.estimate import Estimate, average, of_questions, of_ratio
from r_eval.analysis.responses import TYPES
from r_eval.analysis.stability import rights
from r_eval.analysis.systems import System
from r_eval.folder import RunFolder

DIRECT = "direct"
KINDS = ("needed", "knew", "lost", "neither")
AM = TYPES.index("AM")


@dataclass(frozen=True, slots=True)
class ClosedBook:
    """One system against its LLM alone, on one task or over all its tasks.

    Attributes:
        task: "" for all tasks together: means over tasks, each with the same weight, and sums of questions.
        questions: Those that both have a score for.
        unpaired: Other questions that the system has a score for.
        counts: By kind, how many questions.
        shares: By kind, of the questions.
        needs: Of the right answers, the share that the LLM alone does not give.
        am: Right answers without evidence, and `am_knew` those of them that the LLM alone gives too.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    task: str
    questions: int
    unpaired: int
    counts: Mapping[str, float]
    shares: Mapping[str, Estimate]
    needs: Estimate
    am: float
    am_knew: float

    @property
    def right(self) -> float:
        """Right answers of the system among the paired questions."""
        return self.counts["needed"] + self.counts["knew"]


def open_books(runs: Sequence[RunFolder]) -> set[str]:
    """Tasks of which some question comes with documents: these `direct` is shown too."""
    return {
        entry["name"]
        for run in runs
        for entry in run.manifest()["tasks"]
        if any(question.context for question in run.questions(entry["name"]))
    }


def closed_book(systems: Sequence[System], shared: Shared, without: Collection[str] = ()) -> list[ClosedBook]:
    """A line a system and task for which `direct` ran with the same LLM, then one over several tasks of a system.

    Baselines themselves and references are left out.

    Args:
        shared: By task and question, what a question shares with others.
        without: Tasks that are left out; see `open_books`.
    """
    alone = {(one.condition, one.llm): one for one in systems if one.role == "baseline"}
    lines: list[ClosedBook] = []
    for system in systems:
        direct = alone.get((system.condition, system.llm))
        if direct is None or system.role != "system":
            continue
        own = [
            _of_task(system, cell, direct.cells[task], shared.get(task, {}))
            for task, cell in system.cells.items()
            if task in direct.cells and task not in without
        ]
        known = [line for line in own if line.questions]
        lines += known
        if len(known) > 1:
            lines.append(_of_all(known))
    return lines


def _of_task(system: System, cell: Columns, direct: Columns, shared: Mapping[str, str]) -> ClosedBook:
    right = rights(cell)
    agent, alone = cell.by_question(right), direct.by_question(rights(direct))
    remembered = cell.by_question(np.where(np.isnan(right), np.nan, cell.types == AM))
    both = [question for question in agent if question in alone]
    kinds = {question: _kinds(agent[question], alone[question]) for question in both}
    return ClosedBook(
        *(system.condition, system.name, system.workflow, system.llm, cell.cell.task),
        questions=len(both),
        unpaired=len(agent) - len(both),
        counts={kind: math.fsum(of[kind] for of in kinds.values()) for kind in KINDS},
        shares={kind: of_questions(both, [kinds[question][kind] for question in both], 0, shared) for kind in KINDS},
        needs=of_ratio(both, [kinds[one]["needed"] for one in both], [agent[one] for one in both], shared),
        am=math.fsum(remembered[question] for question in both),
        am_knew=math.fsum(remembered[question] * alone[question] for question in both),
    )


def _kinds(agent: float, alone: float) -> dict[str, float]:
    shares = (agent * (1 - alone), agent * alone, (1 - agent) * alone, (1 - agent) * (1 - alone))
    return dict(zip(KINDS, shares, strict=True))


def _of_all(lines: Sequence[ClosedBook]) -> ClosedBook:
    first = lines[0]
    return ClosedBook(
        *(first.condition, first.system, first.workflow, first.llm, ""),
        questions=sum(line.questions for line in lines),
        unpaired=sum(line.unpaired for line in lines),
        counts={kind: math.fsum(line.counts[kind] for line in lines) for kind in KINDS},
        shares={kind: average([line.shares[kind] for line in lines], len(lines)) for kind in KINDS},
        needs=average([line.needs for line in lines], len(lines)),
        am=math.fsum(line.am for line in lines),
        am_knew=math.fsum(line.am_knew for line in lines),
    )
