"""Gold programs of many questions at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from r_eval.environments.base import Environment, EnvironmentFailure, query_api
from r_eval.environments.sandbox import Sandbox
from r_eval.records import Question
from r_eval.tasks.solving import Solved, same_values, solve


class Numbers(Environment):
    """Numbers."""

    @query_api
    def double(self, number: int) -> int:
        """Double a number; 99 breaks the machinery.

        Args:
            number: Any.
        """
        if number == 99:
            raise EnvironmentFailure("the machine is broken")
        return 2 * number


def solved(*programs: str | None) -> list[Solved]:
    fields: dict[str, Any] = {"question": "How much?", "answers": ["2"], "level": "KS"}
    questions = [Question(id=f"q{n}", program=program, **fields) for n, program in enumerate(programs)]
    with Sandbox() as sandbox:
        return asyncio.run(solve(questions, Numbers(), sandbox))


def test_results_stand_in_the_order_of_the_questions() -> None:
    found = solved(*(f"answer = double(number={n})" for n in range(20)))
    assert [one.answer for one in found] == [str(2 * n) for n in range(20)]
    assert [one.steps[0].observation for one in found] == [str(2 * n) for n in range(20)]


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("answer = [][0]", "IndexError"),
        ("answer = ''", "it gives an empty answer"),
        ("answer = double(number=99)", "the environment failed: the machine is broken"),
        ("answer = (", "line 1: unexpected EOF"),
    ],
)
def test_a_program_without_an_answer_says_why_and_the_others_go_on(program: str, error: str) -> None:
    failed, right = solved(program, "answer = double(number=1)")
    assert error in failed.error
    assert failed.answer == ""
    assert (right.answer, right.error) == ("2", "")


def test_values_are_the_same_in_any_order_case_and_spacing() -> None:
    assert same_values("Paris; New  York", "new york;PARIS")
    assert not same_values("Paris; Paris", "Paris")
