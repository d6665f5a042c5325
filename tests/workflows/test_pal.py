"""PAL: one program, run once; its answer as text, its failure with a cause."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.workflows.pal import PAL, program_in


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
        ("", "no_program", ""),
    ],
)
def test_a_program_that_fails_is_a_misuse_with_its_cause(play: Any, text: str, cause: str, message: str) -> None:
    played = play(PAL(), program(text))
    assert played.outcome == ("tool_misuse", cause)
    assert message in played.episode.outcome.detail
    assert played.answer == ""
    assert played.episode.steps[-1].error == "unparsed"


@pytest.mark.parametrize("text", ["while True: print('a')", "print('a' * 10 ** 5)\nanswer = 1"])
def test_a_program_that_prints_too_much_says_so(play: Any, text: str) -> None:
    played = play(PAL(), program(text))
    assert played.outcome == ("tool_misuse", "output")
    assert "20,000 bytes were printed" in played.episode.outcome.detail


def test_a_program_may_catch_what_was_not_found(play: Any) -> None:
    text = "try:\n    ingredients(dish='cake')\nexcept LookupError as error:\n    answer = str(error)"
    played = play(PAL(), program(text))
    assert "There is no dish cake" in played.answer
    assert played.calls[0].error == "not_found"


@pytest.mark.parametrize(
    "reply",
    [
        "Here is the program:\nanswer = find_dish(name='o')[0]",
        "Sure!\n\ndishes = find_dish(name='o')\nanswer = dishes[0]\n\nThis looks for the dish.",
        "First I look.\ndishes = find_dish(name='o')\nfor dish in dishes:\n    answer = dish\nThat is it.",
        "We import what we need:\nimport re\nanswer = re.sub('x', '', find_dish(name='o')[0])",
        "Program:\nprint(find_dish(name='o')[0])",
    ],
)
def test_the_program_may_stand_bare_among_words(play: Any, reply: str) -> None:
    assert play(PAL(), [reply]).answer == "omelette"


@settings(max_examples=200)
@given(
    st.text()
    | st.lists(st.sampled_from(["a = 1\n", "for x in y:\n", "    ", "f(", ")", "\n", "words\n", '"""'])).map("".join)
)
def test_any_text_is_searched_for_a_bare_program(text: str) -> None:
    found = program_in(text)
    if "```" not in text:
        ast.parse(found)
    assert all(line.strip() in text for line in found.splitlines())


# Repairs

WRONG = program("dish = 'omelette'\nanswer = find_dishes(name=dish)")[0]
RIGHT = program("answer = find_dish(name='o')[0]")[0]


def test_a_repair_is_told_the_error_and_the_line(play: Any) -> None:
    played = play(PAL(repairs=1), [WRONG, RIGHT])
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))
    said = played.said(1)
    assert said[-2] == ("assistant", WRONG)
    assert said[-1][1].startswith(
        "The program failed: line 2: NameError: name 'find_dishes' is not defined\n"
        "The line: answer = find_dishes(name=dish)\n"
    )
    assert played.notes == [said[-1][1]]


def test_no_more_repairs_are_made_than_allowed(play: Any) -> None:
    played = play(PAL(repairs=3), [WRONG])
    assert len(played.requests) == 4
    assert len(played.notes) == 3
    assert played.outcome == ("tool_misuse", "unknown_api")
    assert "(after 3 repairs)" in played.episode.outcome.detail


def test_the_last_program_decides_how_it_ended(play: Any) -> None:
    assert play(PAL(repairs=1), [WRONG, "I give up."]).outcome == ("tool_misuse", "no_program")
    assert play(PAL(repairs=1), [WRONG, program("1 / 0")[0]]).outcome == ("tool_misuse", "exception")


def test_a_repaired_program_begins_anew(play: Any) -> None:
    played = play(PAL(repairs=1), [program("dish = 'omelette'\n1 / 0")[0], program("answer = dish")[0]])
    assert played.outcome == ("tool_misuse", "exception")


@pytest.mark.parametrize("value", [-1, 1.5, True, "1", None])
def test_repairs_must_be_a_whole_number(value: Any) -> None:
    with pytest.raises(ValueError, match="repairs"):
        PAL(repairs=value)


def test_the_instructions_hold_a_stub_of_every_api(play: Any) -> None:
    system = play(PAL(), ["answer = 1"]).said(0)[0][1]
    assert "def find_dish(name: str, limit: int = 5) -> list[str]:" in system
    assert "def ingredients(dish: str) -> list[str]:" in system
    assert "Answer with a name." in system
