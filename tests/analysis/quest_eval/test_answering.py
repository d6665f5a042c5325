"""Answers under the ids of their questions: what the LLM is told, and how its reply is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.quest_eval import UNANSWERABLE
from r_eval.analysis.quest_eval.answering import asked_for_answers, read_answers

TWO = ["Where?", "When?"]
READABLE = [
    '{"q1": "Kenya", "q2": 1912}',
    '{"q2": "1912", "q1": "Kenya"}',
    'Sure!\n```json\n{"q1": "Kenya", "q2": "1912"}\n```\nAnything else?',
    "{'q1': 'Kenya', 'q2': '1912',}",
    '{"Q1": "Kenya", "Q2": "1912"}',
    '{"1": "Kenya", "2": "1912"}',
    '{"q01": "Kenya", "question 2": "1912"}',
    '{"answers": {"q1": "Kenya", "q2": "1912"}}',
    '[{"id": "q2", "answer": "1912"}, {"id": "q1", "answer": "Kenya"}]',
    '{"answers": [{"id": 2, "answer": "1912"}, {"id": 1, "answer": "Kenya"}]}',
    '{"q1": {"answer": "Kenya"}, "q2": ["1912"]}',
    '{"q1": "Kenya"}\n{"q2": "1912"}',
    '{"q1": "Oz", "q2": "1912"} No: {"q1": "Kenya", "q2": "1912"}',
    '{"q1": "Kenya", "q2": "1912", "q3": "and more", "note": "done"}',
]
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
data = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["q1", "id", "answer", "x"]), inner)
)


@pytest.mark.parametrize("reply", READABLE)
def test_an_answer_belongs_to_the_question_whose_id_it_bears(reply: str) -> None:
    assert read_answers(reply, TWO) == ["Kenya", "1912"]


def test_a_question_whose_id_is_missing_has_no_answer_and_moves_no_other() -> None:
    assert read_answers('{"q2": "1912"}', TWO) == [None, "1912"]


@pytest.mark.parametrize("reply", ["", "Kenya\n1912", '["Kenya", "1912"]', "{}", '{"Where?": "Kenya"}'])
def test_answers_without_ids_are_answers_to_nothing(reply: str) -> None:
    assert read_answers(reply, TWO) == [None, None]


@pytest.mark.parametrize("answer", ["null", '""', '"<Unanswerable>"', '"Not mentioned."', '"无法推断。"', "[]"])
def test_an_id_with_nothing_behind_it_is_unanswerable(answer: str) -> None:
    assert read_answers(f'{{"q1": {answer}, "q2": "1912"}}', TWO) == [UNANSWERABLE, "1912"]


@given(st.permutations(range(1, 8)), st.sets(st.integers(1, 7)))
def test_the_order_of_answers_does_not_matter(order: list[int], missing: set[int]) -> None:
    reply = json.dumps({f"q{number}": f"answer {number}" for number in order if number not in missing})
    expected = [None if number in missing else f"answer {number}" for number in range(1, 8)]
    assert read_answers(reply, ["?"] * 7) == expected


@given(st.text() | data.map(json.dumps))
def test_any_reply_can_be_read(reply: str) -> None:
    assert len(read_answers(reply, TWO)) == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_question_stands_in_the_prompt_with_its_id(language: str) -> None:
    asked = asked_for_answers("Text of $questions.", TWO, "zh" if language == "zh" else "en")
    assert "Text of $questions." in asked
    assert "q1: Where?\nq2: When?" in asked
