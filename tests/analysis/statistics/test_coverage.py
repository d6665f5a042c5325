"""Nominal 95 % intervals hold the truth in 93 to 97 % of simulated runs; the long form is benchmarks/coverage.py."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import Shape, differences, means, percentile_bootstrap, tasks

SHAPES = [
    Shape(kind, n, size) for kind in ("binary", "f1") for n, size in ((20, 1), (30, 1), (100, 1), (100, 4), (400, 0))
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_intervals_of_means(shape: Shape) -> None:
    shares = means(shape, 500)
    assert 0.93 <= np.mean(shares) <= 0.975
    assert min(shares) >= 0.90


@pytest.mark.parametrize("shape", [Shape("binary", 20, 4), Shape("f1", 20, 0), Shape("f1", 30, 4)], ids=str)
def test_with_fewer_than_ten_clusters_they_err_on_the_safe_side(shape: Shape) -> None:
    shares = means(shape, 500)
    assert np.mean(shares) >= 0.95
    assert min(shares) >= 0.92


@pytest.mark.parametrize("shape", [Shape("binary", 20), Shape("f1", 20), Shape("f1", 100, 4)], ids=str)
def test_intervals_of_averages_over_tasks(shape: Shape) -> None:
    assert 0.93 <= np.mean(tasks(shape, 6, 400)) <= 0.975


@pytest.mark.parametrize("shape", [Shape("binary", 30), Shape("f1", 30, 0), Shape("f1", 100, 4)], ids=str)
def test_intervals_of_paired_differences(shape: Shape) -> None:
    assert 0.93 <= np.mean(differences(shape, 400)) <= 0.975


def test_the_percentile_bootstrap_would_be_too_sure_of_itself() -> None:
    assert np.mean(percentile_bootstrap(Shape("f1", 20, 4), 200)) < 0.85
