"""Which answers say that a text does not answer a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.quest_eval import UNANSWERABLE
from r_eval.analysis.quest_eval.unanswerable import normalised

NOTHING = [
    "<Unanswerable>",
    "<unanswerable>.",
    " Unanswerable ",
    "",
    "N/A",
    "Not mentioned.",
    "not mentioned in the text",
    "The text does not say.",
    "It cannot be determined from the given text.",
    "Cannot be inferred",
    "I don't know.",
    "I don’t know",
    "Not enough information",
    "无法推断",
    "无法推断。",
    "无法 推断",
    "文中未提及",
    "文中未提及。",
    "未提及",
    "没有提到",
    "根据文本无法推断",
    "无法确定",
    "无法回答该问题",
    "信息不足",
]
GENUINE = [
    "uncertainty",
    "political uncertainty",
    "未知因素",
    "政治不确定性因素和等待宪法法院做出决定",
    "没有造成人员伤亡",
    "没有受伤",
    "unknown factors",
    "unknown",
    "none",
    "no",
    "否",
    "The court could not determine the owner",
    "The book is not mentioned in the text of the treaty",
    "无法推断的原因是资料丢失",
    "42",
    "货船的船长没有对停船检查违禁品的要求做出回应",
]


@pytest.mark.parametrize("answer", NOTHING)
def test_an_answer_that_says_that_there_is_none_is_unanswerable(answer: str) -> None:
    assert normalised(answer) == UNANSWERABLE


@pytest.mark.parametrize("answer", GENUINE)
def test_an_answer_that_only_holds_such_words_is_an_answer(answer: str) -> None:
    assert normalised(f" {answer} ") == answer


@given(st.text())
def test_an_answer_is_normalised_once(answer: str) -> None:
    assert normalised(normalised(answer)) == normalised(answer)
