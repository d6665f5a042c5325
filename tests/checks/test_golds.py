"""What a gold and a question's text say about each other."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.checks.golds import leaked
from r_eval.records import Question
from tests.timing import quickest


def question(text: str, *answers: str, name: str = "q", **meta: Any) -> Question:
    return Question(id=name, question=text, answers=list(answers), level="KS", meta=meta)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("In which city does the Paris Opera of Garnier stand?", "Paris"),
        ("Who wrote the biography of Marie Curie?", "marie curie"),
        ("What links Oslo to Rome, and since when?", "Oslo; Rome"),
        ("居里夫人的丈夫是谁？", "居里"),
        ("What is the capital of New Zealand?", "New Zealand"),
    ],
)
def test_an_answer_that_stands_in_the_question_is_a_leak(text: str, answer: str) -> None:
    assert leaked(question(text, answer))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Which river is longer, the Niger River or the River Shannon?", "Niger River"),
        ("Which river is longer, the Niger River or the River Shannon?", "River Shannon"),
        ("Which of Ada Lovelace and Alan Turing was born first?", "Ada Lovelace"),
        ("Who is older, Trinidad and Tobago or Fiji?", "Trinidad and Tobago"),
        ("Which is closest to a lake: river, hill, sea or town?", "river"),
        ("Which fits?\n- lake\n- hill\n- town", "hill"),
        ("尼日尔河和香农河哪条更长，尼日尔河还是香农河？", "香农河"),
    ],
)
def test_a_choice_may_name_its_answer(text: str, answer: str) -> None:
    assert not leaked(question(text, answer))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Is it true or false that 7 is no prime?", "true"),
        ("Is there no bridge, yes or no?", "no"),
        ("How many of the 12 months have 7 letters?", "7"),
        ("In which year was 1987 written?", "198"),
        ("Who knows Nowak?", "no"),
    ],
)
def test_a_verdict_a_small_number_and_a_part_of_a_word_are_no_leak(text: str, answer: str) -> None:
    assert not leaked(question(text, answer))


def test_candidates_that_meta_lists_make_a_choice() -> None:
    text = "Lake hill town stand for what water is?"
    assert leaked(question(text, "lake"))
    assert not leaked(question(text, "lake", choices=["lake", "hill", "town"]))


def test_a_question_that_brings_its_text_along_is_no_leak() -> None:
    text = "Where does she work? " + "She works at Ostrad University with others. " * 12
    assert not leaked(question(text, "Ostrad University"))


def test_ten_thousand_questions_take_seconds() -> None:
    asked = [
        question(f"Who wrote the book {n} of series {n % 7}, A or B?", f"Author {n}", name=str(n))
        for n in range(10_000)
    ]

    def checks() -> None:
        assert not any(leaked(q) for q in asked)

    assert quickest(checks, enough=20.0) < 20.0
