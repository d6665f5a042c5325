"""Retrieval of an episode, by system and task at a fixed k, and scores by type of question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.qrels import by_ids, documents
from r_eval.analysis.results import Results, load
from r_eval.analysis.retrieval import question_types, retrieval
from r_eval.analysis.scoring import score_episode, score_run
from r_eval.errors import UserError
from r_eval.folder import Cell
from r_eval.records import Question, Step
from tests.analysis.answers import KS, write_answers
from tests.analysis.conftest import call, episode

BOTH, ONE, NONE = ["a#1", "b#1"], ["b#1"], ["c#1"]
FOUND = [BOTH, BOTH, BOTH, ONE, ONE, NONE, NONE, NONE]
LETTERS = "rwwrwwww"


def search(*found: str, **changes: Any) -> Step:
    """A call that found these passages."""
    fields = {"api": "retrieve", "observation": "; ".join(found), "retrieved_ids": list(found), **changes}
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


def asked(*metas: dict[str, Any]) -> dict[str, list[Question]]:
    own = {"question": "Which?", "answers": ["Nairobi"], "level": "KS"}
    return {KS: [Question(id=f"q{number}", meta=meta, **own) for number, meta in enumerate(metas)]}


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


def searched(folder: Path, found: list[list[str]], letters: str, types: Sequence[str] = ()) -> Results:
    """A run of rag, whose episodes found these passages, and of direct; documents a and b are relevant."""

    def changes(cell: Cell, number: int) -> dict[str, Any]:
        return {"steps": [search(*found[number])] if cell.workflow == "rag" else []}

    metas = [{"text_ids": ["a", "b"], **({"type": kind} if kind else {})} for kind in types or [""] * len(letters)]
    answers = {"rag": letters, "direct": letters}
    return load(write_answers(folder, answers, changes=changes, questions=asked(*metas)))


def test_the_means_have_intervals_at_each_k(tmp_path: Path) -> None:
    found = retrieval(searched(tmp_path, FOUND, LETTERS))
    assert found["k"].to_list() == ["5", "10", "all"]
    assert found["recall"].to_list() == [0.5] * 3
    assert (found["recall_low"].lt(0.5) & found["recall_high"].gt(0.5)).all()
    assert found["precision"].to_list() == pytest.approx([8 / 8 / 5, 8 / 8 / 10, (3 * 1 + 2 * 1) / 8])


def test_evidence_texts_have_recall_and_hit_rate_of_all_that_was_seen(tmp_path: Path) -> None:
    asked = {KS: [Question(id="q0", question="?", answers=["Nairobi"], level="KS", evidence=["Nairobi"])]}
    run = write_answers(tmp_path, {"rag": "r"}, changes=lambda cell, number: {"evidence": ["Nairobi"]}, questions=asked)
    (found,) = retrieval(load(run)).to_dict("records")
    assert (found["k"], found["recall"], found["hit_rate"], pandas.isna(found["ndcg"])) == ("all", 1.0, 1.0, True)


TYPES = ["simple", "simple", "comparison", "comparison", ""]
RANKED = [["a#1", "b#1"], ["x#1"], ["x#1", "a#3"], ["a#1"], ["a#1"]]


def rows_of(results: Results, workflow: str) -> dict[str, dict[str, Any]]:
    found = question_types(results)
    return {row["type"]: row for row in found[found["workflow"] == workflow].to_dict("records")}  # type: ignore[misc]


def test_generation_is_the_score_and_retrieval_the_mean_of_hit_recall_and_ndcg(tmp_path: Path) -> None:
    found = rows_of(searched(tmp_path, RANKED, "rwror", TYPES), "rag")
    simple, comparison = found["simple"], found["comparison"]
    assert [simple[f"{name}_score"] for name in ("generation", "retrieval", "total")] == [0.5, 0.5, 1.0]
    assert simple["generation_score_low"] < 0.5 < simple["generation_score_high"]
    assert (comparison["questions"], comparison["incomplete"], comparison["generation_score"]) == (1, 0, 1.0)
    assert comparison["retrieval_score"] == pytest.approx((1 + 0.5 + 0.6309297535714575 / 1.6309297535714575) / 3)


def test_a_system_that_does_not_search_has_no_retrieval_and_no_total(tmp_path: Path) -> None:
    simple = rows_of(searched(tmp_path, RANKED, "rwror", TYPES), "direct")["simple"]
    assert (simple["generation_score"], pandas.isna(simple["retrieval_score"])) == (0.5, True)
    assert pandas.isna(simple["total_score"])
