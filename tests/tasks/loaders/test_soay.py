"""SoAyBench: templates, hops, languages, and answers that are no text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.tasks.loaders import load
from r_eval.tasks.loaders.soay import answer_of
from tests.tasks.loaders.conftest import Write

RECORD: dict[str, Any] = {
    "Query": "Ada Byron 在哪里?",
    "Query_en": "Where does Ada Byron of Sund work?",
    "Answer": "Sund University",
    "Base_Question_zh": "XX 在哪里?",
    "Base_Question_en": "Where does XX work?",
    "Inputs": "name, organization",
    "Outputs": "organization",
    "Entity_Information": {"name": "Ada Byron"},
}


@pytest.fixture
def folder(as_lines: Write) -> Path:
    """A folder of three templates: 1 and 8 take one call, 9 takes two."""
    for number in (1, 8, 9):
        as_lines(f"soay/{number}.jsonl", [{**RECORD, "Query_en": f"Question {number}-{n}?"} for n in range(2)])
    return as_lines("soay/readme.txt", []).parent


def test_easy_are_the_templates_of_one_call_and_the_eighth_is_one_of_them(folder: Path) -> None:
    data = load(folder, "soay", settings={"difficulty": "easy"})
    assert {q.meta["template"] for q in data.questions} == {1, 8}
    assert data.skipped == {"not easy": 2}


@pytest.mark.parametrize(("language", "key"), [("en", "Query_en"), ("zh", "Query")])
def test_questions_come_in_either_language(as_lines: Write, language: str, key: str) -> None:
    (question,) = load(as_lines("1.jsonl", [RECORD]), "soay", settings={"language": language}).questions
    assert question.question == RECORD[key]


def test_a_record_without_an_answer_is_left_out_and_not_broken(as_lines: Write) -> None:
    data = load(as_lines("1.jsonl", [RECORD, {**RECORD, "Answer": ""}]), "soay")
    assert (len(data.questions), data.skipped) == (1, {"without an answer": 1})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.0, "12"),
        (["logic", "poetry"], "logic;poetry"),
        ({"info": {"name": "KDD"}, "issue": "", "volume": ""}, "KDD"),
        ([{"name": "Ada Byron", "interest": ["logic"]}, {"name": "Alan Turing"}], "Ada Byron;Alan Turing"),
        (["", None, {}], ""),
    ],
)
def test_an_answer_that_is_no_text_becomes_one(value: Any, text: str) -> None:
    assert answer_of(value) == text
