"""Scores: what each episode's answer is worth and which type of response it is, kept beside the episodes.

A line of `scores/<system>/<condition>/<task>.jsonl` belongs to the episode with the same `episode_id`. Scoring reads
episodes and writes scores, so it can be repeated at any time with another metric, taxonomy or threshold; the last one
asked for is what is kept. Scores are current (`is_current`) as long as the scorer, the task's metric and the bytes of
the episodes' file are those that the records name; times of files say nothing.

An infrastructure failure (`tool_failure`, `llm_failure`, `cancelled`) has no score (null), and leaves the cell
incomplete; everything else has one, and a missing answer is worth 0. Where the metric itself failed, such as a judge
that could not be reached, there is no score either and the type is ME, whatever the answer was.

Besides what is counted of an episode, a record has what the response type rests on (`reward`, `supported`, `outcome`,
`outcome_cause`), so that types under other thresholds need no episodes, and what the error analysis needs: the cause
below the type (`cause`), how many query API calls were made and found something, and what they found of what is
relevant (`retrieval`).
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.analysis import metrics as registry
from r_eval.analysis.causes import actions, why
from r_eval.analysis.frame import roles
from r_eval.analysis.qrels import Qrels, Relevant, Retrieval, by_ids, by_texts
from r_eval.analysis.response_types import (
    THRESHOLDS,
    Response,
    ResponseType,
    classify,
    documents_shown,
    evidence_text,
    unseen,
)
from r_eval.disk import open_regular, refuse_links
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder, read_lines, whole_lines
from r_eval.records import INFRASTRUCTURE_FAILURES, Document, Episode

DEFAULT_METRIC = "token_f1"
BATCH = 512
"""Episodes in memory at a time."""
BLOCK = 1 << 20
VERSION = 3
"""Of the scorer: a change of types, causes or the score records raises it, and all scores are computed again."""

QuestionDocuments = Mapping[str, Sequence[Document]]
"""By question id, the documents that come with a question."""
_Number = Annotated[float, Field(ge=-1e15, le=1e15)] | None
_Whole = Annotated[int, Field(ge=0, le=10**15)]


class ScoreRecord(BaseModel):
    """A line of `scores/`: what the answer of one episode is worth.

    Attributes:
        episode_id, question_id, task, level, workflow, llm, condition, epoch: The episode.
        score, metric: From 0 to 1 by the task's metric; null for an infrastructure failure.
        metrics: Scores by further metrics.
        response_type, taxonomy: EM, AM, GE, RE, ME or TE, and by which rule.
        threshold: The score from which an answer matches.
        cause: Of the failure; "" if the answer matches.
        reward: The score behind the response type.
        supported, undecided: Whether the evidence holds the gold; whether that cannot be decided.
        retrieval: `recall`, `hit_rate`, `precision`, `mrr`, `ndcg`, also at fixed k (`recall@5`); null if the relevant
            documents are unknown, and for baselines, references and infrastructure failures.
        unparsed: No answer could be read.
        outcome, outcome_cause: How the episode ended.
        seconds, llm_seconds, environment_seconds: Duration, and its parts in the LLM and in query APIs.
        queue, retry: Seconds of waiting and of failed attempts, not in `seconds`.
        calls, prompt_tokens, completion_tokens, cached_tokens, cost: LLM usage.
        replayed, truncated, steps: Replies from the reply store; replies cut at max_tokens; steps.
        characters: Length of the answer.
        api_calls, api_found: Query API calls; those that returned something.
        scorer_version, metric_version, episodes_hash: Outdated scores are computed again.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    episode_id: str
    question_id: str
    task: str
    level: str
    workflow: str
    llm: str
    condition: str
    epoch: Annotated[int, Field(ge=0, le=10**9)]
    score: _Number
    metric: str
    metrics: dict[str, _Number]
    response_type: ResponseType
    cause: str = ""
    reward: _Number = None
    supported: bool | None = None
    undecided: bool
    retrieval: dict[str, _Number] | None = None
    unparsed: bool
    taxonomy: str
    threshold: float
    seconds: _Number
    queue: _Number = None
    retry: _Number = None
    calls: _Whole
    api_calls: _Number = None
    api_found: _Number = None
    prompt_tokens: _Whole
    completion_tokens: _Whole
    cached_tokens: _Whole = 0
    cost: _Number = None
    llm_seconds: _Number = None
    environment_seconds: _Number = None
    replayed: _Whole = 0
    truncated: _Whole = 0
    steps: _Whole = 0
    characters: _Number = None
    outcome: str
    outcome_cause: str = ""
    scorer_version: int = 0
    metric_version: int = 0
    episodes_hash: str = ""


@dataclass(slots=True)
class ScoreCounts:
    """What one scoring found, in counts; the scores themselves are in the run folder.

    Attributes:
        episodes: Episodes recorded.
        scored: Those of them with a score; the others are infrastructure failures.
        mean: Over the scored episodes, not over tasks.
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

    def counted(self, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The score records, each counted as it passes."""
        for record in records:
            self.episodes += 1
            self.undecided += record["undecided"]
            self.unparsed += record["unparsed"]
            self.types[record["response_type"]] = self.types.get(record["response_type"], 0) + 1
            if record["score"] is not None:
                self.scored += 1
                self.total += record["score"]
            yield record


@dataclass(frozen=True, slots=True)
class Scorer:
    """How the episodes of one task are scored.

    Under the published taxonomy the response type rests on `token_f1_published`, whatever the task's metric is.

    Attributes:
        metric: The task's own; `metrics` are computed besides.
        threshold: From which score on an answer matches; None takes the taxonomy's own.
        relevant: The relevant documents of the questions; None for baselines and references, which make no search of
            their own: their retrieval is not scored.
        documents: Those that come with the questions; what a prompt held of them was observed.
        episodes_hash: Of the file that the episodes are from, as `hash_file` gives it.
    """

    metric: str = DEFAULT_METRIC
    metrics: Sequence[str] = ()
    taxonomy: str = "strict"
    threshold: float | None = None
    relevant: Relevant | None = None
    documents: QuestionDocuments = field(default_factory=dict)
    episodes_hash: str = ""

    def records(self, episodes: Iterable[Episode]) -> Iterator[dict[str, Any]]:
        """The score records of episodes, BATCH at a time.

        Raises:
            UserError: A metric is unknown, cannot run here, or gave a number outside its range.
        """
        rewarding = "token_f1_published" if self.taxonomy == "published" else self.metric
        rest = iter(episodes)
        while batch := list(itertools.islice(rest, BATCH)):
            names = dict.fromkeys((self.metric, rewarding, *self.metrics))
            values = {name: _compute(name, batch) for name in names}
            for place, episode in enumerate(batch):
                scores = {name: values[name][place] for name in names}
                yield self._record(episode, scores, scores[rewarding])

    def _record(self, episode: Episode, scores: dict[str, float | None], reward: float | None) -> dict[str, Any]:
        threshold = THRESHOLDS[self.taxonomy] if self.threshold is None else self.threshold
        made = actions(episode.steps)
        is_missing = episode.outcome.kind in INFRASTRUCTURE_FAILURES
        prompted = documents_shown(episode, self.documents.get(episode.question_id, ()))
        wanted = self.relevant.get(episode.question_id) if self.relevant else None
        ranked = by_ids(episode.steps, wanted, made.found) if wanted else None
        recall = ranked["recall"] if ranked else None
        response = classify(episode, reward or 0.0, self.taxonomy, threshold, recall, self.metric, prompted)
        usage, seconds = episode.usage, episode.seconds
        replies = [step for step in episode.steps if step.kind == "thought"]
        further = {name: None if is_missing else scores[name] for name in self.metrics}
        return {
            "episode_id": episode.episode_id,
            "question_id": episode.question_id,
            "task": episode.task,
            "level": episode.level,
            "workflow": episode.workflow,
            "llm": episode.llm,
            "condition": episode.condition,
            "epoch": episode.epoch,
            "score": None if is_missing else scores[self.metric],
            "metric": self.metric,
            "metrics": further,
            "response_type": response.type if reward is not None else "ME",
            "cause": "unscored" if reward is None and not is_missing else why(episode, response, made),
            "reward": reward,
            "supported": response.supported,
            "undecided": response.undecided,
            "retrieval": None if is_missing else ranked or self._by_evidence(episode, response, prompted),
            "unparsed": not is_missing and any(s.kind == "answer" and s.error == "unparsed" for s in episode.steps),
            "taxonomy": self.taxonomy,
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
            "characters": None if is_missing else len(episode.answer),
            "outcome": episode.outcome.kind,
            "outcome_cause": episode.outcome.cause,
            "scorer_version": VERSION,
            "metric_version": registry.get_trusted(self.metric).version,
            "episodes_hash": self.episodes_hash,
        }

    def _by_evidence(self, episode: Episode, response: Response, prompted: Sequence[str]) -> Retrieval | None:
        """The metrics of retrieval where the question names its evidence."""
        if self.relevant is None or not episode.evidence:
            return None
        missing = response.missing if self.taxonomy == "strict" else unseen(episode, prompted)
        return by_texts(episode.evidence, missing)


def score_run(
    run: RunFolder,
    metrics: Sequence[str] = (),
    taxonomy: str = "strict",
    threshold: float | None = None,
    cells: Sequence[Cell] | None = None,
) -> ScoreCounts:
    """Score every recorded episode of a run and keep the scores in its folder, a cell at a time.

    Args:
        metrics: More metrics to compute beside each task's own.
        taxonomy: "strict", "paper" or "published"; see `response_types`.
        threshold: From which score on an answer matches; None takes the taxonomy's own.
        cells: Which ones; None takes all.

    Raises:
        UserError: A metric or the taxonomy is unknown, a metric gave a number outside its range, or a link is in the
            way. Nothing has been written then for the cell at fault.
    """
    manifest = run.manifest()
    own = {task["name"]: task.get("metric") or DEFAULT_METRIC for task in manifest["tasks"]}
    role = roles(manifest)
    for name in metrics:
        registry.get(name)
    for name in dict.fromkeys(own.values()):
        registry.get_trusted(name)
    if taxonomy not in THRESHOLDS:
        raise UserError(f"unknown taxonomy {taxonomy!r}; known: {', '.join(THRESHOLDS)}")
    scores = ScoreCounts(taxonomy, THRESHOLDS[taxonomy] if threshold is None else threshold)
    qrels = Qrels(run)
    documents: dict[str, QuestionDocuments] = {}
    for cell in sorted(run.cells() if cells is None else cells, key=lambda one: one.task):  # questions are read once
        episodes, kept = cell.path(run.episodes_root), cell.path(run.scores_root)
        if not episodes.exists():
            refuse_links(kept)
            kept.unlink(missing_ok=True)
            continue
        if cell.task not in documents:
            documents[cell.task] = {q.id: q.context for q in run.questions(cell.task) if q.context}
        scorer = Scorer(
            own.get(cell.task, DEFAULT_METRIC),
            metrics,
            taxonomy,
            threshold,
            qrels.of(cell.task) if role[cell.system] == "system" else None,
            documents[cell.task],
            hash_file(episodes),  # before they are read: of a run that goes on, more is read, and scored again
        )
        run.write_scores(cell, scores.counted(scorer.records(run.cell_episodes(cell))))
    return scores


def score_episode(
    episode: Episode,
    metric: str = DEFAULT_METRIC,
    metrics: Sequence[str] = (),
    taxonomy: str = "strict",
    threshold: float | None = None,
    relevant: Relevant | None = None,
    documents: QuestionDocuments | None = None,
) -> dict[str, Any]:
    """The score record of one episode, as a line of `scores/` has it; the arguments are those of `Scorer`."""
    return next(Scorer(metric, metrics, taxonomy, threshold, relevant, documents or {}).records([episode]))


def ensure_scored(run: RunFolder) -> None:
    """Score the cells of a run whose scores are not current, with the settings of the kept ones.

    A run that goes on is scored as far as it has come.
    """
    there = [cell for cell in run.cells() if cell.path(run.episodes_root).exists()]
    stale = [cell for cell in there if not is_current(run, cell)]
    kept = next((record for cell in there if (record := _first(cell.path(run.scores_root)))), None) if stale else None
    if stale and kept:
        score_run(run, registry.filter_trusted(kept["metrics"]), kept["taxonomy"], kept["threshold"], stale)
    elif stale:
        score_run(run, cells=stale)


def is_current(run: RunFolder, cell: Cell) -> bool:
    """Whether the kept scores of a cell are what scoring it again would give."""
    kept = _first(cell.path(run.scores_root))
    if kept is None or kept.get("scorer_version") != VERSION:
        return False
    try:
        metric = registry.get_trusted(kept["metric"])
    except UserError:  # a plug-in that is not here: its scores are shown as they are
        metric = None
    if metric is not None and kept.get("metric_version") != metric.version:
        return False
    return bool(kept.get("episodes_hash") == hash_file(cell.path(run.episodes_root)))


def hash_file(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal; computed once per process, until the file changes.

    Raises:
        UserError: It cannot be read.
    """
    return _hash(*_version(path))


def _version(path: Path) -> tuple[Path, int, int, int]:
    """What changes with a file. The inode's change time is no file's own time: copying and touching do not set it."""
    found = path.stat()
    return path, found.st_ctime_ns, found.st_size, found.st_ino


@functools.lru_cache(maxsize=100_000)
def _hash(path: Path, changed: int, size: int, inode: int) -> str:
    digest = hashlib.blake2b(digest_size=8)
    with open_regular(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _first(path: Path) -> dict[str, Any] | None:
    """The first record of a file of scores, if there is one and nothing in the file is damaged or foreign."""
    is_valid = path.exists() and _is_valid(*_version(path))
    return next((record for _, record in read_lines(path)), None) if is_valid else None


@functools.lru_cache(maxsize=100_000)
def _is_valid(path: Path, changed: int, size: int, inode: int) -> bool:
    try:
        lines = [line for _, line in whole_lines(path)]
        for line in lines:
            ScoreRecord.model_validate_json(line)
    except ValidationError:
        return False
    return sum(map(len, lines)) == size


def _compute(name: str, episodes: Sequence[Episode]) -> list[float | None]:
    """A metric of every answer, None where it failed."""

    def context(place: int) -> str:
        return "\n".join(filter(None, map(evidence_text, episodes[place].steps)))

    scores = registry.get(name).scores(
        [episode.answer for episode in episodes],
        [episode.golds for episode in episodes],
        [episode.question for episode in episodes],
        context,
        [episode.episode_id for episode in episodes],
    )
    return [None if math.isnan(score) else score for score in scores]
