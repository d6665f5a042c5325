"""Scores: what each episode's answer is worth and which type of response it is, kept next to the episodes.

A line of `scores/<system>/<condition>/<task>.jsonl` belongs to the episode with the same `episode_id`. Scoring reads
episodes and writes scores, so it can be repeated at any time with another metric, taxonomy or threshold; the last
scores replace earlier ones. Scores are current (`is_current`) as long as the scorer, the task's metric and the bytes of
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

import hashlib
import itertools
import math
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.analysis import metrics as registry
from r_eval.analysis.causes import actions, why
from r_eval.analysis.frame import roles
from r_eval.analysis.qrels import Relevant, by_ids, by_texts, text_ids
from r_eval.analysis.response_types import THRESHOLDS, ResponseType, classify, documents_shown, evidence_text, unseen
from r_eval.disk import open_regular, refuse_links
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder, whole_lines
from r_eval.records import INFRASTRUCTURE_FAILURES, Document, Episode

DEFAULT_METRIC = "token_f1"
BATCH = 512
"""Episodes in memory at a time."""
VERSION = 4
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
        queue_seconds, retry_seconds: Waiting and failed attempts, not in `seconds`.
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
    cause: str
    reward: _Number
    supported: bool
    undecided: bool
    retrieval: dict[str, _Number] | None
    unparsed: bool
    taxonomy: str
    threshold: float
    seconds: _Number
    llm_seconds: _Number
    environment_seconds: _Number
    queue_seconds: _Number
    retry_seconds: _Number
    calls: _Whole
    prompt_tokens: _Whole
    completion_tokens: _Whole
    cached_tokens: _Whole
    cost: _Number
    api_calls: _Whole
    api_found: _Whole
    replayed: _Whole
    truncated: _Whole
    steps: _Whole
    characters: _Number
    outcome: str
    outcome_cause: str
    scorer_version: int
    metric_version: int
    episodes_hash: str


@dataclass(frozen=True, slots=True)
class Scorer:
    """How the episodes of one task are scored.

    Under the published taxonomy the response type rests on `token_f1_published`, whatever the task's metric is.

    Attributes:
        metric: The task's own; `metrics` are further ones.
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
            values = {name: _compute(name, batch) for name in dict.fromkeys((self.metric, rewarding, *self.metrics))}
            version = registry.get_trusted(self.metric).version
            for place, episode in enumerate(batch):
                scores = {name: found[place] for name, found in values.items()}
                yield self._record(episode, scores, scores[rewarding], version)

    def _record(
        self, episode: Episode, scores: dict[str, float | None], reward: float | None, version: int
    ) -> dict[str, Any]:
        threshold = THRESHOLDS[self.taxonomy] if self.threshold is None else self.threshold
        is_missing = episode.outcome.kind in INFRASTRUCTURE_FAILURES
        made = actions(episode.steps)
        prompted = documents_shown(episode, self.documents.get(episode.question_id, ()))
        wanted = self.relevant.get(episode.question_id) if self.relevant else None
        retrieval = by_ids(episode.steps, wanted, made.found) if wanted else None
        recall = retrieval["recall"] if retrieval else None
        response = classify(episode, reward or 0.0, self.taxonomy, threshold, recall, self.metric, prompted)
        if retrieval is None and self.relevant is not None and episode.evidence:
            missing = response.missing if self.taxonomy == "strict" else unseen(episode, prompted)
            retrieval = by_texts(episode.evidence, missing)
        usage, seconds = episode.usage, episode.seconds
        replies = [step for step in episode.steps if step.kind == "thought"]
        if is_missing:
            scores, retrieval = dict.fromkeys(scores), None
        return {
            **{name: getattr(episode, name) for name in ("episode_id", "question_id", "task", "level", "workflow")},
            **{name: getattr(episode, name) for name in ("llm", "condition", "epoch")},
            "score": scores[self.metric],
            "metric": self.metric,
            "metrics": {name: scores[name] for name in self.metrics},
            "response_type": response.type if reward is not None else "ME",
            "cause": "unscored" if reward is None and not is_missing else why(episode, response, made),
            "reward": reward,
            "supported": response.supported,
            "undecided": response.undecided,
            "retrieval": retrieval,
            "unparsed": not is_missing and any(s.kind == "answer" and s.error == "unparsed" for s in episode.steps),
            "taxonomy": self.taxonomy,
            "threshold": threshold,
            "seconds": seconds.own,
            "llm_seconds": max(0.0, seconds.llm - seconds.queue - seconds.retry),
            "environment_seconds": seconds.environment,
            "queue_seconds": seconds.queue,
            "retry_seconds": seconds.retry,
            **{name: getattr(usage, name) for name in ("calls", "prompt_tokens", "completion_tokens")},
            **{name: getattr(usage, name) for name in ("cached_tokens", "cost")},
            "api_calls": made.calls,
            "api_found": made.found,
            "replayed": sum(step.replayed for step in replies),
            "truncated": sum(step.error == "length" for step in replies),
            "steps": len(episode.steps),
            "characters": None if is_missing else len(episode.answer),
            "outcome": episode.outcome.kind,
            "outcome_cause": episode.outcome.cause,
            "scorer_version": VERSION,
            "metric_version": version,
            "episodes_hash": self.episodes_hash,
        }


def score_run(
    run: RunFolder,
    metrics: Sequence[str] = (),
    taxonomy: str = "strict",
    threshold: float | None = None,
    cells: Sequence[Cell] | None = None,
) -> None:
    """Score every recorded episode of a run and keep the scores in its folder, a cell at a time.

    Args:
        metrics: Further metrics, next to each task's own.
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
    there = sorted(run.cells() if cells is None else cells, key=lambda one: one.task)
    for task, of_task in itertools.groupby(there, key=lambda one: one.task):
        questions = list(run.questions(task))
        relevant = {question.id: ids for question in questions if (ids := text_ids(question))}
        documents = {question.id: question.context for question in questions if question.context}
        for cell in of_task:
            episodes, scores = cell.path(run.episodes_root), cell.path(run.scores_root)
            if not episodes.exists():
                refuse_links(scores)
                scores.unlink(missing_ok=True)
                continue
            known = relevant if role[cell.system] == "system" else None
            hash_ = hash_file(episodes)  # before they are read: of a run that goes on, more is read, and scored again
            scorer = Scorer(own.get(task, DEFAULT_METRIC), metrics, taxonomy, threshold, known, documents, hash_)
            run.write_scores(cell, scorer.records(run.cell_episodes(cell)))


def score_episode(
    episode: Episode,
    metric: str = DEFAULT_METRIC,
    metrics: Sequence[str] = (),
    taxonomy: str = "strict",
    relevant: Relevant | None = None,
) -> dict[str, Any]:
    """The score record of one episode, as a line of `scores/` has it; the arguments are those of `Scorer`."""
    return next(Scorer(metric, metrics, taxonomy, relevant=relevant).records([episode]))


def ensure_scored(run: RunFolder) -> None:
    """Score the cells of a run whose scores are not current, with the settings of the kept ones.

    A run that goes on is scored as far as it has come.
    """
    there = [cell for cell in run.cells() if cell.path(run.episodes_root).exists()]
    if stale := [cell for cell in there if not is_current(run, cell)]:
        first = next(filter(None, (_stored(cell.path(run.scores_root)) for cell in there)), None)
        metrics = registry.filter_trusted(first.metrics) if first else []
        score_to_read(run, metrics, first.taxonomy if first else "strict", first.threshold if first else None, stale)


def score_to_read(run: RunFolder, *settings: Any) -> None:
    """`score_run` for a reader: what a folder does not take (it may be another user's, or full) lies in a temporary one
    as long as the object is in use.
    """
    try:
        score_run(run, *settings)
    except OSError:
        run.scores_root = Path(tempfile.mkdtemp(prefix="r-eval-scores-"))
        weakref.finalize(run, shutil.rmtree, run.scores_root, ignore_errors=True)
        score_run(run, *settings[:3])


def is_current(run: RunFolder, cell: Cell) -> bool:
    """Whether the kept scores of a cell are what scoring it again would give."""
    first = _stored(cell.path(run.scores_root))
    if (
        first is None
        or first.scorer_version != VERSION
        or first.episodes_hash != hash_file(cell.path(run.episodes_root))
    ):
        return False
    try:
        return registry.get_trusted(first.metric).version == first.metric_version
    except UserError:  # a plug-in that is not here: its scores are shown as they are
        return True


def hash_file(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal.

    Raises:
        UserError: It cannot be read.
    """
    digest = hashlib.blake2b(digest_size=8)
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _stored(path: Path) -> ScoreRecord | None:
    """The first record of a file of scores; None where there is none, and where any line is damaged or foreign."""
    if not path.exists():
        return None
    first, size = None, 0
    try:
        for _, line in whole_lines(path):
            record = ScoreRecord.model_validate_json(line)
            first, size = first or record, size + len(line)
    except ValidationError:
        return None
    return first if size == path.stat().st_size else None


def _compute(name: str, episodes: Sequence[Episode]) -> list[float | None]:
    """A metric of every answer, None where it failed."""
    scores = registry.get(name).scores(
        [episode.answer for episode in episodes],
        [episode.golds for episode in episodes],
        [episode.question for episode in episodes],
        lambda place: "\n".join(filter(None, map(evidence_text, episodes[place].steps))),
        [episode.episode_id for episode in episodes],
    )
    return [None if math.isnan(score) else score for score in scores]
