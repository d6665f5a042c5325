"""Retrieval and generation by type of question: where a system is good at single facts and poor at comparisons, say.

The type of a question is its meta's `type`: `simple`, `set`, `conditional`, `multi-hop` and `comparison` for questions
made from graphs. Questions without a type are in no line here, not even in the last one of a system, "" for all types.

- Generation is the score of the task's own metric.
- Retrieval is the mean of hit rate, recall and NDCG, of those that are known (`analysis.retrieval`). There is none
  where a system makes no search of its own, or no question says what is right.
- The total is their sum, from 0 to 2.

Every question that the run asks of a type counts: one without a score, be it not run yet or stopped by the machinery,
is 0 in both and is counted as missing. Questions of several tasks of a type are taken together. Those that a condition
drops are not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from r_eval.analysis.columns import Columns, Floats, Shared
from r_eval.analysis.estimate import Estimate, of_questions
from r_eval.analysis.retrieval import text_ids
from r_eval.analysis.systems import CLEAN, System, clusters_of, systems
from r_eval.folder import RunFolder

TYPES = ("simple", "set", "conditional", "multi-hop", "comparison")
"""In the order of tables; other types come after them, by name."""
PARTS = ("hit_rate", "recall", "ndcg")
"""Metrics whose mean is the retrieval."""

Key = tuple[str, str]
"""Task and question id."""


@dataclass(frozen=True, slots=True)
class OfType:
    """One system on the questions of one type.

    Attributes:
        type: "" for all types together: a mean over questions.
        retrieval: Without a mean where it is not known.
        n: Questions.
        missing: Those without a score.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    type: str
    retrieval: Estimate
    generation: Estimate
    n: int
    missing: int

    @property
    def total(self) -> float | None:
        """Retrieval and generation added up; None where either is not known."""
        one, other = self.retrieval.mean, self.generation.mean
        return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True)
class Typed:
    """The questions of some runs that have a type.

    Attributes:
        types: By task and question.
        ranked: Those that say what should be found.
    """

    types: Mapping[Key, str]
    ranked: frozenset[Key]


def by_type(runs: Sequence[RunFolder]) -> list[OfType]:
    """A line a system and type, and one over all types; none where no question has a type.

    Raises:
        UserError: A folder is not a run, or a record cannot be read.
    """
    typed = typed_questions(runs)
    return question_types(systems(*runs), typed, clusters_of(runs)) if typed.types else []


def typed_questions(runs: Sequence[RunFolder]) -> Typed:
    """The types of the questions that some runs ask.

    Raises:
        UserError: A question cannot be read, or its text_ids are no list of ids.
    """
    types: dict[Key, str] = {}
    ranked: set[Key] = set()
    for run in runs:
        for entry in run.manifest()["tasks"]:
            for question in run.questions(entry["name"]):
                if isinstance(type_ := question.meta.get("type"), str) and type_:
                    types[entry["name"], question.id] = type_
                    ranked |= {(entry["name"], question.id)} if question.evidence or text_ids(question) else set()
    return Typed(types, frozenset(ranked))


def question_types(found: Sequence[System], typed: Typed, shared: Shared) -> list[OfType]:
    """As `by_type`, of systems that are read already.

    Args:
        shared: By task and question, what a question shares with others.
    """
    return [line for system in found for line in _of_system(system, typed, shared)]


def in_order(types: Sequence[str]) -> list[str]:
    """Types as tables have them, each once.

    >>> in_order(["who", "multi-hop", "simple", "how", "simple"])
    ['simple', 'multi-hop', 'how', 'who']
    """
    return [type_ for type_ in TYPES if type_ in types] + sorted(set(types).difference(TYPES))


def retrieval_of(cell: Columns) -> Floats:
    """The mean of the parts that are known, an episode; NaN where none is, or the episode has no score."""
    parts = np.array([cell.retrieval.get(name, np.full(len(cell.questions), np.nan)) for name in PARTS])
    there = ~np.isnan(parts)
    number = there.sum(axis=0)
    known = (number > 0) & ~np.isnan(cell.scores)
    return np.where(known, np.where(there, parts, 0.0).sum(axis=0) / np.maximum(number, 1), np.nan)


def _of_system(system: System, typed: Typed, shared: Shared) -> list[OfType]:
    """The lines of a system; none where it was asked no question with a type."""
    asked = _asked(system, typed)
    scores, found = _values(system, lambda cell: cell.scores), _values(system, retrieval_of)
    groups = {type_: [key for key in asked if asked[key] == type_] for type_ in in_order(list(asked.values()))}
    several = {**groups, "": list(asked)} if groups else {}
    return [_line(system, type_, keys, scores, found, typed, shared) for type_, keys in several.items()]


def _asked(system: System, typed: Typed) -> dict[Key, str]:
    """The questions with a type that the system was to be asked, as far as it can be told.

    A cell that is not whole is to have all that the runs ask of its task, but for a condition: it may drop questions.
    """
    found: dict[Key, str] = {}
    for task, cell in system.cells.items():
        whole = len(cell.questions) >= cell.expected or system.condition != CLEAN
        own = set(cell.questions) if whole else None
        found |= {key: type_ for key, type_ in typed.types.items() if key[0] == task and (own is None or key[1] in own)}
    return found


def _line(
    system: System,
    type_: str,
    keys: Sequence[Key],
    scores: Mapping[Key, float],
    found: Mapping[Key, float],
    typed: Typed,
    shared: Shared,
) -> OfType:
    unscored = [key for key in keys if key not in scores]
    ranks = {key: found[key] for key in keys if key in found}
    if found:  # the system searches, so where it has no score it found nothing
        ranks |= {key: 0.0 for key in unscored if key in typed.ranked}
    return OfType(
        *(system.condition, system.name, system.workflow, system.llm, type_),
        retrieval=_estimate(ranks, shared),
        generation=_estimate({key: scores.get(key, 0.0) for key in keys}, shared),
        n=len(keys),
        missing=len(unscored),
    )


def _estimate(values: Mapping[Key, float], shared: Shared) -> Estimate:
    """Questions of two tasks are apart, even where their ids, or what they share, are the same words."""
    names = {key: f"{key[0]}\0{key[1]}" for key in values}
    same = {names[task, id_]: f"{task}\0{shared.get(task, {}).get(id_, id_)}" for task, id_ in values}
    return of_questions(list(names.values()), list(values.values()), len(values), same)


def _values(system: System, of: Callable[[Columns], Floats]) -> dict[Key, float]:
    """By task and question, the mean over its epochs that have a value."""
    return {
        (task, question): value
        for task, cell in system.cells.items()
        for question, value in cell.by_question(of(cell)).items()
    }
