"""Levels that a program clearly does not have."""

from __future__ import annotations

import asyncio

import pytest

from r_eval.checking.levels import wrong_level
from r_eval.environments.sandbox import Sandbox
from r_eval.records import Question
from r_eval.tasks.base import installed, open_environment
from r_eval.tasks.solving import solve

ONE_PAGE = "import re\nanswer = re.search('capital is ([^.;]+)[.;]', Search(entity='Kenya')).group(1)"
TWO_PAGES = (
    "import re\ncity = re.search('capital is ([^.;]+)[.;]', Search(entity='Kenya')).group(1)\n"
    "answer = Search(entity=city)[:30]"
)
COMPARED = f"{ONE_PAGE}\nanswer = 'Nairobi' if answer == 'Nairobi' else answer"


def level(program: str, level: str, answer: str = "Nairobi") -> str:
    question = Question.model_validate(
        {"id": "q", "question": "?", "answers": [answer], "level": level, "program": program}
    )
    with Sandbox() as sandbox:
        (solved,) = asyncio.run(solve([question], open_environment("wiki"), sandbox))
    assert not solved.error
    return wrong_level(solved)


def test_one_page_is_ks_and_not_ka() -> None:
    assert level(ONE_PAGE, "KS") == ""
    assert "the one call" in level(ONE_PAGE, "KA")


def test_a_page_that_another_page_names_is_ka_and_not_ks() -> None:
    assert "looks up with Search again" in level(TWO_PAGES, "KS")
    assert level(TWO_PAGES, "KA") == ""


def test_a_conclusion_from_one_page_may_be_ka() -> None:
    assert level(COMPARED, "KA") == ""


def test_two_entities_that_the_question_names_are_no_second_hop() -> None:
    program = "Search(entity='Kenya')\nanswer = Search(entity='Nairobi')[:20]"
    assert level(program, "KS") == ""


@pytest.mark.parametrize("program", [ONE_PAGE, TWO_PAGES])
def test_of_ku_a_program_says_nothing(program: str) -> None:
    assert level(program, "KU") == ""


@pytest.mark.parametrize("name", ["aminer/soay-easy", "aminer/soay-hard", "wiki/high-freq", "wiki/hotpotqa"])
def test_the_embedded_tasks_have_their_levels(name: str) -> None:
    task = installed(name)
    with Sandbox() as sandbox:
        solved = asyncio.run(solve(task.questions, open_environment(task.environment), sandbox))
    assert {wrong_level(one) for one in solved if not one.error} == {""}
