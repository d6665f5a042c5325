"""Whether a question's text gives its answer away."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.checks.questions import leaked
from r_eval.records import Question

LONGER = "Which river is longer, the Niger River or the River Shannon?"
LEAKS: dict[str, list[tuple[str, str]]] = {
    "stands in the question": [
        ("In which city does the Paris Opera of Garnier stand?", "Paris"),
        ("Who wrote the biography of Marie Curie?", "marie curie"),
        ("What links Oslo to Rome, and since when?", "Oslo; Rome"),
        ("居里夫人的丈夫是谁？", "居里"),
        ("What is the capital of New Zealand?", "New Zealand"),
    ],
    "is one of several": [
        (LONGER, "Niger River"),
        (LONGER, "River Shannon"),
        ("Which of Ada Lovelace and Alan Turing was born first?", "Ada Lovelace"),
        ("Who is older, Trinidad and Tobago or Fiji?", "Trinidad and Tobago"),
        ("Which is closest to a lake: river, hill, sea or town?", "river"),
        ("Which fits?\n- lake\n- hill\n- town", "hill"),
        ("尼日尔河和香农河哪条更长，尼日尔河还是香农河？", "香农河"),
    ],
    "is a verdict, a small number or a part of a word": [
        ("Is it true or false that 7 is no prime?", "true"),
        ("Is there no bridge, yes or no?", "no"),
        ("How many of the 12 months have 7 letters?", "7"),
        ("In which year was 1987 written?", "198"),
        ("Who knows Nowak?", "no"),
    ],
    "is in a text that the question brings along": [
        ("Where does she work? " + "She works at Ostrad University with others. " * 12, "Ostrad University"),
    ],
}


def question(text: str, answer: str, name: str = "q", **meta: Any) -> Question:
    return Question(id=name, question=text, answers=[answer], level="KS", meta=meta)


@pytest.mark.parametrize("kind", LEAKS)
def test_only_an_answer_that_stands_in_the_question_is_a_leak(kind: str) -> None:
    for text, answer in LEAKS[kind]:
        assert leaked(question(text, answer)) == (kind == "stands in the question"), text
