"""Results that were made outside, scored against private questions."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics.ranking import hit_rate, ndcg, recall
from r_eval.analysis.outside import Line, Result, Scored, read_results, score_results
from r_eval.analysis.retrieval import text_ids
from r_eval.errors import UserError
from r_eval.records import Question

ids = st.sampled_from("abcdef")


def question(name: str, answer: str = "Paris", **meta: Any) -> Question:
    return Question(id=name, question=f"Where is {name}?", answers=[answer], level="KS", meta=meta)


def line(scored: Scored, metric: str, kind: str = "all") -> Line:
    (found,) = [one for one in scored.lines if (one.metric, one.type) == (metric, kind)]
    return found


def read(tmp_path: Path, text: str) -> dict[str, Result]:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    return read_results(tmp_path / "results.json")


def test_a_missing_answer_counts_0_and_is_counted() -> None:
    scored = score_results([question("a"), question("b")], {"a": Result("Paris")}, ["token_f1"])
    found = line(scored, "token_f1")
    assert (found.estimate.mean, found.estimate.n, found.missing) == (0.5, 2, 1)
    assert scored.missing == ["b"]


def test_an_id_that_no_question_has_is_named_and_not_scored() -> None:
    scored = score_results([question("a")], {"a": Result("Paris"), "z": Result("Rome")}, ["token_f1"])
    assert scored.unknown == ["z"]
    assert line(scored, "token_f1").estimate.n == 1


def test_questions_with_types_have_a_line_for_each() -> None:
    asked = [question("a", type="set"), question("b", type="simple"), question("c", type="set")]
    scored = score_results(asked, {"a": Result("Paris")}, ["exact_match"])
    assert [one.type for one in scored.lines] == ["all", "set", "simple"]
    assert line(scored, "exact_match", "set").estimate.mean == 0.5


def test_every_mean_has_an_interval() -> None:
    found = line(score_results([question("a")], {"a": Result("Paris")}, ["exact_match"]), "exact_match")
    assert found.estimate.low is not None
    assert found.estimate.low < 0.1 < 1.0 == found.estimate.high


def test_rankings_are_scored_where_the_right_texts_are_known() -> None:
    asked = [question("a", text_ids=[1, 2]), question("b", text_ids="[[3], [4]]"), question("c")]
    results = {"a": Result("", ("1", "9")), "b": Result("", ("9", "4", "3")), "c": Result("", ("1",))}
    scored = score_results(asked, results, ["token_f1"], k=2)
    assert line(scored, "hit@2").estimate.mean == 1
    assert line(scored, "recall@2").estimate.mean == 0.5
    assert line(scored, "ndcg@2").estimate.n == 2


def test_a_question_without_found_ids_counts_0_in_the_ranking() -> None:
    found = line(score_results([question("a", text_ids=[1])], {"a": Result("Paris")}, [], k=5), "hit@5")
    assert (found.estimate.mean, found.missing) == (0.0, 1)


def test_without_right_texts_there_are_no_rankings() -> None:
    scored = score_results([question("a")], {"a": Result("x", ("1",))}, ["token_f1"])
    assert [one.metric for one in scored.lines] == ["token_f1"]


def test_numbers_worked_out_by_hand() -> None:
    found, right = ["x", "a", "a", "b"], {"a", "b", "c"}
    assert (hit_rate(found, right, 1), hit_rate(found, right, 2)) == (0.0, 1.0)
    assert recall(found, right, 3) == 2 / 3, "a second mention of a text takes no rank"
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert ndcg(found, right, 3) == pytest.approx((1 / math.log2(3) + 1 / math.log2(4)) / ideal)
    assert ndcg(["a"], right, 1) == 1.0, "the ideal ranking has no more than k places"


@given(st.lists(ids, max_size=8), st.sets(ids, min_size=1), st.integers(1, 8))
def test_a_ranking_scores_from_0_to_1_and_no_more_than_a_hit(found: list[str], right: set[str], k: int) -> None:
    for measure in (recall, ndcg):
        assert 0 <= measure(found, right, k) <= hit_rate(found, right, k) + 1e-12


@given(st.sets(ids, min_size=1), st.integers(1, 8))
def test_an_ideal_ranking_scores_1(right: set[str], k: int) -> None:
    assert ndcg(sorted(right), right, k) == pytest.approx(1)


@given(st.lists(ids, max_size=8), st.sets(ids, min_size=1), st.integers(1, 8))
def test_repeating_what_was_found_changes_nothing(found: list[str], right: set[str], k: int) -> None:
    for measure in (hit_rate, recall, ndcg):
        assert measure(found + found, right, k) == measure(found, right, k)


@pytest.mark.parametrize("value", ["no json", {"a": 1}, 5, [1.5], [True], [{"a": 1}]])
def test_right_texts_that_are_no_ids_are_an_error_that_names_the_question(value: object) -> None:
    with pytest.raises(UserError, match=r"question 'a': meta\.text_ids"):
        text_ids(question("a", text_ids=value))


def test_results_are_read_with_ids_as_numbers_or_texts(tmp_path: Path) -> None:
    found = read(
        tmp_path, '{"q": {"found_ids": [7, "8"], "model_answer": " Paris "}, "r": {}, "s": {"found_ids": null}}'
    )
    assert found == {"q": Result("Paris", ("7", "8")), "r": Result(), "s": Result()}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('"Paris"', "'q': expected an object"),
        ('{"model_answer": 5}', r"'q'\.model_answer: expected a text"),
        ('{"found_ids": "7"}', r"'q'\.found_ids: expected a list"),
        ('{"found_ids": [[7]]}', r"'q'\.found_ids: expected a list"),
        ('{"found_ids": [true]}', r"'q'\.found_ids: expected a list"),
        ('{"model_anwser": "x"}', "'q': unknown key 'model_anwser'. Known: found_ids, model_answer"),
        ('{}, "q": {}', "'q' stands twice"),
    ],
)
def test_an_entry_of_another_form_is_an_error_that_names_its_key(tmp_path: Path, entry: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read(tmp_path, f'{{"q": {entry}}}')


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"q": {"found_ids": [' + "1" * 5000 + "]}}"])
def test_a_file_that_is_no_results_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"results\.json: (not valid JSON|expected)"):
        read(tmp_path, text)


def test_a_folder_is_not_called_broken_json(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_results(tmp_path)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file of results"):
        read_results(tmp_path / "none.json")


def test_an_id_from_outside_is_shown_without_control_characters(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        read(tmp_path, json.dumps({"\x1b[2Jq": 5}))
    assert str(error.value).isprintable()
