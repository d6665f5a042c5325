"""Retrieval by system and task at a fixed k, and scores by type of question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.results import Results, load
from r_eval.analysis.retrieval import question_types, retrieval
from r_eval.folder import Cell
from r_eval.records import Question, Step
from tests.analysis.answers import KS, write_answers

BOTH, ONE, NONE = ["a#1", "b#1"], ["b#1"], ["c#1"]
FOUND = [BOTH, BOTH, BOTH, ONE, ONE, NONE, NONE, NONE]
LETTERS = "rwwrwwww"


def searched(folder: Path, found: list[list[str]], answers: dict[str, str], **changes: Any) -> Results:
    """A run of rag whose episodes found these passages; documents a and b are relevant; answers by task."""

    def own(cell: Cell, number: int) -> dict[str, Any]:
        step = Step(kind="call", api="retrieve", observation="A text.", found=found[number])
        return {"steps": [step], **changes}

    asked = {
        task: [
            Question(id=f"q{n}", question="Which?", answers=["Nairobi"], level="KS", meta={"text_ids": ["a", "b"]})
            for n in range(len(letters))
        ]
        for task, letters in answers.items()
    }
    return load(
        write_answers(folder, {("rag", task): one for task, one in answers.items()}, changes=own, questions=asked)
    )


def test_the_means_have_intervals_at_each_k(tmp_path: Path) -> None:
    found = retrieval(searched(tmp_path, FOUND, {KS: LETTERS}))
    assert found["k"].to_list() == ["5", "10", "all"]
    assert found["recall"].to_list() == [0.5] * 3
    assert (found["recall_low"].lt(0.5) & found["recall_high"].gt(0.5)).all()
    assert found["precision"].to_list() == pytest.approx([8 / 8 / 5, 8 / 8 / 10, (3 * 1 + 2 * 1) / 8])


def test_evidence_texts_have_recall_and_hit_rate_of_all_that_was_seen(tmp_path: Path) -> None:
    asked = {KS: [Question(id="q0", question="?", answers=["Nairobi"], level="KS", evidence=["Nairobi"])]}
    run = write_answers(tmp_path, {"rag": "r"}, changes=lambda cell, number: {"evidence": ["Nairobi"]}, questions=asked)
    (found,) = retrieval(load(run)).to_dict("records")
    assert (found["k"], found["recall"], found["hit_rate"], pandas.isna(found["ndcg"])) == ("all", 1.0, 1.0, True)


# By type of question

TYPES = ["simple", "simple", "comparison", "comparison", ""]
RANKED = [["a#1"], ["x#1"], ["x#1", "a#3"], ["a#1"], ["a#1"]]


def typed(folder: Path, letters: str, condition: str = "clean", types: list[str] = TYPES) -> Results:
    """A run of rag and direct, which answer the same; every question has one relevant document, "a"."""

    def changes(cell: Cell, number: int) -> dict[str, Any]:
        step = Step(kind="call", api="retrieve", observation="A text.", found=RANKED[number])
        return {"steps": [step] if cell.workflow == "rag" else []}

    asked = {
        KS: [
            Question(
                **{"id": f"q{n}", "question": "Where?", "answers": ["Nairobi"], "level": "KS"},
                meta={"text_ids": ["a"], **({"type": kind} if kind else {})},
            )
            for n, kind in enumerate(types)
        ]
    }
    return load(write_answers(folder, {"rag": letters, "direct": letters}, (condition,), changes, asked))


def rows_of(results: Results, workflow: str) -> dict[str, dict[str, Any]]:
    found = question_types(results)
    return {row["type"]: row for row in found[found["workflow"] == workflow].to_dict("records")}  # type: ignore[misc]


def test_generation_is_the_score_and_retrieval_the_mean_of_hit_recall_and_ndcg(tmp_path: Path) -> None:
    found = rows_of(typed(tmp_path, "rwror"), "rag")
    simple, comparison = found["simple"], found["comparison"]
    assert [simple[f"{name}_score"] for name in ("generation", "retrieval", "total")] == [0.5, 0.5, 1.0]
    assert simple["generation_score_low"] < 0.5 < simple["generation_score_high"]
    assert (comparison["questions"], comparison["incomplete"], comparison["generation_score"]) == (1, 0, 1.0)
    assert comparison["retrieval_score"] == pytest.approx((1 + 1 + 0.6309297535714575) / 3)


def test_a_system_that_does_not_search_has_no_retrieval_and_no_total(tmp_path: Path) -> None:
    simple = rows_of(typed(tmp_path, "rwror"), "direct")["simple"]
    assert (simple["generation_score"], pandas.isna(simple["retrieval_score"])) == (0.5, True)
    assert pandas.isna(simple["total_score"])
