"""Deployment: what a system's quality costs in seconds, tokens and money, and which one to take within limits.

Quality is the mean over tasks, as in the score table. Seconds, tokens and money are an episode, over the scored ones;
`seconds` are of the episode itself, and time in a queue or before a try again stands apart. They depend on how many
requests an LLM was sent at once: the paper measured with one connection, and any other number is said. An episode with
a reply that was replayed from an earlier run is left out of the seconds, and counted; a system that has no other
episode has no latency. An unknown price is never 0: such a system is on no front of money, and within no limit of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis.columns import LATENCY
from r_eval.analysis.rows import Role
from r_eval.analysis.systems import System, question_means, questions_of, tasks_of

Floats = NDArray[np.float64]
PAPER_CONNECTIONS = 1
MEASURE = "r-eval run GRID.yaml --no-cache --fresh"
"""The command that measures latency anew."""
RESAMPLES = 2000
CHUNK = 200
"""Resamples at once: limits the memory that questions x resamples take."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of a number, over `n` scored episodes."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    n: int


@dataclass(slots=True)
class Deployed:
    """What a system reaches and takes.

    Attributes:
        quality: Mean over its tasks, 0 to 1; None where nothing was scored.
        complete: Whether it has a score on every task of its condition.
        seconds, queue, retry: Per episode, over those without a replayed reply; None where there is none.
        calls, prompt_tokens, completion_tokens, cost: Per episode; None where not known of all.
        replayed: Scored episodes with a replayed reply.
        connections: Requests that its LLM may be sent at once, by the grid; None where the grid does not say.
        parameters: Of its LLM, by the grid.
        front_seconds, front_cost: Whether no other ranked system is at least as good and as cheap, and better in one;
            None for references, for a quality of 0, where a task lacks scores, and where the cost is not known.
        notes: What has to be said beside the numbers.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    role: Role
    quality: float | None
    complete: bool
    episodes: int
    seconds: Percentiles | None
    queue: Percentiles | None
    retry: Percentiles | None
    calls: Percentiles | None
    prompt_tokens: Percentiles | None
    completion_tokens: Percentiles | None
    cost: Percentiles | None
    replayed: int = 0
    connections: int | None = None
    parameters: float | None = None
    front_seconds: bool | None = None
    front_cost: bool | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Choice:
    """The best system within limits, under one condition.

    Attributes:
        best: None where no system fits; of equals the quicker, then the cheaper.
        share: In which share of the resamples of the questions it is the best within the limits (ties share).
        rivals: The other systems that are it in some resamples, with their shares, most first.
        none_fits: In which share no system fits.
        fitting: Systems within the limits, best first.
        beyond: Systems beyond a limit, each with which.
        left_out: Systems that cannot be judged, each with why.
        questions: Distinct questions behind it.
    """

    condition: str
    best: Deployed | None
    share: float
    rivals: list[tuple[str, float]]
    none_fits: float
    fitting: list[Deployed]
    beyond: list[tuple[str, str]]
    left_out: list[tuple[str, str]]
    questions: int
    resamples: int


@dataclass(frozen=True, slots=True)
class Resampled:
    """Systems where the questions of each task are drawn again with replacement.

    Attributes:
        questions: Distinct ones to draw from.
        quality: Resamples x systems.
        numbers: The same of each number asked for, a scored episode.
    """

    questions: int
    quality: Floats
    numbers: dict[str, Floats]


def deployment(systems: Sequence[System]) -> list[Deployed]:
    """What every system reaches and takes, with the fronts of its condition."""
    found = []
    for condition in dict.fromkeys(system.condition for system in systems):
        own = [system for system in systems if system.condition == condition]
        tasks = tasks_of(own)
        made = [_deployed(system, tasks) for system in own]
        contending = [one for one in made if one.role != "reference" and one.complete and one.quality]
        for cost, mark in (("seconds", "front_seconds"), ("cost", "front_cost")):
            known = [one for one in contending if getattr(one, cost) is not None]
            points = [(getattr(one, cost).mean, one.quality or 0.0) for one in known]
            for one, on in zip(known, pareto(points), strict=True):
                setattr(one, mark, on)
        found += made
    return found


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which of some points (cost, quality) no other one dominates; equal points stand or fall together.

    Example:
        >>> pareto([(1.0, 0.5), (2.0, 0.5), (2.0, 0.9), (2.0, 0.9)])
        [True, False, True, True]
    """
    return [
        not any(c <= cost and q >= quality and (c, q) != (cost, quality) for c, q in points) for cost, quality in points
    ]


def percentiles(values: Floats) -> Percentiles | None:
    """None where there is no value, or one is not known."""
    if not len(values) or np.isnan(values).any():
        return None
    p50, p90, p95, p99 = np.percentile(values, [50, 90, 95, 99]).tolist()
    return Percentiles(float(values.mean()), p50, p90, p95, p99, len(values))


def choose(
    systems: Sequence[System],
    max_seconds: float | None = None,
    max_usd: float | None = None,
    clusters: Mapping[str, Mapping[str, str]] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Choice]:
    """The best system within limits under each condition, and how sure that is.

    The limits are on the means an episode. How sure: the questions of each task are drawn again with replacement,
    those that share a cluster together, and quality, seconds and money of every system are taken anew; whether a
    system fits is so as uncertain as how good it is.

    Args:
        max_seconds, max_usd: None sets no limit.
        clusters: By task and question what a question shares with others (`columns.clusters`).
    """
    deployed = {(one.condition, one.system): one for one in deployment(systems)}
    limits = {name: most for name, most in (("seconds", max_seconds), ("cost", max_usd)) if most is not None}
    choices = []
    for condition in dict.fromkeys(system.condition for system in systems):
        own = [system for system in systems if system.condition == condition]
        choices.append(_choice(own, deployed, limits, clusters or {}, resamples, np.random.default_rng(seed)))
    return choices


def _deployed(system: System, tasks: Sequence[str]) -> Deployed:
    means = [float(np.nanmean(c.scores)) for c in system.cells.values() if not np.isnan(c.scores).all()]
    numbers = ("seconds", "queue", "retry", "calls", "prompt_tokens", "completion_tokens", "cost")
    found = Deployed(
        *(system.condition, system.name, system.workflow, system.llm, system.role),
        quality=sum(means) / len(means) if means else None,
        complete=len(means) == len(tasks),
        episodes=sum(int((~np.isnan(cell.scores)).sum()) for cell in system.cells.values()),
        **{name: percentiles(system.scored(name)) for name in numbers},  # type: ignore[arg-type]
        replayed=int((system.scored("replayed") > 0).sum()),
        connections=_number(system.settings.get("connections"), int),
        parameters=_number(system.settings.get("parameters"), float),
    )
    if found.connections is None and system.llm != "none":
        found.notes.append(f"{system.llm}: the grid does not say at how many connections the times were taken.")
    elif found.connections not in (None, PAPER_CONNECTIONS):
        found.notes.append(
            f"{system.llm}: times were taken at {found.connections} connections; the paper's setting is "
            f"{PAPER_CONNECTIONS} connection, and a request that shares a server takes longer."
        )
    if found.replayed:
        found.notes.append(_replayed(found))
    return found


def _replayed(found: Deployed) -> str:
    if found.seconds is None:
        return f"{found.system}: no latency, since every episode has replayed replies; `{MEASURE}` measures it."
    return f"{found.system}: {found.replayed} of {found.episodes} episodes have replayed replies and no seconds."


def _number(value: Any, kind: type[Any]) -> Any:
    try:
        return kind(value) if value is not None else None
    except (TypeError, ValueError):
        return None


def _choice(
    systems: Sequence[System],
    deployed: Mapping[tuple[str, str], Deployed],
    limits: Mapping[str, float],
    clusters: Mapping[str, Mapping[str, str]],
    resamples: int,
    rng: np.random.Generator,
) -> Choice:
    condition = systems[0].condition
    judged, left_out = [], []
    for system in systems:
        why = _unjudged(deployed[condition, system.name], limits)
        if why:
            left_out.append((system.name, why))
        else:
            judged.append(system)
    ends = [deployed[condition, system.name] for system in judged]
    fitting = [one for one in ends if not _beyond(one, limits)]
    fitting.sort(key=lambda one: (-round(one.quality or 0.0, 12), *(_mean(one, name) for name in ("seconds", "cost"))))
    beyond = [(one.system, why) for one in ends if (why := _beyond(one, limits))]
    questions, shares = _shares(judged, limits, clusters, resamples, rng)
    by_name = {one.system: share for one, share in zip(ends, shares, strict=True)}
    best = fitting[0] if fitting else None
    others = [(name, share) for name, share in by_name.items() if share and (best is None or name != best.system)]
    return Choice(
        condition,
        best,
        by_name[best.system] if best is not None else 0.0,
        sorted(others, key=lambda pair: -pair[1]),
        max(0.0, 1.0 - sum(by_name.values())),
        *(fitting, beyond, left_out, questions, resamples),
    )


def _mean(one: Deployed, name: str) -> float:
    found = getattr(one, name)
    return found.mean if found is not None else float("inf")


def _unjudged(one: Deployed, limits: Mapping[str, float]) -> str:
    if one.role == "reference":
        return "a reference, not ranked"
    if one.quality is None:
        return "nothing was scored"
    if not one.complete:
        return "it lacks scores on some of the tasks"
    unknown = [name for name in limits if getattr(one, name) is None]
    if "cost" in unknown:
        return "its price is not known"
    if unknown and one.replayed:
        return f"all its replies were replayed, so it has no latency: {MEASURE}"
    return "its seconds are not known" if unknown else ""


def _beyond(one: Deployed, limits: Mapping[str, float]) -> str:
    units = {"seconds": "s", "cost": "USD"}
    over = [f"{_mean(one, name):.4g} {units[name]}" for name, most in limits.items() if _mean(one, name) > most]
    return ", ".join(over)


def _shares(
    systems: Sequence[System],
    limits: Mapping[str, float],
    clusters: Mapping[str, Mapping[str, str]],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[int, list[float]]:
    """Distinct questions, and in which share of the resamples each system is the best within the limits."""
    if not systems:
        return 0, []
    found = resampled(systems, list(limits), clusters, resamples, rng)
    fits = np.ones(found.quality.shape, bool)
    for name, limit in limits.items():
        fits &= found.numbers[name] <= limit
    quality = np.where(fits, found.quality, -1.0)
    most = quality.max(axis=1, keepdims=True)
    best = (np.abs(quality - most) < 1e-12) & fits
    wins = (best / np.maximum(best.sum(axis=1, keepdims=True), 1)).sum(axis=0)
    return found.questions, (wins / resamples).tolist()


def resampled(
    systems: Sequence[System],
    names: Sequence[str],
    clusters: Mapping[str, Mapping[str, str]],
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Resampled:
    """What some systems reach and take where their questions are drawn again.

    Args:
        systems: At least one, each with scores on every task.
        names: Of the columns' numbers; a cost that is not known of all of a system's episodes is NaN in every resample.
        rng: A new one of seed 0 where it is left out; then the draws are those of `choose`.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    parts = [_Task(systems, task, list(names), clusters.get(task, {})) for task in tasks_of(systems)]
    blocks: list[list[Floats]] = []
    for start in range(0, resamples, CHUNK):
        drawn = [part.draw(min(CHUNK, resamples - start), rng) for part in parts]
        numbers = []
        for place in range(len(names)):
            total, count = (sum(own[place][at] for _, own in drawn) for at in (0, 1))
            numbers.append(np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0))
        blocks.append([sum(quality for quality, _ in drawn) / len(parts), *numbers])
    quality, *rest = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Resampled(sum(part.questions for part in parts), quality, dict(zip(names, rest, strict=True)))


class _Task:
    """A task's questions, ready to be drawn from: sums by cluster, so that a draw is one product."""

    def __init__(self, systems: Sequence[System], task: str, numbers: list[str], clusters: Mapping[str, str]) -> None:
        ids = questions_of(systems, task)
        names = [clusters.get(question, question) for question in ids]
        place = {name: number for number, name in enumerate(dict.fromkeys(names))}
        at = np.array([place[name] for name in names], np.int64)
        scores, *values = (
            np.stack([question_means(s, task, ids, name) for s in systems], axis=1) for name in (None, *numbers)
        )
        scored = ~np.isnan(scores)
        self.questions = len(ids)
        self.scores, self.scored = (_summed(part, at) for part in (np.where(scored, scores, 0.0), scored))
        self.mean = self.scores.sum(axis=0) / self.scored.sum(axis=0)
        self.numbers = []
        for name, part in zip(numbers, values, strict=True):
            known = scored & ~np.isnan(part) if name in LATENCY else scored  # an unknown price makes its column NaN
            self.numbers.append((_summed(np.where(known, part, 0.0), at), _summed(known, at)))

    def draw(self, resamples: int, rng: np.random.Generator) -> tuple[Any, list[tuple[Any, Any]]]:
        """Of resamples x systems, the mean scores; then the sum of each number and how many questions it is of."""
        size = len(self.scored)
        weights = rng.multinomial(size, np.full(size, 1 / size), resamples).astype(float)
        counts = weights @ self.scored
        quality = np.where(counts > 0, weights @ self.scores / np.maximum(counts, 1), self.mean)
        return quality, [(weights @ total, weights @ known) for total, known in self.numbers]


def _summed(values: NDArray[Any], at: NDArray[np.int64]) -> Floats:
    """Rows added up by the place that each belongs to."""
    sums = np.zeros((int(at.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, at, values.astype(np.float64))
    return sums
