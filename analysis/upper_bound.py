"""The best of all systems by question: what choosing a system for each question could reach, and what each one adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis.systems import System, question_means, questions_of, tasks_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a system adds to the best of all.

    Attributes:
        alone: Its own mean over tasks.
        drop: How much the upper bound loses when it alone is left out.
        place: In the greedy order, from 1: the system that adds most to those before it comes next.
        reached: The upper bound of it and those before it in that order.
    """

    system: str
    alone: float
    drop: float
    place: int
    reached: float


@dataclass(frozen=True, slots=True)
class UpperBound:
    """Each question answered by the system that does best on it: what choosing by question could reach at most.

    Attributes:
        mean: Over tasks, 0 to 1.
        tasks: By task, over its questions.
        contributions: In the greedy order.
        questions: That some system has a score on; `incomplete` of them some system has none on.
    """

    condition: str
    mean: float
    tasks: dict[str, float]
    contributions: tuple[Contribution, ...]
    questions: int
    incomplete: int


def upper_bounds(systems: Sequence[System]) -> list[UpperBound]:
    """The upper bound of each condition over its ranked systems; conditions without a scored question have none."""
    found = []
    for condition in dict.fromkeys(system.condition for system in systems):
        own = [system for system in systems if system.condition == condition and not system.reference]
        bound = _upper_bound(condition, own)
        if bound is not None:
            found.append(bound)
    return found


def _upper_bound(condition: str, systems: Sequence[System]) -> UpperBound | None:
    tables, weights, tasks = [], [], {}
    for task in tasks_of(systems):
        ids = questions_of(systems, task)
        table = np.stack([question_means(system, task, ids) for system in systems], axis=1)
        table = table[~np.isnan(table).all(axis=1)]
        if len(table):
            tables.append(table)
            weights.append(np.full(len(table), 1 / len(table)))
            tasks[task] = float(np.nanmax(table, axis=1).mean())
    if not tables:
        return None
    table = np.concatenate(tables)
    weight = np.concatenate(weights) / len(tables)
    filled = np.nan_to_num(table)
    drops = _drops(filled, weight)
    contributions = tuple(
        Contribution(systems[at].name, float(weight @ filled[:, at]), drops[at], place, reached)
        for place, (at, reached) in enumerate(_greedy(filled, weight), 1)
    )
    mean = sum(tasks.values()) / len(tasks)
    return UpperBound(condition, mean, tasks, contributions, len(table), int(np.isnan(table).any(axis=1).sum()))


def _drops(table: Floats, weight: Floats) -> list[float]:
    """What the bound loses without each system: where it alone is the best, its lead over the second."""
    first = table.argmax(axis=1)
    most = table.max(axis=1)
    rest = table.copy()
    rest[np.arange(len(table)), first] = 0.0
    lead = (most - rest.max(axis=1)) * weight
    drops: list[float] = np.bincount(first, lead, table.shape[1]).tolist()
    return drops


def _greedy(table: Floats, weight: Floats) -> list[tuple[int, float]]:
    """Systems in the order in which each adds most to those before it, with the bound so far; of equals the first."""
    order: list[tuple[int, float]] = []
    left = list(range(table.shape[1]))
    so_far = np.zeros(len(table))
    while left:
        reached = weight @ np.maximum(table[:, left], so_far[:, None])
        at = left[int(np.round(reached, 12).argmax())]
        so_far = np.maximum(so_far, table[:, at])
        order.append((at, float(weight @ so_far)))
        left.remove(at)
    return order
