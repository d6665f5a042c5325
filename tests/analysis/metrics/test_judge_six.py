"""The judge's six criteria: what each sees, in which language it is asked, and what becomes of its verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import get, of_a_run, score_all
from r_eval.analysis.metrics.judge_six import CRITERIA, LANGUAGES, Case, asked, six
from r_eval.analysis.metrics.registry import told
from r_eval.errors import UserError

JUDGE = """
import re

from r_eval.llms.base import LLMError

def by_hand(request):
    text = request.messages[-1].content
    answer = re.search(r"Answer: (.*)", text)[1]
    if answer == "mute":
        return "It depends." if "Are the names" in text else "2"
    if answer == "reads":
        return "2" if "What the searches found:\\nthe Nile" in text else "0"
    if answer == "knows":
        return "[SCORE] 2 [END]" if "- the Nile" in text else "[SCORE] 0 [END]"
    if answer == "broken":
        raise LLMError("server", "out of order")
    return "1"
"""


@pytest.fixture
def judge(played: Callable[[str], str]) -> str:
    return f"judge_six@{played(JUDGE)}"


def test_the_score_is_the_mean_of_the_six_grades_halved(judge: str) -> None:
    assert score_all(judge, ["half"], [["x"]]) == [0.5]


def test_three_criteria_see_what_was_found_and_three_the_gold(judge: str) -> None:
    context = ["the Nile is long", "the Nile is long"].__getitem__
    assert score_all(judge, ["reads", "knows"], [["the Nile"]] * 2, context=context) == [0.5, 0.5]
    assert score_all(f"{judge}#soundness", ["reads", "knows"], [["the Nile"]] * 2, context=context) == [1.0, 0.0]
    assert score_all(f"{judge}#main_idea", ["reads", "knows"], [["the Nile"]] * 2, context=context) == [0.0, 1.0]


def test_a_verdict_that_cannot_be_read_counts_0_and_is_told(judge: str) -> None:
    assert score_all(judge, ["mute"], [["x"]]) == [pytest.approx(5 / 6)]
    (line,) = told([judge])
    assert "1 of 1 answers graded" in line
    assert "accuracy 0.00" in line
    assert "1 verdicts could not be read and count 0 (accuracy 1)" in line
    assert told([judge]) == []


def test_an_llm_that_fails_leaves_the_answer_without_a_score_and_is_told(judge: str) -> None:
    one, other = score_all(judge, ["broken", "half"], [["x"]] * 2)
    assert math.isnan(one)
    assert other == 0.5
    assert "1 not graded since the LLM failed" in told([judge])[0]


def test_an_empty_answer_is_worth_0_unasked(judge: str) -> None:
    assert score_all(judge, [" "], [["x"]]) == [0.0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_criterion_has_its_prompt_in_every_language(language: str) -> None:
    question = {"en": "Who reigned?", "zh": "谁在位？", "ru": "Кто правил?"}[language]
    for criterion in CRITERIA:
        text = asked(Case("$asks", ("GOLD",), question, "CONTEXT"), criterion)
        by_gold = criterion in CRITERIA[3:]
        assert six(language)[criterion]["asks"] in text  # type: ignore[index]
        assert ("GOLD" in text, "CONTEXT" in text) == (by_gold, not by_gold)
        assert question in text
        assert "$asks" in text
        assert text.count("$") == 1


def test_without_an_llm_it_says_how_to_name_one() -> None:
    with pytest.raises(UserError, match="judge_six@LLM"):
        score_all("judge_six", ["a"], [["a"]])


def test_an_unknown_criterion_is_answered_with_those_there_are() -> None:
    with pytest.raises(UserError, match="conciseness"):
        get("judge_six@scripted/x#beauty")


def test_a_runs_folder_cannot_make_it_ask_an_llm() -> None:
    with pytest.raises(UserError, match="name the metric yourself"):
        of_a_run("judge_six@openai/anything")


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.sampled_from(CRITERIA))
def test_any_text_can_be_asked_about(answer: str, question: str, context: str, criterion: str) -> None:
    assert answer in asked(Case(answer, ("x",), question, context), criterion)
