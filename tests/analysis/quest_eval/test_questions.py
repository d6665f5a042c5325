"""Questions about a reference: what the LLM is told, and how its reply is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.quest_eval.questions import Written, asked_for_questions, read_questions
from r_eval.languages import language_of

READABLE = [
    '{"key_info": ["Kenya"], "questions": ["Where?", "When?"]}',
    '{"key_info": ["Kenya"], "question": ["Where?", "When?"]}',
    '```json\n{"key_info": ["Kenya"], "questions": ["Where?", "When?"]}\n```',
    'Here you are:\n{"key_info": ["Kenya"],\n "questions": ["Where?", "When?",],}\nI hope that it helps.',
    "{'key_info': ['Kenya'], 'questions': ['Where?', 'When?']}",
    '{"key_info": ["Kenya"], "questions": [{"question": "Where?"}, {"question": "When?"}]}',
    '{"key_info": ["Kenya", "Kenya"], "questions": ["Where?", " When?\\n", "Where?", "", 3]}',
    'As asked, {"key_info": [], "questions": []}: {"key_info": ["Kenya"], "questions": ["Where?", "When?"]}',
]


@pytest.mark.parametrize("reply", READABLE)
def test_the_questions_are_read_whatever_stands_around_them(reply: str) -> None:
    assert read_questions(reply) == Written(("Kenya",), ("Where?", "When?"))


@pytest.mark.parametrize("reply", ["", "Where? When?", "{}", '{"questions": "Where?"}', '{"questions": []}', "[1]"])
def test_a_reply_without_questions_has_none(reply: str) -> None:
    assert read_questions(reply) is None


@given(st.lists(st.text(min_size=1), max_size=5), st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_key_information_and_questions_need_not_be_as_many(key_info: list[str], questions: list[str]) -> None:
    found = read_questions(json.dumps({"key_info": key_info, "questions": questions}))
    expected = list(dict.fromkeys(" ".join(text.split()) for text in questions if text.strip()))
    assert ([] if found is None else list(found.questions)) == expected


@given(st.text())
def test_any_reply_can_be_read(reply: str) -> None:
    found = read_questions(reply)
    assert found is None or found.questions


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("国家图书馆昨天宣布闭馆。", "zh"),
        ("NP137 抗肿瘤", "zh"),
        ("The library closes.", "en"),
        ("", "en"),
        ("42", "en"),
        ("The Peking University (北京大学) was founded in 1898.", "en"),
        ("東京タワーは東京にあります", "en"),
    ],
)
def test_the_prompts_are_in_the_language_of_the_reference(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_reference_is_shown_as_it_stands() -> None:
    assert "\nIt costs $text and $5\n" in asked_for_questions("It costs $text and $5")
