"""What a condition costs: each system under it against the same system in the bare environment, paired by question.

Under `counterfactual` the golds are the new ones, so the difference there is what a system loses where it has to read.
Questions that a condition drops are in no pair. Where several runs ask a question in other words it is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from r_eval.analysis.columns import Shared
from r_eval.analysis.rows import Role
from r_eval.analysis.statistics.board import board
from r_eval.analysis.statistics.moments import moments
from r_eval.analysis.statistics.paired import Comparison, compare_pairs, corrected, interval_of_difference
from r_eval.analysis.systems import CLEAN, System

Scores = Mapping[str, Mapping[str, float]]
"""By task and question."""


@dataclass(frozen=True, slots=True)
class AgainstClean:
    """One system under one condition less the same system under `clean`.

    Attributes:
        overall: Over all tasks that both have; corrected over the tool-using systems of the condition.
        by_task: On each of them, where there are several.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    role: Role
    overall: Comparison
    by_task: Sequence[Comparison]


@dataclass(frozen=True, slots=True)
class Beside:
    """Some scores and those under `clean` on the same questions, without a test; as in `Comparison`.

    Attributes:
        mean_a, mean_b: Under the condition, and under `clean`; means over tasks.
    """

    questions: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float


def against_clean(
    systems: Sequence[System], shared: Shared, left_out: Collection[tuple[str, str]] = ()
) -> list[AgainstClean]:
    """A line for every system and condition that `clean` has a partner for, condition by condition.

    Args:
        left_out: Questions (task, id) that take no part.
    """
    clean = {one.name: scores_of(one, left_out) for one in systems if one.condition == CLEAN}
    found: list[AgainstClean] = []
    for condition in dict.fromkeys(one.condition for one in systems if one.condition != CLEAN):
        own = [one for one in systems if one.condition == condition and one.name in clean]
        pairs = compared([(scores_of(one, left_out), clean[one.name]) for one in own], shared)
        lines = [
            AgainstClean(condition, one.name, one.workflow, one.llm, one.role, *pair)
            for one, pair in zip(own, pairs, strict=bool(pairs))
        ]
        found += _corrected([line for line in lines if line.overall.questions])
    return found


def scores_of(system: System, left_out: Collection[tuple[str, str]] = ()) -> dict[str, dict[str, float]]:
    """The means of a system's questions over their epochs, by task; a task without a score is left out."""
    kept = {
        task: {question: score for question, score in cell.by_question().items() if (task, question) not in left_out}
        for task, cell in system.cells.items()
    }
    return {task: scores for task, scores in kept.items() if scores}


def beside(under: Scores, clean: Scores, shared: Shared) -> Beside | None:
    """Scores under a condition beside those under `clean` on the same questions; None where no question has both."""
    both = {task: under[task].keys() & clean.get(task, {}).keys() for task in under}
    columns = {
        name: {task: {question: of[task][question] for question in own} for task, own in both.items() if own}
        for name, of in (("under", under), ("clean", clean))
    }
    whole = board(columns, shared)
    if not whole.questions:
        return None
    differences = moments(whole.scores[:, [0]] - whole.scores[:, [1]], whole.layout)
    difference, low, high, _ = interval_of_difference(
        *(of[:, 0].tolist() for of in (differences.means, differences.variances, differences.clusters))
    )
    mean_a, mean_b = moments(whole.scores, whole.layout).means.mean(axis=0).tolist()
    return Beside(len(whole.questions), mean_a, mean_b, difference, low, high)


def compared(pairs: Sequence[tuple[Scores, Scores]], shared: Shared) -> list[tuple[Comparison, list[Comparison]]]:
    """Of each pair, the scores under a condition less those under `clean`, over all tasks and by task.

    A pair without a question that has both compares no questions; without any score at all there is no pair. The
    comparisons by task are there where the pair has several tasks in common, corrected over them.
    """
    names = [(f"{place} under", f"{place} clean") for place in range(len(pairs))]
    columns = {
        name: scores for of, pair in zip(names, pairs, strict=True) for name, scores in zip(of, pair, strict=True)
    }
    whole = board(columns, shared)
    overall = compare_pairs(whole, names)
    if len(whole.tasks) < 2:
        return [(one, []) for one in overall]
    tasks = [compare_pairs(whole.of(task), names) for task in whole.tasks]
    return [
        (one, corrected(own) if len(own) > 1 else [])
        for place, one in enumerate(overall)
        if (own := [of[place] for of in tasks if of and of[place].questions]) is not None
    ]


def _corrected(lines: Sequence[AgainstClean]) -> list[AgainstClean]:
    """With Holm's correction over the tool-using systems; baselines and references are read each for itself."""
    found = iter(corrected([line.overall for line in lines if line.role == "system"]))
    return [
        line
        if line.role != "system"
        else AgainstClean(*(line.condition, line.system, line.workflow, line.llm, line.role), next(found), line.by_task)
        for line in lines
    ]
