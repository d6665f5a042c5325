"""PAL: one program, run once; its answer as text, its failure with a cause."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.records import Question
from r_eval.workflows.pal import PAL


def program(text: str) -> list[str]:
    return [f"Here it is:\n```python\n{text}\n```"]


def test_a_program_is_run_over_the_query_apis(play: Any) -> None:
    played = play(PAL(), program("dish = find_dish(name='o')[0]\nanswer = dish if 'egg' in ingredients(dish) else ''"))
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))
    assert [(step.api, step.arguments) for step in played.calls] == [
        ("find_dish", {"name": "o"}),
        ("ingredients", {"dish": "omelette"}),
    ]
    assert len(played.requests) == 1


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("answer = 'omelette'", "omelette"),
        ("'omelette'", "omelette"),
        ("print('omelette')", "omelette"),
        ("print('no')\nanswer = 'omelette'", "omelette"),
        ("answer = 'omelette'\n'no'", "omelette"),
        ("answer = 1 < 2", "yes"),
        ("answer = 1 > 2", "no"),
        ("answer = ['egg', 'butter']", "egg; butter"),
        ("answer = ('egg', 'butter')", "egg; butter"),
        ("answer = {'egg', 'butter'}", "butter; egg"),
        ("answer = {'eggs': 2}", "eggs: 2"),
        ("answer = [['egg', 1], ['butter', 2]]", "egg; 1; butter; 2"),
        ("answer = 42", "42"),
        ("answer = 2 / 4", "0.5"),
        ("answer = 6 / 3", "2"),
        ("answer = 0.1 + 0.2", "0.3"),
        ("answer = len(find_dish(name=''))", "2"),
        ("answer = 0", "0"),
        ("answer = []", ""),
        ("answer = ''", ""),
        ("import re\nanswer = re.sub('l.*', '', 'omelette')", "ome"),
    ],
)
def test_the_answer_of_a_program_is_text(play: Any, text: str, answer: str) -> None:
    assert play(PAL(), program(text)).answer == answer


@pytest.mark.parametrize(
    ("text", "cause", "message"),
    [
        ("answer = (", "syntax", ""),
        ("answer = 1\nanswer = find_dis(name='o')", "unknown_api", "line 2"),
        ("answer = find_dish(title='o')", "bad_arguments", "no argument 'title'"),
        ("answer = find_dish()", "bad_arguments", "needs the argument 'name'"),
        ("x = 1\n\nanswer = ingredients(dish='cake')", "not_found", "line 3"),
        ("answer = {}['a']", "exception", "KeyError"),
        ("assert 1 > 2, 'never'", "exception", "never"),
        ("import subprocess", "exception", "ModuleNotFoundError"),
        ("while True: pass", "time", ""),
        ("answer = 'a' * 10 ** 10", "memory", ""),
        ("while True: find_dish(name='o')", "calls", ""),
        ("x = 1", "no_answer", "answer"),
        ("def f(): return f()\nf()", "exception", "RecursionError"),
    ],
)
def test_a_program_that_fails_is_a_misuse_with_its_cause(play: Any, text: str, cause: str, message: str) -> None:
    played = play(PAL(), program(text))
    assert played.outcome == ("tool_misuse", cause)
    assert message in played.episode.outcome.detail
    assert played.answer == ""
    assert played.episode.steps[-1].error == "unparsed"


def test_calls_made_before_a_failure_are_recorded(play: Any) -> None:
    played = play(PAL(), program("find_dish(name='o')\n1 / 0"))
    assert [step.api for step in played.calls] == ["find_dish"]


def test_a_program_may_catch_what_was_not_found(play: Any) -> None:
    text = "try:\n    ingredients(dish='cake')\nexcept LookupError as error:\n    answer = str(error)"
    played = play(PAL(), program(text))
    assert "There is no dish cake" in played.answer
    assert played.calls[0].error == "not_found"


@pytest.mark.parametrize("reply", ["", "I do not know.", "```python\n```"])
def test_a_reply_without_a_program_is_a_misuse(play: Any, reply: str) -> None:
    assert play(PAL(), [reply]).outcome == ("tool_misuse", "no_program")


def test_the_program_may_stand_bare(play: Any) -> None:
    assert play(PAL(), ["answer = find_dish(name='o')[0]"]).answer == "omelette"


def test_the_instructions_hold_a_stub_of_every_api(play: Any) -> None:
    system = play(PAL(), ["answer = 1"]).said(0)[0][1]
    assert "def find_dish(name: str, limit: int = 5) -> list[str]:" in system
    assert "def ingredients(dish: str) -> list[str]:" in system
    assert "Answer with a name." in system


def test_a_demonstration_is_its_question_and_program(play: Any) -> None:
    text = "dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)"
    shown = Question(id="q0", question="What is in a pizza?", answers=["flour"], level="KS", program=text)
    messages = play(PAL(), ["answer = 1"], shown=[shown]).said(0)
    assert messages[1:3] == [("user", "What is in a pizza?"), ("assistant", f"```python\n{text}\n```")]
    assert messages[3] == ("user", "Which dish has an egg in it?")
