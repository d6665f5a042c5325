"""The filters that ask an LLM."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.records import Question
from r_eval.tasks.graphs.file import GraphPart
from r_eval.tasks.graphs.judging import criteria, flaw, grade_in
from r_eval.tasks.llm_client import LLMClient
from tests.tasks.graphs.scripts import name

QUESTION = Question(id="q", question="Where was Ibsen played?", answers=["Oslo"], level="KS")


def same(answer: str, golds: Sequence[str]) -> float:
    return float(answer in golds)


def judged(settings: dict[str, Any] | None = None, **filters: Any) -> str | None:
    async def ask() -> str | None:
        part = GraphPart.model_validate({"llm": name("words_it"), "filters": filters})
        async with contextlib.AsyncExitStack() as stack:
            speakers = {
                llm: await stack.enter_async_context(LLMClient(llm, None, (settings or {}).get(llm)))
                for llm in part.llms
            }
            return await flaw(QUESTION, "(Ibsen | played in | Oslo)", part.filters, speakers, same)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({"closed_book": name("knows_oslo")}, "answered without context"),
        ({"closed_book": name("rambles")}, None),
        ({"fluency": name("likes_all"), "judge": name("likes_all")}, None),
        ({"judge": name("dislikes_clarity")}, "judge: clarity"),
        ({"fluency": {"llm": name("grades_one"), "at_least": 2}}, "fluency"),
        ({"judge": name("grades_one")}, None),
        ({"judge": name("will_not_grade")}, "judge: no grade in the reply"),
    ],
    ids=str,
)
def test_a_filter_drops_a_question_with_its_reason(filters: dict[str, Any], reason: str | None) -> None:
    assert judged(**filters) == reason


def test_the_judge_has_eight_criteria() -> None:
    assert sum(criterion["group"] == "judge" for criterion in criteria().values()) == 8


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('{"score": 2}', 2),
        ('Here: ```json\n{"score": "1"}\n```', 1),
        ("[SCORE] 2 [END]", 2),
        ("[SCORE]\n0", 0),
        ("Score: 2/2", 2),
        ("2.", 2),
        ("I give it 1, because it is odd.", 1),
        ("By criterion 1 I give it score 2.", 2),
        ("22", None),
        ("1.5", None),
        ("Score: 1.5", None),
        ("3", None),
        ("-1", None),
        ("0 or 1", None),
        ('{"score": 2.0}', None),
        ('{"score": true}', None),
        ('{"score": [2]}', None),
        ("", None),
    ],
)
def test_a_grade_is_read_out_of_a_reply(reply: str, grade: int | None) -> None:
    assert grade_in(reply) == grade


@given(st.text(max_size=60))
def test_any_reply_gives_a_grade_or_none(reply: str) -> None:
    assert grade_in(reply) in (None, 0, 1, 2)
