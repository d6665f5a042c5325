"""`r-eval compare`: which comparisons are asked for, and what comes of them.

One run: two systems of it, or all pairs. Several runs: the same system in each (before and after a prompt change), or
two systems wherever they are. Everything is paired by question. A question whose text differs between two runs is not
the same question, and is left out and counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from r_eval.analysis import metrics
from r_eval.analysis.columns import clusters
from r_eval.analysis.epochs import over_epochs
from r_eval.analysis.published import is_published
from r_eval.analysis.rows import Role, roles
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.analysis.statistics.board import Board, board
from r_eval.analysis.statistics.paired import Comparison, compare_by_task, compare_pairs, corrected, flipped
from r_eval.analysis.statistics.ranking import Place, ranking
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.plugins import unknown

Scores = dict[str, dict[str, float]]
"""By task and question id."""


@dataclass(slots=True)
class Entry:
    """A system of a run under a condition, with its scores."""

    place: int
    system: str
    condition: str
    role: Role
    scores: Scores

    @property
    def reference(self) -> bool:
        return self.role == "reference"


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison over all tasks, and what stands behind it.

    Attributes:
        by_task: The same on each task, where there are several.
        only_a, only_b: Questions (task, id) that only one of them answers.
    """

    overall: Comparison
    by_task: list[Comparison]
    only_a: list[tuple[str, str]]
    only_b: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Compared:
    """All comparisons under one condition.

    Attributes:
        all_pairs: Whether every system of a run was compared with every other, and so ranked.
        references: Systems left out because they see the gold; they are compared where they are named.
        unscored: Systems left out because they have no score yet.
        reworded: Questions that have another text in another run, and are left out.
    """

    condition: str
    pairs: list[Pair]
    all_pairs: bool
    ranking: list[Place]
    references: list[str]
    unscored: list[str]
    reworded: int


def compare_runs(
    runs: Sequence[RunFolder], systems: tuple[str, str] | None = None, metric: str | None = None
) -> list[Compared]:
    """Compare systems, once for each condition that they have in common.

    Args:
        runs: One, or several.
        systems: Two names; the same one twice compares it between runs. None: all pairs of one run, or every system
            that several runs share.
        metric: In place of each task's own; scores that lack it are computed and kept.

    Raises:
        UserError: A folder is no run or holds published results, a name is not known, or nothing can be paired.
    """
    for run in runs:
        if is_published(run.path):
            raise UserError(
                f"{run.path} holds published results: means without episodes. "
                "A comparison is paired by question, so it needs runs"
            )
    entries = [entry for place, run in enumerate(runs) for entry in _entries(place, run, metric)]
    if systems is not None:
        _check_names(entries, systems, runs)
    reworded = _drop_reworded(runs, entries)
    shared = {task: found for run in reversed(runs) for task, found in clusters(run).items() if found}
    names = _run_names(runs)
    compared = []
    for condition in dict.fromkeys(entry.condition for entry in entries):
        under = [entry for entry in entries if entry.condition == condition]
        columns, pairs = _asked(under, systems, names)
        found = board({name: columns[name] for pair in pairs for name in pair}, shared)
        if found.questions:
            every = len(runs) == 1 and systems is None
            references = [entry.system for entry in under if entry.reference and every]
            unscored = [entry.system for entry in under if every and not entry.reference and not entry.scores]
            compared.append(Compared(condition, *_compared(found, pairs, every), references, unscored, reworded))
    if not compared:
        raise UserError(_nothing(entries, systems, len(runs), reworded))
    return compared


def _compared(found: Board, pairs: Sequence[tuple[str, str]], ranked: bool) -> tuple[list[Pair], bool, list[Place]]:
    overall = corrected(compare_pairs(found, pairs))
    whole = []
    for one in overall:
        by_task = compare_by_task(found, one.a, one.b) if len(one.tasks) > 1 and not ranked else []
        whole.append(Pair(one, by_task, *flipped(found, one.a, one.b)))
    if not ranked:
        return whole, False, []
    return whole, True, ranking({system: _mean(found, system) for system in found.systems}, overall)


def _mean(found: Board, system: str) -> float:
    """Over the tasks that the system has scores on, each with the same weight."""
    tasks: dict[int, list[float]] = {}
    for task, score in zip(found.task_of.tolist(), found.column(system).tolist(), strict=True):
        if not math.isnan(score):
            tasks.setdefault(task, []).append(score)
    means = [math.fsum(scores) / len(scores) for scores in tasks.values()]
    return math.fsum(means) / len(means) if means else math.nan


def _entries(place: int, run: RunFolder, metric: str | None) -> Iterator[Entry]:
    """The systems of a run under each condition."""
    _see_to_scores(run, metric)
    manifest = run.manifest()
    role = roles(manifest)
    found: dict[tuple[str, str], Entry] = {}
    for cell in run.cells():
        key = cell.condition, cell.system
        entry = found.setdefault(key, Entry(place, cell.system, cell.condition, role[cell.system], {}))
        if means := _by_question(run.scores(cell).values(), metric):
            entry.scores[cell.task] = means
    yield from found.values()


def _by_question(records: Iterable[Mapping[str, Any]], metric: str | None) -> dict[str, float]:
    tries = (
        (one["question_id"], one["score"] if metric in (None, one["metric"]) else one["metrics"].get(metric))
        for one in records
    )
    return over_epochs((question, score) for question, score in tries if score is not None)


def _see_to_scores(run: RunFolder, metric: str | None) -> None:
    """Compute what is missing; what is kept stays."""
    ensure_scored(run)
    if metric is None:
        return
    metrics.get(metric)
    kept = [record for cell in run.cells() if (record := next(iter(run.scores(cell).values()), None))]
    if any(metric != record["metric"] and metric not in record["metrics"] for record in kept):
        first = kept[0]
        score_run(run, [*metrics.of_kept_scores(first["metrics"]), metric], first["taxonomy"], first["threshold"])


def _check_names(entries: Sequence[Entry], systems: tuple[str, str], runs: Sequence[RunFolder]) -> None:
    known = list(dict.fromkeys(entry.system for entry in entries))
    for name in systems:
        if name not in known:
            raise UserError(unknown("system", name, known))
    if systems[0] == systems[1] and len(runs) == 1:
        raise UserError(f"{systems[0]} is compared with itself; name another system, or a second run")


def _drop_reworded(runs: Sequence[RunFolder], entries: Sequence[Entry]) -> int:
    """Take out the questions that several runs ask in other words; how many there are."""
    if len(runs) == 1:
        return 0
    texts: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for task in run.manifest()["tasks"]:
            for question in run.questions(task["name"]):
                texts.setdefault((task["name"], question.id), set()).add(question.question)
    other = {key for key, found in texts.items() if len(found) > 1}
    for entry in entries:
        for task, scores in entry.scores.items():
            entry.scores[task] = {q: score for q, score in scores.items() if (task, q) not in other}
    return len(other)


def _run_names(runs: Sequence[RunFolder]) -> list[str]:
    """What the runs are called, told apart by their folders where the names are the same."""
    names = [str(run.manifest()["name"]) for run in runs]
    twice = Counter(names)
    return [str(run.path) if twice[name] > 1 else name for run, name in zip(runs, names, strict=True)]


def _asked(
    entries: Sequence[Entry], systems: tuple[str, str] | None, names: Sequence[str]
) -> tuple[dict[str, Scores], list[tuple[str, str]]]:
    """The columns to compare, by name, and the pairs of them."""
    if systems is not None and systems[0] != systems[1]:
        columns = {name: _together(name, [e for e in entries if e.system == name], names) for name in systems}
        return columns, [systems] if all(columns.values()) else []
    if len(names) == 1:
        columns = {entry.system: entry.scores for entry in entries if entry.scores and not entry.reference}
        return columns, list(combinations(columns, 2))
    columns, pairs = {}, []
    for system in dict.fromkeys(e.system for e in entries if (e.system == systems[0] if systems else not e.reference)):
        own = {f"{system} ({names[entry.place]})": entry.scores for entry in entries if entry.system == system}
        columns |= own
        pairs += [(later, earlier) for earlier, later in combinations(own, 2)]
    return columns, pairs


def _together(system: str, entries: Sequence[Entry], names: Sequence[str]) -> Scores:
    """The scores of a system from several runs over different tasks."""
    found: Scores = {}
    for entry in entries:
        for task, scores in entry.scores.items():
            if task in found:
                runs = ", ".join(names[e.place] for e in entries)
                raise UserError(
                    f"{system} is in several of the runs ({runs}) on {task}; name one of them, or "
                    f"compare it between the runs with --systems {system} {system}"
                )
            found[task] = scores
    return found


def _nothing(entries: Sequence[Entry], systems: tuple[str, str] | None, runs: int, reworded: int) -> str:
    """Why there is nothing to compare."""
    known = ", ".join(dict.fromkeys(entry.system for entry in entries))
    if reworded:
        return f"nothing can be paired: the runs ask {reworded} questions in other words, and have no others in common"
    if systems is not None:
        return f"{systems[0]} and {systems[1]} have no scores under the same condition"
    if runs == 1:
        return f"there are no two systems to compare, references aside; the run has: {known}"
    return f"no system is in two of these runs; name two with --systems A B. They have: {known}"
