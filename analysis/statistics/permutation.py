"""The paired permutation test: would the difference be as large if the two systems were interchangeable?

If they are, each cluster's difference could as well have the other sign (Fisher 1935). So the signs of whole clusters
are flipped, and p is the share of flips whose difference is at least as large as the one seen, in either direction.
Up to 14 clusters with a difference all flips are tried; beyond that FLIPS random ones, the one seen among them
(Phipson and Smyth 2010), so that p is never 0. One matrix of signs serves all pairs.

p is a mid-p (Lancaster 1961): flips that tie with what was seen count half. Right-or-wrong scores tie often, and the
plain p counts all of those ties. A mid-p has no strict guarantee of its level. In simulations without a difference
(`benchmarks/coverage.py`) it rejects at 0.05 in 3 to 5.5 % of the runs over 100 questions and in 4 to 6.6 % over 12
tasks; on 20 to 30 questions of one task less often, down to never: with fewer than 6 clusters that differ no p-value
can be below 0.03.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from r_eval.analysis.statistics.moments import Floats

FLIPS = 20_000
EXACT = 14
_SIGNS = 1 << 22
"""Signs in memory at once."""


def p_values(differences: Floats, seed: int, flips: int = FLIPS) -> Floats:
    """Two-sided p-values.

    Args:
        differences: A row a cluster, a column a pair: what the cluster adds to the pair's difference. Clusters
            without a difference are 0.
        seed: Decides the random flips.
    """
    p = np.ones(differences.shape[1])
    differing = (np.abs(differences) > 1e-12).sum(axis=0)
    for pair in np.flatnonzero((differing > 0) & (differing <= EXACT)).tolist():
        column = differences[:, pair]
        p[pair] = _exact(column[np.abs(column) > 1e-12])
    many = np.flatnonzero(differing > EXACT)
    if many.size:
        p[many] = _random(differences[:, many], seed, flips)
    return p


def _exact(values: Floats) -> float:
    """All flips of a few clusters. Flipping every sign changes nothing, so the first one may stand."""
    sums = np.abs(values[:1])
    for value in values[1:].tolist():
        sums = np.concatenate([sums + value, sums - value])
    sizes, seen = np.abs(sums), abs(float(values.sum()))
    near = 1e-9 * float(np.abs(values).sum())
    return float(((sizes > seen + near).sum() + 0.5 * (np.abs(sizes - seen) <= near).sum()) / len(sizes))


def _random(differences: Floats, seed: int, flips: int) -> Floats:
    values = differences.astype(np.float32)
    seen = np.abs(values.sum(axis=0, dtype=np.float64))
    near = 4e-6 * np.abs(values).sum(axis=0, dtype=np.float64)
    larger, ties = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for signs in _signs(len(values), seed, flips):
        sizes = np.abs(signs @ values)
        above = (sizes > seen + near).sum(axis=0)
        larger += above
        ties += (sizes >= seen - near).sum(axis=0) - above
    return np.asarray((larger + 0.5 * (ties + 1)) / (flips + 1))


def _signs(clusters: int, seed: int, flips: int) -> Iterator[np.ndarray]:
    """Rows of +1 and -1, a block at a time."""
    rng = np.random.Generator(np.random.PCG64(seed))
    width = (clusters + 7) // 8
    block = min(2048, max(16, _SIGNS // clusters))
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        raw = np.frombuffer(rng.bytes(rows * width), np.uint8).reshape(rows, width)
        bits = np.unpackbits(raw, axis=1, count=clusters)
        yield bits.astype(np.float32) * np.float32(2) - np.float32(1)
