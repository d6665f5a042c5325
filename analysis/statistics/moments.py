"""Means and their variances, from scores of questions that come in clusters within tasks.

The kernel of every interval here: arrays in, arrays out, a column for each system (or for each pair of them). A
question without a score is NaN and left out, so columns may rest on different questions.

The variance of a task's mean is the jackknife's over clusters (Quenouille 1956; for clusters of unequal size it is less
optimistic than the linearised one): leave out one cluster at a time, and see how far the mean moves. Where every
cluster is one question it is the usual s^2 / n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where tasks and clusters begin among questions that are sorted by task and cluster.

    Attributes:
        cluster_starts: The first question of each cluster.
        task_starts: The first cluster of each task.
        task_of: The task of each cluster.
    """

    cluster_starts: Integers
    task_starts: Integers
    task_of: Integers


@dataclass(frozen=True, slots=True)
class Moments:
    """What is known of each task (rows) in each column.

    Attributes:
        questions: Questions that have a score.
        clusters: Clusters that have one.
        means: NaN where there is no question.
        variances: Of the means; NaN with fewer than two clusters.
        sums: Of the scores in each cluster (rows are clusters).
        sizes: Questions with a score in each cluster.
    """

    questions: Floats
    clusters: Floats
    means: Floats
    variances: Floats
    sums: Floats
    sizes: Floats


def layout(tasks: NDArray[Any], clusters: NDArray[Any]) -> Layout:
    """The layout of questions, given the task and the cluster of each; they must be sorted by both."""
    new_task = np.ones(len(tasks), bool)
    new_task[1:] = tasks[1:] != tasks[:-1]
    new_cluster = new_task.copy()
    new_cluster[1:] |= clusters[1:] != clusters[:-1]
    starts = np.flatnonzero(new_cluster)
    first_of_task = new_task[starts]
    return Layout(starts, np.flatnonzero(first_of_task), np.cumsum(first_of_task) - 1)


def moments(scores: Floats, places: Layout) -> Moments:
    """Means and variances of each task in each column of `scores` (questions x columns)."""
    there = ~np.isnan(scores)
    sums = np.add.reduceat(np.where(there, scores, 0.0), places.cluster_starts, axis=0)
    sizes = np.add.reduceat(there.astype(np.float64), places.cluster_starts, axis=0)
    questions = np.add.reduceat(sizes, places.task_starts, axis=0)
    clusters = np.add.reduceat((sizes > 0).astype(np.float64), places.task_starts, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.add.reduceat(sums, places.task_starts, axis=0) / questions
        others = questions[places.task_of] - sizes
        moved = np.where(sizes > 0, (sums - means[places.task_of] * sizes) / others, 0.0)
        squares = np.add.reduceat(moved**2, places.task_starts, axis=0)
        variances = np.where(clusters > 1, (clusters - 1) / clusters * squares, np.nan)
    return Moments(questions, clusters, means, variances, sums, sizes)
