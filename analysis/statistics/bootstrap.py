"""The bootstrap over clusters (Efron 1979): draw as many clusters of each task as there are, with replacement.

It makes no assumption about how the scores are spread, but is too sure of itself where clusters are few (see
`intervals`), so it stands beside the intervals here as a check, and no verdict rests on it.
"""

from __future__ import annotations

import numpy as np

from r_eval.analysis.statistics.moments import Floats, Layout

DRAWS = 4000
IN_MEMORY = 1 << 22
"""Drawn clusters in memory at once."""


def bootstrap(sums: Floats, sizes: Floats, places: Layout, seed: int, draws: int = DRAWS) -> Floats:
    """The mean over tasks of each draw (draws x columns).

    Args:
        sums, sizes: As `Moments` has them: clusters x columns. A task without a question in a column does not count
            there.
        seed: Decides the draws; the same ones for every column, so columns can be subtracted.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    total = np.zeros((draws, sums.shape[1]))
    tasks = np.zeros_like(total)
    ends = [*places.task_starts[1:].tolist(), len(sums)]
    for start, end in zip(places.task_starts.tolist(), ends, strict=True):
        both = np.hstack([sums[start:end], sizes[start:end]])
        drawn_sums, drawn = np.split(_drawn(rng, both, draws), 2, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = drawn_sums / drawn
        there = sizes[start:end].sum(axis=0) > 0
        task_mean = sums[start:end].sum(axis=0) / np.maximum(1, sizes[start:end].sum(axis=0))
        total += np.where(there, np.where(drawn > 0, means, task_mean), 0.0)
        tasks += there
    with np.errstate(invalid="ignore"):
        return np.asarray(total / tasks)


def _drawn(rng: np.random.Generator, values: Floats, draws: int) -> Floats:
    """The sums of the values over each draw of clusters, a block of draws at a time (draws x columns)."""
    number = len(values)
    block = max(1, IN_MEMORY // number)
    rows = [min(block, draws - start) for start in range(0, draws, block)]
    return np.concatenate([_times_drawn(rng, number, some) @ values for some in rows])


def _times_drawn(rng: np.random.Generator, number: int, draws: int) -> Floats:
    """How often each of `number` clusters comes in each draw."""
    chosen = rng.integers(0, number, (draws, number)) + np.arange(draws)[:, None] * number
    return np.bincount(chosen.ravel(), minlength=draws * number).reshape(draws, number).astype(np.float64)


def percentiles(draws: Floats) -> tuple[Floats, Floats]:
    """Ends of the 95 % percentile interval of each column."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return np.asarray(low), np.asarray(high)
