"""The bootstrap against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from r_eval.analysis.statistics.bootstrap import bootstrap, percentiles
from r_eval.analysis.statistics.moments import layout, moments


def test_its_percentiles_are_those_of_scipy() -> None:
    rng = np.random.default_rng(10)
    for n in (20, 60, 200):
        scores = rng.random(n)
        places = layout(np.zeros(n), np.arange(n))
        found = moments(scores[:, None], places)
        ends = percentiles(bootstrap(found.sums, found.sizes, places, 1, 8000))
        known = stats.bootstrap((scores,), np.mean, method="percentile", n_resamples=8000, rng=rng).confidence_interval
        width = known.high - known.low
        assert [end[0] for end in ends] == pytest.approx([known.low, known.high], abs=0.06 * width)


def test_clusters_are_drawn_whole() -> None:
    places = layout(np.zeros(40), np.repeat([0, 1], 20))
    found = moments(np.repeat([0.0, 1.0], 20)[:, None], places)
    assert set(bootstrap(found.sums, found.sizes, places, 2)[:, 0].tolist()) == {0.0, 0.5, 1.0}


def test_tasks_keep_their_weight() -> None:
    places = layout(np.repeat([0, 1], [30, 2]), np.arange(32))
    found = moments(np.repeat([0.0, 1.0], [30, 2])[:, None], places)
    assert set(bootstrap(found.sums, found.sizes, places, 3)[:, 0].tolist()) == {0.5}


def test_the_same_seed_draws_the_same() -> None:
    places = layout(np.zeros(10), np.arange(10))
    found = moments(np.random.default_rng(4).random((10, 2)), places)
    first, second = (bootstrap(found.sums, found.sizes, places, 5, 50) for _ in range(2))
    assert first.tolist() == second.tolist()
