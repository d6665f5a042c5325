"""The AMiner tasks: what they ask can be told from what they show, and guessing does not pay."""

from __future__ import annotations

import collections
import re

import pytest

from r_eval.records import Question
from r_eval.tasks.base import installed

TASKS = ("aminer/profiling", "aminer/soay-easy", "aminer/soay-hard")
LABELS = (
    "Professor, Associate Professor, Assistant Professor, Lecturer, Researcher, Associate Researcher, "
    "Assistant Researcher, Senior Engineer, Engineer, PhD Student or Other"
)


def everything(name: str) -> list[Question]:
    task = installed(name)
    return [*task.questions, *task.demonstrations]


def positions_asked() -> list[Question]:
    return [q for q in everything("aminer/profiling") if LABELS in q.question]


@pytest.mark.parametrize("name", TASKS)
def test_an_answer_is_text_that_a_person_would_write(name: str) -> None:
    for question in everything(name):
        answer = question.answers[0]
        assert not re.search(r"[\[\]{}]|None|True|False", answer)
        assert all(part.strip() for part in answer.split(";"))


def test_an_easy_question_takes_one_search_and_at_most_one_more_call() -> None:
    calls = {q.id: len(re.findall(r"\b(?:search|get)\w+\(", q.program or "")) for q in everything("aminer/soay-easy")}
    assert {key: count for key, count in calls.items() if count > 2} == {}


def test_no_position_is_the_answer_so_often_that_guessing_it_pays() -> None:
    found = collections.Counter(q.answers[0] for q in positions_asked())
    assert len(found) == 11
    assert max(found.values()) < len(positions_asked()) / 4
    assert 0.14 <= found["Other"] / len(positions_asked()) <= 0.18  # as the published set has it: 16 of 100
