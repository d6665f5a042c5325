"""Answers as a file: read, scored against private questions, and made of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.submissions import Scored, SubmittedAnswer, package, read_results, score_results
from r_eval.errors import UserError
from r_eval.records import Question, Step
from tests.analysis.answers import HOP, KS, write_answers


def question(name: str, answer: str = "Paris", **meta: Any) -> Question:
    return Question(id=name, question=f"Where is {name}?", answers=[answer], level="KS", meta=meta)


def row(scored: Scored, metric: str, kind: str = "all") -> dict[str, Any]:
    found = scored.scores[(scored.scores["metric"] == metric) & (scored.scores["type"] == kind)]
    (line,) = found.to_dict("records")
    return {str(name): value for name, value in line.items()}


def read(tmp_path: Path, text: str) -> dict[str, SubmittedAnswer]:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    return read_results(tmp_path / "results.json")


def test_a_missing_answer_counts_0_and_is_counted() -> None:
    scored = score_results(
        [question("a"), question("b")], {"a": SubmittedAnswer("Paris"), "z": SubmittedAnswer("Rome")}, ["token_f1"]
    )
    found = row(scored, "token_f1")
    assert (found["score"], found["questions"], found["missing"]) == (0.5, 2, 1)
    assert (scored.missing, scored.unknown) == (["b"], ["z"])
    assert found["score_low"] < 0.5 < found["score_high"]


def test_questions_with_types_have_a_row_for_each() -> None:
    asked = [question("a", type="set"), question("b", type="simple"), question("c", type="set")]
    scored = score_results(asked, {"a": SubmittedAnswer("Paris")}, ["exact_match"])
    assert scored.scores["type"].to_list() == ["all", "set", "simple"]
    assert row(scored, "exact_match", "set")["score"] == 0.5


def test_rankings_are_scored_where_the_relevant_texts_are_known() -> None:
    asked = [question("a", text_ids=[1, 2]), question("b", text_ids="[[3], [4]]"), question("c")]
    results = {
        "a": SubmittedAnswer("", ("1", "9")),
        "b": SubmittedAnswer("", ("9", "4", "3")),
        "c": SubmittedAnswer("", ("1",)),
    }
    scored = score_results(asked, results, ["token_f1"], k=2)
    assert [row(scored, name)["score"] for name in ("hit@2", "recall@2")] == [1, 0.5]
    assert row(scored, "ndcg@2")["questions"] == 2
    nothing = score_results([question("a", text_ids=[1])], {"a": SubmittedAnswer("Paris")}, [])
    assert (row(nothing, "hit@5")["score"], row(nothing, "hit@5")["missing"]) == (0.0, 1)
    unranked = score_results([question("a")], {"a": SubmittedAnswer("x", ("1",))}, ["token_f1"])
    assert unranked.scores["metric"].to_list() == ["token_f1"]


def test_answers_are_read_with_ids_as_numbers_or_texts(tmp_path: Path) -> None:
    text = '{"q": {"found_ids": [7, "8"], "model_answer": " Париж "}, "r": {}, "s": {"found_ids": null}}'
    assert read(tmp_path, text) == {
        "q": SubmittedAnswer("Париж", ("7", "8")),
        "r": SubmittedAnswer(),
        "s": SubmittedAnswer(),
    }


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('"Paris"', "'q': expected an object"),
        ('{"model_answer": 5}', r"'q'\.model_answer: expected a text"),
        ('{"found_ids": "7"}', r"'q'\.found_ids: expected a list"),
        ('{"found_ids": [[7]]}', r"'q'\.found_ids: expected a list"),
        ('{"found_ids": [true]}', r"'q'\.found_ids: expected a list"),
        ('{"model_anwser": "x"}', "'q': unknown key 'model_anwser'. Known: found_ids, model_answer"),
        ('{}, "q": {}', "duplicate id 'q'"),
    ],
)
def test_an_entry_of_another_form_is_an_error_that_names_its_key(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, f'{{"q": {entry}}}')


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"q": {"found_ids": [' + "1" * 5000 + "]}}"])
def test_a_file_that_holds_no_answers_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"results\.json: (not valid JSON|expected)"):
        read(tmp_path, text)


def test_a_folder_and_a_file_that_is_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_results(tmp_path)
    with pytest.raises(UserError, match="no such file of results"):
        read_results(tmp_path / "none.json")


# Made of a run


def test_a_run_is_packaged_as_it_is_read(tmp_path: Path) -> None:
    found = Step(kind="call", api="retrieve", observation="A text.", found=["b#2", "b#1", "a#1"])
    run = write_answers(tmp_path / "run", {"rag": "rwx\nrrr"}, changes=lambda cell, number: {"steps": [found]})
    answers = package(run)
    assert list(answers) == ["q0", "q1", "q2"]
    assert read(tmp_path, json.dumps(answers))["q1"] == SubmittedAnswer("Mombasa", ("b", "a"))


def test_of_several_systems_one_is_named(tmp_path: Path) -> None:
    run = write_answers(tmp_path, {"rag": "r", "react": "w"})
    with pytest.raises(UserError, match=r"name the system .* --system; the run has: rag\+m, react\+m"):
        package(run)
    with pytest.raises(UserError, match=r"no system is called 'pal\+m'; the run has: rag\+m, react\+m"):
        package(run, "pal+m")
    assert package(run, "react+m")["q0"]["model_answer"] == "Mombasa"


def test_two_tasks_with_one_question_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two tasks have a question with the id 'q0'"):
        package(write_answers(tmp_path, {("rag", KS): "r", ("rag", HOP): "r"}))
