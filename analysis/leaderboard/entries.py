"""What stands on a leaderboard: each system's retrieval and generation on each version of a question set.

- Generation is the score of the task's own metric.
- Retrieval is the mean of hit rate, recall and NDCG, of those that are known (`analysis.retrieval`).
- The total is the sum of the two, so up to 2.

Every question that any run of the version asked counts for every system: one that has no score, be it that it was never
asked or that the machinery failed, counts 0 and is counted as missing. Several tasks of a version weigh the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from r_eval.analysis.columns import Columns, Floats, clusters
from r_eval.analysis.estimate import Estimate, average, of_questions
from r_eval.analysis.leaderboard.versions import Seasons
from r_eval.analysis.retrieval import text_ids
from r_eval.analysis.systems import System, systems
from r_eval.folder import RunFolder
from r_eval.tasks.seasons.version import Version

PARTS = ("hit_rate", "recall", "ndcg")
"""Metrics whose mean is the retrieval."""


@dataclass(frozen=True, slots=True)
class OfType:
    """Retrieval and generation over the questions of one type (`meta.type`); None where it is not known."""

    questions: int
    retrieval: float | None
    generation: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One system on one version.

    Attributes:
        version: None where the questions are of no known season.
        bound: Whether the system bounds the others rather than contends.
        questions: Of the version, over all its tasks.
        missing: Those without a score; they are in the means as 0.
        updated: When the run was last written.
    """

    version: Version | None
    condition: str
    system: str
    workflow: str
    llm: str
    bound: bool
    retrieval: Estimate
    generation: Estimate
    types: Mapping[str, OfType]
    questions: int
    missing: int
    updated: str


@dataclass(slots=True)
class _Set:
    """The questions of a version: by task and id, the type; those whose right documents are known; the clusters."""

    types: dict[str, dict[str, str]] = field(default_factory=dict)
    known: set[tuple[str, str]] = field(default_factory=set)
    shared: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Result:
    """The cells of one system that are of one version."""

    version: Version | None
    name: str
    system: System
    cells: Mapping[str, Columns]
    updated: str


def entries(runs: Sequence[RunFolder], seasons: Seasons) -> list[Entry]:
    """An entry a version, condition and system, the versions in their order, the systems in that of the runs.

    Where two runs have the same system on the same version, the later run's name is added to it.

    Raises:
        UserError: A folder is not a run, or a file cannot be read.
    """
    sets: dict[Version | None, _Set] = {}
    results: list[_Result] = []
    taken: set[tuple[Version | None, str, str]] = set()
    for run in runs:
        versions = {entry["name"]: seasons.of(run, entry["name"]) for entry in run.manifest()["tasks"]}
        shared = clusters(run)
        for task, version in versions.items():
            _add(sets.setdefault(version, _Set()), run, task, shared.get(task, {}))
        results += _results(run, versions, taken)
    order = {version: place for place, version in enumerate(ordered(sets))}
    return [_entry(result, sets[result.version]) for result in sorted(results, key=lambda one: order[one.version])]


def ordered(versions: Mapping[Version | None, object] | Sequence[Version | None]) -> list[Version | None]:
    """Versions as numbers, the oldest first; what has none comes before all."""
    return sorted(dict.fromkeys(versions), key=lambda version: (version is not None, version or Version()))


def _add(to: _Set, run: RunFolder, task: str, shared: Mapping[str, str]) -> None:
    types = to.types.setdefault(task, {})
    for question in run.questions(task):
        types[question.id] = str(question.meta.get("type") or "")
        if question.evidence or text_ids(question):
            to.known.add((task, question.id))
    to.shared.setdefault(task, {}).update(shared)


def _results(
    run: RunFolder, versions: Mapping[str, Version | None], taken: set[tuple[Version | None, str, str]]
) -> Iterator[_Result]:
    manifest = run.manifest()
    for system in systems(run):
        for version in ordered(list(versions.values())):
            cells = {task: cell for task, cell in system.cells.items() if versions.get(task) == version}
            if not cells:
                continue
            name, number = system.name, 1
            while (version, system.condition, name) in taken:
                name = f"{system.name} ({manifest['name']})" if number == 1 else f"{system.name} ({number})"
                number += 1
            taken.add((version, system.condition, name))
            yield _Result(version, name, system, cells, str(manifest.get("updated", "")))


def _entry(result: _Result, of: _Set) -> Entry:
    generation = {task: _means(cell, cell.scores) for task, cell in result.cells.items()}
    retrieval = {task: _means(cell, _retrieval(cell)) for task, cell in result.cells.items()}
    searches = any(retrieval.values())
    asked = [(task, question) for task, types in of.types.items() for question in types]
    scores: dict[tuple[str, str], float] = {}
    found: dict[tuple[str, str], float] = {}
    for task, question in asked:
        score = generation.get(task, {}).get(question)
        scores[task, question] = score or 0.0
        rank = retrieval.get(task, {}).get(question)
        if rank is not None:
            found[task, question] = rank
        elif searches and score is None and (task, question) in of.known:
            found[task, question] = 0.0
    system = result.system
    return Entry(
        *(result.version, system.condition, result.name, system.workflow, system.llm, system.bound),
        retrieval=_over_tasks(found, of),
        generation=_over_tasks(scores, of),
        types=_types(asked, scores, found, of),
        questions=len(asked),
        missing=sum(question not in generation.get(task, {}) for task, question in asked),
        updated=result.updated,
    )


def _retrieval(cell: Columns) -> Floats:
    """The mean of the parts that are known, an episode; NaN where none is, or the episode has no score."""
    parts = np.array([cell.retrieval.get(name, np.full(len(cell.questions), np.nan)) for name in PARTS])
    there = ~np.isnan(parts)
    number = there.sum(axis=0)
    total = np.where(there, parts, 0.0).sum(axis=0)
    known = (number > 0) & ~np.isnan(cell.scores)
    return np.where(known, total / np.maximum(number, 1), np.nan)


def _means(cell: Columns, values: Floats) -> dict[str, float]:
    """By question, the mean over its epochs that have a value."""
    found: dict[str, list[float]] = {}
    for question, value in zip(cell.questions, values.tolist(), strict=True):
        if value == value:  # not NaN
            found.setdefault(question, []).append(value)
    return {question: math.fsum(own) / len(own) for question, own in found.items()}


def _over_tasks(values: Mapping[tuple[str, str], float], of: _Set) -> Estimate:
    by_task: dict[str, dict[str, float]] = {}
    for (task, question), value in values.items():
        by_task.setdefault(task, {})[question] = value
    cells = [
        of_questions(list(own), list(own.values()), len(own), of.shared.get(task)) for task, own in by_task.items()
    ]
    return average(cells, len(cells))


def _types(
    asked: Sequence[tuple[str, str]],
    scores: Mapping[tuple[str, str], float],
    found: Mapping[tuple[str, str], float],
    of: _Set,
) -> dict[str, OfType]:
    by_type: dict[str, list[tuple[str, str]]] = {}
    for task, question in asked:
        if type_ := of.types[task][question]:
            by_type.setdefault(type_, []).append((task, question))
    return {
        type_: OfType(len(own), _mean([found[one] for one in own if one in found]), _mean([scores[one] for one in own]))
        for type_, own in sorted(by_type.items())
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
