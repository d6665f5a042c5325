"""Scores side by side."""

from __future__ import annotations

import numpy as np

from r_eval.analysis.statistics.board import board, seed_of

SCORES = {"a": {"t": {"q1": 1.0, "q2": 0.0}, "u": {"q1": 0.5}}, "b": {"t": {"q2": 1.0, "q3": 1.0}}}


def test_questions_of_a_cluster_lie_together() -> None:
    found = board(SCORES, {"t": {"q1": "x", "q2": "k", "q3": "x"}})
    assert found.questions == [("t", "q2"), ("t", "q1"), ("t", "q3"), ("u", "q1")]
    assert found.cluster_of.tolist() == [0, 1, 1, 2]


def test_what_a_system_lacks_is_nan() -> None:
    assert np.isnan(board(SCORES).column("b")).tolist() == [True, False, False, True]


def test_a_task_can_be_looked_at_alone() -> None:
    found = board(SCORES).of("u")
    assert (found.tasks, found.questions, found.column("a").tolist()) == (["u"], [("u", "q1")], [0.5])


def test_the_order_of_the_questions_given_does_not_matter() -> None:
    turned = {"a": {"t": {"q2": 0.0, "q1": 1.0}, "u": {"q1": 0.5}}, "b": {"t": {"q3": 1.0, "q2": 1.0}}}
    assert board(turned).questions == board(SCORES).questions


def test_a_seed_is_the_same_on_every_machine() -> None:
    assert seed_of(["wiki", "q1"]) == 16736959396491413560
