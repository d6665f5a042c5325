"""The LLM as a judge: what it is told, how its reply is read, how its agreement with people is stated."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import score_all
from r_eval.analysis.metrics.judge import agreement, asked, criteria, criterion_of, read_grade
from r_eval.errors import UserError

READABLE = [
    ('{"score": 2}', 2),
    ('```json\n{"score": 1}\n```', 1),
    ('{"reason": "3 of 4 names", "score": "0"}', 0),
    ("{'score': 2}", 2),
    ("Score: 2", 2),
    ("Score: 1/2", 1),
    ("2", 2),
    ("2.", 2),
    ("**0**", 0),
    ("Grade: 1, since one of 2 names is missing", 1),
    ("I would give it a grade of 2.", 2),
    ("Rating (0-2): 1", 1),
    ("The answer names 3 of 4 people.\n\n1", 1),
    ("In 1912 it was founded, so it is right: **2**", 2),
    ("The final mark is $\\boxed{0}$; 2 would need more, 1 too", 0),
    ("评分：2", 2),
    ("2 - the answer is right, as in 1912", 2),
    ("[SCORE] 2 [END]", 2),
    ("[SCORE]\n1\n[END]", 1),
    ("[SCORE]: 0", 0),
    ("[RESULT] 2 [END]", 2),
    ("2/2", 2),
    ("Score: 1 / 2", 1),
    ("Оценка: 2", 2),
    ("Из 3 имён верны 2.\nОценка: 1", 1),
    ("评分：1", 1),
    ('{"score": 2}\n', 2),
]
UNREADABLE = [
    *("", "It is right.", "1 or 2", "3", "1.5", "Score: 5", "{}", "score", "Grade: 1. Grade: 2."),
    *("22", "[SCORE] 15", "[SCORE] -1", "[SCORE] [END]", "Оценка: 3", "2/3"),
]
JUDGE = """
import re

def by_hand(request):
    text = request.messages[-1].content
    answer = re.search(r"Answer: (.*)", text)[1]
    if answer == "slow" and "could not be read" not in text:
        return "Well, that depends."
    if answer == "mute":
        return "I cannot say."
    if answer == "asked":
        return "2" if "Question: who?" in text else "0"
    return {"right": '{"score": 2}', "half": "Score: 1"}.get(answer, "0" if answer == "slow" else "**0**")
"""


@pytest.fixture
def judge(played: Callable[[str], str]) -> str:
    return f"judge@{played(JUDGE)}"


@pytest.mark.parametrize(("reply", "grade"), READABLE)
def test_a_grade_is_read_however_it_is_written(reply: str, grade: int) -> None:
    assert read_grade(reply) == grade


@pytest.mark.parametrize("reply", UNREADABLE)
def test_a_reply_without_one_grade_has_none(reply: str) -> None:
    assert read_grade(reply) is None


@given(st.text())
def test_any_reply_can_be_read(reply: str) -> None:
    assert read_grade(reply) in (0, 1, 2, None)


def test_grades_become_scores_from_0_to_1(judge: str) -> None:
    assert score_all(judge, ["right", "half", "wrong"], [["x"]] * 3) == [1.0, 0.5, 0.0]


def test_a_reply_without_a_grade_is_asked_for_again_and_is_nan_after_that(judge: str) -> None:
    slow, mute = score_all(judge, ["slow", "mute"], [["x"], ["x"]])
    assert slow == 0.0
    assert math.isnan(mute)


def test_an_empty_answer_is_worth_0_unasked(judge: str) -> None:
    assert score_all(judge, [" "], [["x"]]) == [0.0]


def test_the_judge_sees_the_question_where_it_is_known(judge: str) -> None:
    assert score_all(judge, ["asked"], [["x"]], ["who?"]) == [1.0]
    assert score_all(judge, ["asked"], [["x"]]) == [0.0]


def test_a_criterion_shows_what_it_says_and_no_more() -> None:
    text = asked(criteria()["fluency"], "It $asks", ["gold"], "question?")
    assert "It $asks" in text
    assert "gold" not in text
    assert "question?" not in text


def test_a_criterion_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "polite.yaml"
    path.write_text("asks: Is it polite?\ntwo: Very.\none: So so.\nzero: No.\nshows: []\n", encoding="utf-8")
    assert criterion_of(str(path)).asks == "Is it polite?"


@pytest.mark.parametrize("text", ["asks: x\n", "- 1\n", "asks: x\ntwo: a\none: b\nzero: c\nshows: [answer]\n", ":\n :"])
def test_a_file_that_is_no_criterion_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"odd\.yaml"):
        criterion_of(str(path))


def test_an_unknown_criterion_is_answered_with_those_there_are(judge: str) -> None:
    with pytest.raises(UserError, match="correctness"):
        score_all(f"{judge}#beauty", ["right"], [["x"]])


def test_agreement_of_equal_grades_is_whole() -> None:
    found = agreement([0, 0.5, 1, 1], [0, 0.5, 1, 1])
    assert (found.exact, found.kappa) == (1.0, 1.0)


def test_grades_that_do_not_vary_have_no_kappa() -> None:
    found = agreement([1, 1], [1, 1])
    assert found.exact == 1.0
    assert math.isnan(found.kappa)


def test_answers_without_a_grade_are_counted_apart() -> None:
    found = agreement([float("nan"), 1, 0], [1, 1, 0])
    assert (found.n, found.unread, found.exact) == (2, 1, 1.0)


def test_grades_must_be_in_pairs() -> None:
    with pytest.raises(ValueError, match="pairs"):
        agreement([1], [1, 0])


grades = st.sampled_from([0.0, 0.5, 1.0])


@given(st.lists(st.tuples(grades, grades), min_size=2, max_size=60))
def test_kappa_is_scikit_learns(pairs: list[tuple[float, float]]) -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    ours, theirs = [one for one, _ in pairs], [two for _, two in pairs]
    found = agreement(ours, theirs)
    if len({*ours, *theirs}) == 1:
        assert math.isnan(found.kappa)
        return
    labels = [0, 1, 2]
    expected = sklearn.cohen_kappa_score(
        [int(2 * x) for x in ours], [int(2 * x) for x in theirs], labels=labels, weights="quadratic"
    )
    assert found.kappa == pytest.approx(expected)
