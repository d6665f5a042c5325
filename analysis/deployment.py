"""Deployment: what a system's quality costs in seconds, tokens and money, and which one to take within bounds.

Quality is the mean over tasks, as in the score table. Seconds, tokens and money are an episode, over the scored ones;
`seconds` are of the episode itself, and time in a queue or before a try again stands apart. They depend on how many
requests an LLM was sent at once: the paper measured with one connection, and any other number is said. An unknown
price is never 0: such a system is on no front of money, and within no bound of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis.systems import System, question_means, questions_of, tasks_of

Floats = NDArray[np.float64]
PAPER_CONNECTIONS = 1
RESAMPLES = 2000
CHUNK = 200
"""Resamples at once: bounds the memory that questions x resamples take."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of a number that is known for every scored episode."""

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
        seconds, queue, retry, calls, prompt_tokens, completion_tokens, cost: An episode; None where not known of all.
        connections: Requests that its LLM may be sent at once, by the grid; None where the grid does not say.
        parameters: Of its LLM, by the grid.
        front_seconds, front_cost: Whether no other contender is at least as good and as cheap, and better in one; None
            for bounds, where a task lacks scores, and where the cost is not known.
        notes: What has to be said beside the numbers.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    bound: bool
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
    connections: int | None = None
    parameters: float | None = None
    front_seconds: bool | None = None
    front_cost: bool | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Choice:
    """The best system within bounds, under one condition.

    Attributes:
        best: None where no system fits; of equals the quicker, then the cheaper.
        share: In which share of the resamples of the questions it is the best within the bounds (ties share).
        rivals: The other systems that are it in some resamples, with their shares, most first.
        none_fits: In which share no system fits.
        fitting: Systems within the bounds, best first.
        beyond: Systems beyond a bound, each with which.
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
        contending = [one for one in made if not one.bound and one.complete and one.quality is not None]
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
    """The best system within bounds under each condition, and how sure that is.

    The bounds are on the means an episode. How sure: the questions of each task are drawn again with replacement,
    those that share a cluster together, and quality, seconds and money of every system are taken anew; whether a
    system fits is so as uncertain as how good it is.

    Args:
        max_seconds, max_usd: None sets no bound.
        clusters: By task and question what a question shares with others (`columns.clusters`).
    """
    deployed = {(one.condition, one.system): one for one in deployment(systems)}
    bounds = {"seconds": max_seconds, "cost": max_usd}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    choices = []
    for condition in dict.fromkeys(system.condition for system in systems):
        own = [system for system in systems if system.condition == condition]
        choices.append(_choice(own, deployed, given, clusters or {}, resamples, np.random.default_rng(seed)))
    return choices


def _deployed(system: System, tasks: Sequence[str]) -> Deployed:
    means = [float(np.nanmean(c.scores)) for c in system.cells.values() if not np.isnan(c.scores).all()]
    numbers = ("seconds", "queue", "retry", "calls", "prompt_tokens", "completion_tokens", "cost")
    found = Deployed(
        *(system.condition, system.name, system.workflow, system.llm, system.bound),
        quality=sum(means) / len(means) if means else None,
        complete=len(means) == len(tasks),
        episodes=sum(int((~np.isnan(cell.scores)).sum()) for cell in system.cells.values()),
        **{name: percentiles(system.scored(name)) for name in numbers},  # type: ignore[arg-type]
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
    return found


def _number(value: Any, kind: type[Any]) -> Any:
    try:
        return kind(value) if value is not None else None
    except (TypeError, ValueError):
        return None


def _choice(
    systems: Sequence[System],
    deployed: Mapping[tuple[str, str], Deployed],
    bounds: Mapping[str, float],
    clusters: Mapping[str, Mapping[str, str]],
    resamples: int,
    rng: np.random.Generator,
) -> Choice:
    condition = systems[0].condition
    judged, left_out = [], []
    for system in systems:
        why = _unjudged(deployed[condition, system.name], bounds)
        if why:
            left_out.append((system.name, why))
        else:
            judged.append(system)
    ends = [deployed[condition, system.name] for system in judged]
    fitting = [one for one in ends if not _beyond(one, bounds)]
    fitting.sort(key=lambda one: (-round(one.quality or 0.0, 12), *(_mean(one, name) for name in ("seconds", "cost"))))
    beyond = [(one.system, why) for one in ends if (why := _beyond(one, bounds))]
    questions, shares = _shares(judged, bounds, clusters, resamples, rng)
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


def _unjudged(one: Deployed, bounds: Mapping[str, float]) -> str:
    if one.bound:
        return "a bound, not a contender"
    if one.quality is None:
        return "nothing was scored"
    if not one.complete:
        return "it lacks scores on some of the tasks"
    unknown = [name for name in bounds if getattr(one, name) is None]
    if "cost" in unknown:
        return "its price is not known"
    return "its seconds are not known" if unknown else ""


def _beyond(one: Deployed, bounds: Mapping[str, float]) -> str:
    units = {"seconds": "s", "cost": "USD"}
    over = [f"{_mean(one, name):.4g} {units[name]}" for name, bound in bounds.items() if _mean(one, name) > bound]
    return ", ".join(over)


def _shares(
    systems: Sequence[System],
    bounds: Mapping[str, float],
    clusters: Mapping[str, Mapping[str, str]],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[int, list[float]]:
    """Distinct questions, and in which share of the resamples each system is the best within the bounds."""
    if not systems:
        return 0, []
    found = resampled(systems, list(bounds), clusters, resamples, rng)
    fits = np.ones(found.quality.shape, bool)
    for name, bound in bounds.items():
        fits &= found.numbers[name] <= bound
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
        names: Of the columns' numbers; one that is not known of all of a system's episodes is NaN in every resample.
        rng: A new one of seed 0 where it is left out; then the draws are those of `choose`.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    parts = [_Task(systems, task, list(names), clusters.get(task, {})) for task in tasks_of(systems)]
    blocks: list[list[Floats]] = []
    for start in range(0, resamples, CHUNK):
        drawn = [part.draw(min(CHUNK, resamples - start), rng) for part in parts]
        counts = sum(count for _, count in drawn)
        numbers = [
            sum(means[place] * count for means, count in drawn) / np.maximum(counts, 1)
            for place in range(1, len(names) + 1)
        ]
        blocks.append([sum(means[0] for means, _ in drawn) / len(parts), *numbers])
    quality, *rest = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Resampled(sum(part.questions for part in parts), quality, dict(zip(names, rest, strict=True)))


class _Task:
    """A task's questions, ready to be drawn from: sums by cluster, so that a draw is one product."""

    def __init__(self, systems: Sequence[System], task: str, numbers: list[str], clusters: Mapping[str, str]) -> None:
        ids = questions_of(systems, task)
        names = [clusters.get(question, question) for question in ids]
        place = {name: number for number, name in enumerate(dict.fromkeys(names))}
        at = np.array([place[name] for name in names], np.int64)
        values = [np.stack([question_means(s, task, ids, name) for s in systems], axis=1) for name in (None, *numbers)]
        known = ~np.isnan(values[0])
        filled = (np.where(known, part, 0.0) for part in values)  # a price that is not known makes its column NaN
        self.known, *self.sums = (_summed(part, at) for part in (known, *filled))
        self.questions = len(ids)
        self.means = [part.sum(axis=0) / self.known.sum(axis=0) for part in self.sums]

    def draw(self, resamples: int, rng: np.random.Generator) -> tuple[list[Any], Any]:
        """Means of resamples x systems (scores, then each number), and how many questions stand behind them."""
        size = len(self.known)
        weights = rng.multinomial(size, np.full(size, 1 / size), resamples).astype(float)
        counts = weights @ self.known
        filled = np.maximum(counts, 1)
        means = [
            np.where(counts > 0, weights @ part / filled, mean)
            for part, mean in zip(self.sums, self.means, strict=True)
        ]
        return means, counts


def _summed(values: NDArray[Any], at: NDArray[np.int64]) -> Floats:
    """Rows added up by the place that each belongs to."""
    sums = np.zeros((int(at.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(sums, at, values.astype(np.float64))
    return sums
