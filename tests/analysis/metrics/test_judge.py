"""LLM judges: what they are asked, how a reply is read, and what becomes of the grades."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from r_eval.analysis.metrics import get, summaries
from r_eval.analysis.metrics.judge import SIX, Case, JudgeSix, prompt, read_grade, rubric
from r_eval.errors import UserError

READABLE = [
    *[('{"score": 2}', 2), ('```json\n{"score": 1}\n```', 1), ('{"reason": "3 of 4 names", "score": "0"}', 0)],
    *[("{'score': 2}", 2), ("Score: 1/2", 1), ("2.", 2), ("I would say **0**", 0), ("[SCORE] 2 [END]", 2)],
    ("评分：2", 2),
]
UNREADABLE = ["", "It is right.", "1 or 2", "3", "1.5", "Score: 5", "{}", "Grade: 1. Grade: 2.", "22", "2/3"]
JUDGE = """
import re

from r_eval.llms.base import LLMError

def by_hand(request):
    text = request.messages[-1].content
    answer = re.search(r"Answer: (.*)", text)[1]
    if answer == "broken":
        raise LLMError("server", "out of order")
    if answer == "slow" and "could not be read" not in text:
        return "Well, that depends."
    if answer == "mute":
        return "I cannot say." if "Are the names" in text or "say the same" in text else "2"
    if answer == "asked":
        return "2" if "Question: who?" in text else "0"
    if answer == "reads":
        return "2" if "What the searches found:\\nthe Nile" in text else "0"
    if answer == "knows":
        return "[SCORE] 2 [END]" if "- the Nile" in text else "[SCORE] 0 [END]"
    return {"right": '{"score": 2}', "half": "Score: 1"}.get(answer, "0" if answer == "slow" else "**0**")
"""


@pytest.fixture
def llm(tmp_path: Path) -> str:
    (tmp_path / "llm.py").write_text(JUDGE, encoding="utf-8")
    return f"scripted/{tmp_path / 'llm.py'}:by_hand"


@pytest.mark.parametrize(("reply", "grade"), [*READABLE, *[(reply, None) for reply in UNREADABLE]])
def test_a_grade_is_read_however_it_is_written(reply: str, grade: int | None) -> None:
    assert read_grade(reply) == grade


@pytest.mark.parametrize(
    ("answer", "score"), [("right", 1.0), ("half", 0.5), ("wrong", 0.0), (" ", 0.0), ("slow", 0.0), ("mute", math.nan)]
)
def test_a_grade_becomes_a_score_and_a_reply_without_one_is_asked_for_again(
    llm: str, answer: str, score: float
) -> None:
    assert get(f"judge@{llm}").scores([answer], [["x"]]) == [pytest.approx(score, nan_ok=True)]


def test_an_llm_that_fails_leaves_the_answer_without_a_score_and_is_reported(llm: str) -> None:
    for name in (f"judge@{llm}", f"judge_six@{llm}"):
        one, other = get(name).scores(["broken", "half"], [["x"]] * 2)
        assert (math.isnan(one), other) == (True, 0.5)
        (line,) = summaries([name])
        assert "1 of 2 answers scored; 1 not scored: " in line
        assert "out of order" in line
        assert summaries([name, "token_f1"]) == []


def test_the_six_are_judged_by_what_was_found_or_by_the_gold(llm: str) -> None:
    context = ["the Nile is long", "the Nile is long"].__getitem__
    for part, expected in (("", [0.5, 0.5]), ("#soundness", [1.0, 0.0]), ("#main_idea", [0.0, 1.0])):
        scores = get(f"judge_six@{llm}{part}").scores(["reads", "knows"], [["the Nile"]] * 2, context=context)
        assert scores == expected


@pytest.mark.parametrize(("language", "question"), [("en", "Who reigned?"), ("zh", "谁在位？"), ("ru", "Кто правил?")])
def test_every_criterion_has_its_prompt_in_every_language(language: str, question: str) -> None:
    for name in SIX:
        (one,) = JudgeSix(f"m#{name}").rubrics(language).values()  # type: ignore[arg-type]
        text = prompt(Case("$asks", ("GOLD",), question, "CONTEXT"), one, language)  # type: ignore[arg-type]
        by_gold = name in SIX[3:]
        assert ("GOLD" in text, "CONTEXT" in text) == (by_gold, not by_gold)
        assert one["asks"] in text
        assert question in text
        assert text.count("$") == text.count("$asks") == 1


@pytest.mark.parametrize("text", ["asks: x\n", "- 1\n", "asks: x\ntwo: a\none: b\nzero: c\nshows: [answer]\n", ":\n :"])
def test_a_file_that_is_no_rubric_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"odd\.yaml"):
        rubric(str(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [("judge@x#beauty", "correctness"), ("judge_six@x#beauty", "conciseness"), ("judge", "judge@LLM")],
)
def test_a_judge_that_cannot_work_says_what_it_needs(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        get(name)("a", ["b"])
