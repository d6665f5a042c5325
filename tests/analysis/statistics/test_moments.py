"""Means and variances over clusters, against sums done another way."""

from __future__ import annotations

import numpy as np
import pytest

from r_eval.analysis.statistics.moments import layout, moments


def test_questions_alone_have_the_usual_variance_of_a_mean() -> None:
    rng = np.random.default_rng(1)
    for n in (2, 3, 20, 100):
        scores = rng.random((n, 5))
        found = moments(scores, layout(np.zeros(n), np.arange(n)))
        assert found.means[0] == pytest.approx(scores.mean(axis=0))
        assert found.variances[0] == pytest.approx(scores.var(axis=0, ddof=1) / n)


def test_clusters_have_the_jackknifes_variance() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        clusters = np.sort(rng.integers(0, 6, 30))
        scores = rng.random(30)
        names = np.unique(clusters)
        left = np.array([scores[clusters != name].mean() for name in names])
        jackknife = (len(names) - 1) / len(names) * ((left - scores.mean()) ** 2).sum()
        found = moments(scores[:, None], layout(np.zeros(30), clusters))
        assert found.variances[0, 0] == pytest.approx(jackknife)
        assert found.clusters[0, 0] == len(names)


def test_a_question_without_a_score_is_left_out_of_its_column_alone() -> None:
    scores = np.array([[1.0, 1.0], [np.nan, 0.0], [0.0, 0.0]])
    found = moments(scores, layout(np.zeros(3), np.arange(3)))
    assert found.means.tolist() == [[0.5, pytest.approx(1 / 3)]]
    assert found.questions.tolist() == [[2, 3]]


def test_tasks_are_kept_apart_even_where_their_clusters_have_the_same_name() -> None:
    found = moments(np.array([[1.0], [0.0], [0.0]]), layout(np.array([0, 0, 1]), np.array(["a", "b", "b"], object)))
    assert found.means[:, 0].tolist() == [0.5, 0.0]
    assert found.clusters[:, 0].tolist() == [2, 1]


def test_a_single_cluster_has_no_variance() -> None:
    found = moments(np.array([[1.0], [0.0]]), layout(np.zeros(2), np.zeros(2)))
    assert np.isnan(found.variances[0, 0])
