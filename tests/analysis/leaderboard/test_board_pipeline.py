"""What a run's manifest says of a system's retrieval."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.analysis.leaderboard.pipeline import Pipeline, pipeline

CORPUS = {"environment": "corpus", "documents": "news"}


def manifest(environment: dict[str, Any], *workflows: dict[str, Any], **varied: dict[str, Any]) -> dict[str, Any]:
    grid = {"workflows": list(workflows), "tasks": [{"task": "news", "environment": environment}]}
    return {"grid": grid, "vary": {"workflows": varied}} if varied else {"grid": grid}


def test_what_a_sweep_varies_counts_first() -> None:
    told = manifest(CORPUS | {"retriever": "dense"}, {"workflow": "rag", "top_k": 3}, **{"rag@a": {"top_k": 8}})
    assert pipeline(told, "rag@a", ["news"]) == Pipeline("dense", "", 8)
    assert pipeline(told, "rag", ["news"]) == Pipeline("dense", "", 3)


def test_a_workflows_environment_counts_before_the_tasks() -> None:
    own = {"workflow": "rag", "name": "deep", "environment": {"retriever": "hybrid", "embedding": "e5"}}
    assert pipeline(manifest(CORPUS | {"retriever": "dense"}, own), "deep", ["news"]) == Pipeline("hybrid", "e5")


def test_other_tasks_settings_do_not_count() -> None:
    assert pipeline(manifest(CORPUS | {"retriever": "dense"}, {"workflow": "rag"}), "rag", ["law"]) == Pipeline()


@pytest.mark.parametrize("odd", [{}, {"grid": {"workflows": ["rag"], "tasks": ["news"]}}])
def test_a_run_that_says_nothing_gives_nothing(odd: dict[str, Any]) -> None:
    assert pipeline(odd, "rag", ["news"]) == Pipeline()


@pytest.mark.parametrize("value", [True, [4], None, 2.5])
def test_a_top_k_that_is_no_number_is_left(value: object) -> None:
    assert pipeline(manifest(CORPUS, {"workflow": "rag", "top_k": value}), "rag", ["news"]) == Pipeline()
