"""Scores: what each episode's answer is worth and which type of response it is, kept beside the episodes.

A line of `scores/<system>/<condition>/<task>.jsonl` belongs to the episode with the same `episode_id`.
Scoring reads episodes and writes scores, so it can be repeated at any time with another metric, taxonomy or
threshold; the last one asked for is what is kept.

Rule: an infrastructure failure (`tool_failure`, `llm_failure`, `cancelled`) has no score (null), and leaves
the cell incomplete; everything else has one, and a missing answer is worth 0. Where the metric itself failed, such as
a judge that could not be reached, there is no score either and the type is ME, whatever the answer was.

Besides what is counted of an episode, a record has what the response type rests on (`reward`, `supported`,
`outcome`, `outcome_cause`), so that types under other thresholds need no episodes (`sensitivity`), and what the error
analysis needs: the cause below the type (`cause`), how many query API calls were made and found something, and how
well they found what is right (`retrieval`).
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from r_eval.analysis import metrics as known_metrics
from r_eval.analysis.causes import Actions, actions, why
from r_eval.analysis.kept_scores import sound
from r_eval.analysis.responses import THRESHOLDS, Response, classify, documents_shown, evidence_text, unseen
from r_eval.analysis.retrieval import Retrieval, Right, Rights, by_ids, by_texts
from r_eval.analysis.rows import roles
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder, read_lines
from r_eval.records import INFRASTRUCTURE_FAILURES, Document, Episode

DEFAULT_METRIC = "token_f1"
BATCH = 512
"""Episodes in memory at a time."""
TICK = 20_000_000
"""Nanoseconds within which a file system may give two changes of a file the same time."""
VERSION = 1
"""Of the scorer: a change of metrics, types, causes or of the score records raises it, and kept scores are renewed."""

Documents = Mapping[str, Sequence[Document]]
"""By question id, the documents that come with a question."""


@dataclass(slots=True)
class Scores:
    """What one scoring found, in counts; the scores themselves are in the run folder.

    Attributes:
        episodes: Episodes recorded.
        scored: Those of them with a score; the others are infrastructure failures.
        mean: Over the scored episodes, not over tasks; `aggregate` has the averages that tables show.
    """

    taxonomy: str
    threshold: float
    episodes: int = 0
    scored: int = 0
    undecided: int = 0
    unparsed: int = 0
    types: dict[str, int] = field(default_factory=dict)
    total: float = 0.0

    @property
    def mean(self) -> float | None:
        return self.total / self.scored if self.scored else None

    def add(self, record: dict[str, Any]) -> None:
        """Count one score record."""
        self.episodes += 1
        self.undecided += record["undecided"]
        self.unparsed += record["unparsed"]
        self.types[record["response_type"]] = self.types.get(record["response_type"], 0) + 1
        if record["score"] is not None:
            self.scored += 1
            self.total += record["score"]


def score_run(
    run: RunFolder,
    metrics: Sequence[str] = (),
    taxonomy: str = "strict",
    threshold: float | None = None,
    cells: Sequence[Cell] | None = None,
) -> Scores:
    """Score every recorded episode of a run and keep the scores in its folder, a cell at a time.

    Args:
        metrics: More metrics to compute beside each task's own.
        taxonomy: "strict", "paper" or "published"; see `responses`.
        threshold: From which score on an answer matches; None takes the taxonomy's own.
        cells: Which ones; None takes all.

    Raises:
        UserError: A metric or the taxonomy is unknown, or a record cannot be read. Nothing has been written
            then for the cell at fault.
    """
    manifest = run.manifest()
    own = {task["name"]: task.get("metric") or DEFAULT_METRIC for task in manifest["tasks"]}
    role = roles(manifest)
    for name in metrics:
        known_metrics.get(name)
    for name in dict.fromkeys(own.values()):
        known_metrics.of_a_run(name)
    if taxonomy not in THRESHOLDS:
        raise UserError(f"no taxonomy is called {taxonomy!r}; there are {' and '.join(THRESHOLDS)}")
    limit = THRESHOLDS[taxonomy] if threshold is None else threshold
    scores = Scores(taxonomy, limit)
    rights = Rights(run)
    documents: dict[str, Documents] = {}
    for cell in _by_task(run.cells() if cells is None else cells):
        if not cell.path(run.episodes_root).exists():
            cell.path(run.scores_root).unlink(missing_ok=True)
            continue
        changed = _changed(run, cell)
        episodes = run.cell_episodes(cell)
        right = rights.of(cell.task) if role[cell.system] == "system" else None
        if cell.task not in documents:
            documents[cell.task] = {q.id: q.context for q in run.questions(cell.task) if q.context}
        metric = own.get(cell.task, DEFAULT_METRIC)
        made = score_cell(episodes, metric, metrics, taxonomy, limit, right, documents[cell.task])
        records = _counted(made, scores)
        run.write_scores(cell, records)
        os.utime(cell.path(run.scores_root), ns=(changed, changed))
    return scores


def _by_task(cells: Iterable[Cell]) -> list[Cell]:
    """The cells of each task together, so that its questions are read once."""
    there = list(cells)
    order = {task: place for place, task in enumerate(dict.fromkeys(cell.task for cell in there))}
    return sorted(there, key=lambda cell: order[cell.task])


def _changed(run: RunFolder, cell: Cell) -> int:
    """When a cell's episodes last changed: the time that its scores get, since a run may go on while it is scored.

    Returns once every later change is sure to have a later time.
    """
    changed = cell.path(run.episodes_root).stat().st_mtime_ns
    time.sleep(max(0, min(TICK, changed + TICK - time.time_ns())) / 1e9)
    return changed


def score_cell(
    episodes: Iterable[Episode],
    metric: str,
    metrics: Sequence[str],
    taxonomy: str,
    threshold: float,
    right: Right | None = None,
    documents: Documents | None = None,
) -> Iterator[dict[str, Any]]:
    """Score records of one cell, some at a time; the arguments are those of `score_episodes`."""
    episodes = iter(episodes)
    while batch := list(itertools.islice(episodes, BATCH)):
        yield from score_episodes(batch, metric, metrics, taxonomy, threshold, right, documents)


def score_episode(
    episode: Episode,
    metric: str = DEFAULT_METRIC,
    metrics: Sequence[str] = (),
    taxonomy: str = "strict",
    threshold: float | None = None,
    right: Right | None = None,
    documents: Documents | None = None,
) -> dict[str, Any]:
    """The score record of one episode, as a line of `scores/` has it; the arguments are those of `score_episodes`."""
    return next(score_episodes([episode], metric, metrics, taxonomy, threshold, right, documents))


def score_episodes(
    episodes: Sequence[Episode],
    metric: str = DEFAULT_METRIC,
    metrics: Sequence[str] = (),
    taxonomy: str = "strict",
    threshold: float | None = None,
    right: Right | None = None,
    documents: Documents | None = None,
) -> Iterator[dict[str, Any]]:
    """The score records of some episodes of one task.

    Under the published taxonomy the response type rests on `token_f1_published`, whatever the task's metric is.

    Args:
        right: The right documents of the questions; None for baselines and references, which make no search of their
            own: their retrieval is not scored.
        documents: Those that come with the questions; what a prompt held of them was observed.
    """
    limit = THRESHOLDS[taxonomy] if threshold is None else threshold
    rewarding = "token_f1_published" if taxonomy == "published" else metric
    values = {name: _computed(name, episodes) for name in dict.fromkeys((metric, rewarding, *metrics))}
    for place, episode in enumerate(episodes):
        own, reward = values[metric][place], values[rewarding][place]
        more = {name: values[name][place] for name in metrics}
        shown = documents_shown(episode, (documents or {}).get(episode.question_id, ()))
        yield _record(episode, metric, own, more, reward, taxonomy, limit, right, shown)


def _computed(name: str, episodes: Sequence[Episode]) -> list[float | None]:
    """A metric of every answer, None where it failed; the one place where metrics are computed."""
    answers, golds = [episode.answer for episode in episodes], [episode.golds for episode in episodes]

    def context(place: int) -> str:
        return "\n".join(filter(None, map(evidence_text, episodes[place].steps)))

    questions = [episode.question for episode in episodes]
    scores = known_metrics.score_all(name, answers, golds, questions, context)
    return [None if math.isnan(score) else score for score in scores]


def _record(
    episode: Episode,
    metric: str,
    value: float | None,
    more: dict[str, float | None],
    reward: float | None,
    taxonomy: str,
    threshold: float,
    right: Right | None,
    shown: Sequence[str],
) -> dict[str, Any]:
    made = actions(episode.steps)
    failed = episode.outcome.kind in INFRASTRUCTURE_FAILURES
    ranked = _ranked(episode, made, right)
    recall = ranked["recall"] if ranked else None
    response = classify(episode, reward or 0.0, taxonomy, threshold, recall, metric, shown)
    cause = "unscored" if reward is None and not failed else why(episode, response, made)
    usage, seconds = episode.usage, episode.seconds
    replies = [step for step in episode.steps if step.kind == "thought"]
    return {
        "episode_id": episode.episode_id,
        "question_id": episode.question_id,
        "task": episode.task,
        "level": episode.level,
        "workflow": episode.workflow,
        "llm": episode.llm,
        "condition": episode.condition,
        "epoch": episode.epoch,
        "score": None if failed else value,
        "metric": metric,
        "metrics": dict.fromkeys(more) if failed else more,
        "response_type": response.type if reward is not None else "ME",
        "cause": cause,
        "reward": reward,
        "supported": response.supported,
        "undecided": response.undecided,
        "retrieval": None if failed else ranked or _judged(episode, response, taxonomy, right, shown),
        "unparsed": not failed and any(s.kind == "answer" and s.error == "unparsed" for s in episode.steps),
        "taxonomy": taxonomy,
        "threshold": threshold,
        "seconds": seconds.own,
        "queue": seconds.queue,
        "retry": seconds.retry,
        "calls": usage.calls,
        "api_calls": made.calls,
        "api_found": made.found,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost": usage.cost,
        "llm_seconds": max(0.0, seconds.llm - seconds.queue - seconds.retry),
        "environment_seconds": seconds.environment,
        "replayed": sum(step.replayed for step in replies),
        "truncated": sum(step.error == "length" for step in replies),
        "steps": len(episode.steps),
        "characters": None if failed else len(episode.answer),
        "outcome": episode.outcome.kind,
        "outcome_cause": episode.outcome.cause,
        "scorer_version": VERSION,
    }


def _ranked(episode: Episode, made: Actions, right: Right | None) -> Retrieval | None:
    """The metrics of retrieval where the right documents are known by their ids."""
    wanted = right.get(episode.question_id) if right else None
    return by_ids(episode.steps, wanted, made.found) if wanted else None


def _judged(
    episode: Episode, response: Response, taxonomy: str, right: Right | None, shown: Sequence[str]
) -> Retrieval | None:
    """The metrics of retrieval where the question names its evidence."""
    if right is None or not episode.evidence:
        return None
    return by_texts(episode.evidence, response.missing if taxonomy == "strict" else unseen(episode, shown))


def ensure_scored(run: RunFolder) -> None:
    """Score the cells of a run whose scores are missing, damaged, older than their episodes, or of another version of
    the scorer.

    The settings are those of the kept scores. A run that goes on is scored as far as it has come.
    """
    there = [cell for cell in run.cells() if cell.path(run.episodes_root).exists()]
    kept = next((record for cell in there if (record := _first(cell.path(run.scores_root)))), None)
    old = kept is not None and kept.get("scorer_version") != VERSION
    stale = there if old else [cell for cell in there if _stale(run, cell)]
    if stale and kept:
        score_run(run, known_metrics.of_kept_scores(kept["metrics"]), kept["taxonomy"], kept["threshold"], stale)
    elif stale:
        score_run(run, cells=stale)


def _first(path: Path) -> dict[str, Any] | None:
    """The first record of a file of scores, if there is one and nothing in the file is damaged."""
    return next((record for _, record in read_lines(path)), None) if path.exists() and sound(path) else None


def _stale(run: RunFolder, cell: Cell) -> bool:
    episodes, scores = cell.path(run.episodes_root), cell.path(run.scores_root)
    return not scores.exists() or scores.stat().st_mtime_ns < episodes.stat().st_mtime_ns or not sound(scores)


def _counted(records: Iterator[dict[str, Any]], scores: Scores) -> Iterator[dict[str, Any]]:
    for record in records:
        scores.add(record)
        yield record
