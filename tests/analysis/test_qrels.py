"""Retrieval of an episode: what counts as found, what each metric is, and where nothing is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.qrels import by_ids, documents
from r_eval.analysis.scoring import score_episode, score_run
from r_eval.errors import UserError
from r_eval.folder import Cell
from r_eval.records import Question, Step
from tests.analysis.answers import KS, write_answers
from tests.analysis.conftest import call, episode


def search(*found: str, **changes: Any) -> Step:
    """A call that found these passages."""
    fields = {"api": "retrieve", "observation": "; ".join(found), "found": list(found), **changes}
    return Step(kind="call", **fields)


def measured(found: list[list[str]], relevant: set[str]) -> dict[str, Any]:
    made = by_ids([search(*one) for one in found], relevant, sum(map(bool, found)))
    assert made is not None
    return made


def test_chunks_of_a_document_are_found_once_at_the_first_rank() -> None:
    assert documents([search("b#3", "a#1", "b#1"), search("a#2", "c#1")]) == ["b", "a", "c"]
    assert documents([search("a#1", error="bad_arguments"), Step(kind="observation", text="b#1")]) == []


def test_at_a_fixed_k_looking_up_more_documents_is_no_gain() -> None:
    few, many = [["a", "x", "y", "z", "v"]], [["a", "x", "y", "z", "v", "b", "c"]]
    relevant = {"a", "b", "c"}
    short, long = measured(few, relevant), measured(many, relevant)
    assert (short["recall"], long["recall"]) == (1 / 3, 1.0)
    assert short["recall@5"] == long["recall@5"] == 1 / 3
    assert (short["recall@10"], long["recall@10"], long["precision@10"]) == (1 / 3, 1.0, 0.3)


def test_ids_come_before_texts_where_the_calls_name_any() -> None:
    made = episode(evidence=["1963", "Lamu"], steps=[search("a#1")])
    assert score_episode(made, relevant={"q1": ["a"]})["retrieval"]["recall"] == 1.0
    texts = episode(evidence=["1963"], steps=[call("Independent since 1963.")])
    record = score_episode(texts, relevant={"q1": ["a"]})["retrieval"]
    assert (record["recall"], record["mrr"]) == (1.0, None)


def asked(meta: dict[str, Any]) -> dict[str, list[Question]]:
    return {KS: [Question(id="q0", question="Which?", answers=["Nairobi"], level="KS", meta=meta)]}


def test_a_run_is_scored_by_the_documents_of_its_questions_and_baselines_and_references_are_not(tmp_path: Path) -> None:
    def found(cell: Cell, number: int) -> dict[str, Any]:
        return {"steps": [search("a#1")]}

    answers = {"direct": "r", "oracle": "r", "rag": "r"}
    run = write_answers(tmp_path, answers, changes=found, questions=asked({"text_ids": ["a", "b"]}))
    score_run(run)
    records = {cell.workflow: next(iter(run.scores(cell).values()))["retrieval"] for cell in run.cells()}
    assert (records["direct"], records["oracle"], records["rag"]["recall"]) == (None, None, 0.5)


def test_ids_that_are_none_are_an_error_that_names_the_question(tmp_path: Path) -> None:
    run = write_answers(tmp_path / "a", {"rag": "r"}, questions=asked({"text_ids": {"a": 1}}))
    with pytest.raises(UserError, match=r"question 'q0': meta\.text_ids"):
        score_run(run)
