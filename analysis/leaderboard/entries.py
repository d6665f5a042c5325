"""What stands on a leaderboard: each system's retrieval and generation on each version of a question set.

- Generation is the score of the task's own metric.
- Retrieval is the mean of hit rate, recall and NDCG, of those that are known (`analysis.retrieval`).
- The total is the sum of the two, so up to 2.

Every question of the version counts for every system: one that has no score, be it that it was never asked or that the
machinery failed, counts 0 and is counted as missing. Where the season is not known, these are the questions that any
run asked; under a condition, which may drop some, those that any system was asked under it. Several tasks of a version
weigh the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from r_eval.analysis.columns import clusters
from r_eval.analysis.estimate import Estimate, average, of_questions
from r_eval.analysis.leaderboard.pipeline import Pipeline
from r_eval.analysis.leaderboard.results import Result, Taken, of_run
from r_eval.analysis.leaderboard.sets import Key, QuestionSet
from r_eval.analysis.leaderboard.submissions import submitted
from r_eval.analysis.leaderboard.versions import Seasons, ordered
from r_eval.analysis.systems import CLEAN
from r_eval.folder import RunFolder
from r_eval.tasks.seasons.version import Version


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
        reference: Whether the system sees the gold, so that it is not ranked.
        pipeline: What of its retrieval is known.
        questions: Of the version, over all its tasks.
        missing: Those without a score; they are in the means as 0.
        updated: When the run was last written.
    """

    version: Version | None
    condition: str
    system: str
    workflow: str
    llm: str
    reference: bool
    pipeline: Pipeline
    retrieval: Estimate
    generation: Estimate
    types: Mapping[str, OfType]
    questions: int
    missing: int
    updated: str


def entries(runs: Sequence[RunFolder], seasons: Seasons, submissions: Sequence[Path] = ()) -> list[Entry]:
    """An entry a version, condition and system, the versions in their order, the systems in that of the runs.

    Where two runs have the same system on the same version, the later run's name is added to it.

    Args:
        submissions: Results of systems that R-Eval did not run.

    Raises:
        UserError: A folder is not a run, a file cannot be read, or the questions of results are not known.
    """
    sets: dict[Version | None, QuestionSet] = {}
    results: list[Result] = []
    metrics: dict[str, str] = {}
    taken = Taken()
    for run in runs:
        known = {entry["name"]: seasons.of(run, entry["name"]) for entry in run.manifest()["tasks"]}
        shared = clusters(run)
        metrics |= {entry["name"]: entry["metric"] for entry in run.manifest()["tasks"] if entry.get("metric")}
        for task, of in known.items():
            sets.setdefault(of.version, QuestionSet()).add(task, run.questions(task), of, shared.get(task, {}))
        results += of_run(run, {task: of.version for task, of in known.items()}, taken)
    results += [submitted(path, seasons, sets, metrics, taken) for path in submissions]
    order = {version: place for place, version in enumerate(ordered(sets))}
    asked: dict[tuple[Version | None, str], set[Key]] = {}
    for one in results:
        asked.setdefault((one.version, one.condition), set()).update(one.asked)
    return [
        _entry(result, sets[result.version], asked[result.version, result.condition])
        for result in sorted(results, key=lambda one: order[one.version])
    ]


def _entry(result: Result, of: QuestionSet, under: Collection[Key]) -> Entry:
    """A result held against its version's questions; under a condition, against those that any system was asked.

    Args:
        under: Those that any system was asked under the same condition, which may drop some.
    """
    asked = [key for key in of.asked() if result.condition == CLEAN or key in under]
    scores = {key: result.scores.get(key, 0.0) for key in asked}
    found = {key: rank for key in asked if (rank := result.found.get(key)) is not None}
    if result.searches:
        found |= {key: 0.0 for key in asked if key in of.ranked and key not in result.scores and key not in found}
    return Entry(
        *(
            result.version,
            result.condition,
            result.name,
            result.workflow,
            result.llm,
            result.reference,
            result.pipeline,
        ),
        retrieval=_over_tasks(found, of),
        generation=_over_tasks(scores, of),
        types=_types(asked, scores, found, of),
        questions=len(asked),
        missing=sum(key not in result.scores for key in asked),
        updated=result.updated,
    )


def _over_tasks(values: Mapping[tuple[str, str], float], of: QuestionSet) -> Estimate:
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
    of: QuestionSet,
) -> dict[str, OfType]:
    by_type: dict[str, list[tuple[str, str]]] = {}
    for task, question in asked:
        if type_ := of.type_of((task, question)):
            by_type.setdefault(type_, []).append((task, question))
    return {
        type_: OfType(len(own), _mean([found[one] for one in own if one in found]), _mean([scores[one] for one in own]))
        for type_, own in sorted(by_type.items())
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
