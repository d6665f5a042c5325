"""The promises hold in simulated runs of which the truth is known; the long form is benchmarks/coverage.py."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import Shape, contradictions, detectable_effect, differences, false_positives, means, power


@pytest.mark.parametrize("shape", [Shape("binary", 20), Shape("f1", 100, 12), Shape("binary", 20, 5, 4)], ids=str)
def test_intervals_of_means(shape: Shape) -> None:
    assert 0.93 <= np.mean(means(shape, 100)) <= 0.985


@pytest.mark.parametrize("shape", [Shape("binary", 40), Shape("f1", 100, 12)], ids=str)
def test_intervals_of_differences(shape: Shape) -> None:
    assert 0.93 <= np.mean(differences(shape, 100)) <= 0.985


def test_equal_systems_rarely_differ() -> None:
    assert np.mean(false_positives(Shape("binary", 40), 5, 100)) <= 0.06


@pytest.mark.parametrize(
    ("shape", "tests", "base"),
    [(Shape("binary", 100), 28, 0.4), (Shape("f1", 40), 28, 0.1), (Shape("f1", 200, 20), 210, 0.1)],
    ids=str,
)
def test_the_minimum_detectable_effect_is_detected_in_8_of_10_runs(shape: Shape, tests: int, base: float) -> None:
    effect = detectable_effect(shape, tests, base, 100)
    assert 0.76 <= power(shape, tests, effect, base, 1000) <= 0.84


def test_nothing_contradicts() -> None:
    assert contradictions(Shape("f1", 20, 5, 2), 8, 20)[0] == 0
