"""PAL: one program, run once; its answer as text, its failure with a cause."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.workflows.pal import PAL


def program(text: str) -> list[str]:
    return [f"Here it is:\n```python\n{text}\n```"]


def test_a_program_is_run_over_the_query_apis(play: Any) -> None:
    played = play(PAL(), program("dish = find_dish(name='o')[0]\nanswer = {dish, len(ingredients(dish)) > 1}"))
    assert (played.answer, played.outcome, len(played.requests)) == ("yes; omelette", ("finished", ""), 1)
    assert [(step.api, step.arguments) for step in played.calls] == [
        ("find_dish", {"name": "o"}),
        ("ingredients", {"dish": "omelette"}),
    ]
    system = played.said(0)[0][1]
    assert "def find_dish(name: str, limit: int = 5) -> list[str]:" in system
    assert "def ingredients(dish: str) -> list[str]:" in system


@pytest.mark.parametrize(
    ("text", "cause", "message"),
    [
        ("answer = (", "syntax", ""),
        ("answer = 1\nanswer = find_dis(name='o')", "unknown_api", "line 2"),
        ("x = 1\n\nanswer = ingredients(dish='cake')", "not_found", "line 3"),
        ("while True: print('a')", "output", "20,000 bytes were printed"),
        ("x = 1", "no_answer", "answer"),
        ("", "no_program", ""),
    ],
)
def test_a_program_that_fails_is_a_misuse_with_its_cause(play: Any, text: str, cause: str, message: str) -> None:
    played = play(PAL(), program(text))
    assert (played.answer, played.outcome) == ("", ("tool_misuse", cause))
    assert message in played.episode.outcome.detail
    assert played.episode.steps[-1].error == "unparsed"


def test_a_program_may_catch_an_error_of_an_api(play: Any) -> None:
    text = "try:\n    ingredients(dish='cake')\nexcept LookupError as error:\n    answer = str(error)"
    played = play(PAL(), program(text))
    assert "There is no dish cake" in played.answer
    assert played.calls[0].error == "not_found"


@pytest.mark.parametrize(
    "reply",
    [
        "Sure!\n\ndishes = find_dish(name='o')\nanswer = dishes[0]\n\nThis looks for the dish.",
        "First I look.\ndishes = find_dish(name='o')\nfor dish in dishes:\n    answer = dish\nThat is it.",
        "We import what we need:\nimport re\nanswer = re.sub('x', '', find_dish(name='o')[0])",
        "Program:\nprint(find_dish(name='o')[0])",
        "```py\nanswer = 'omelette'\n```\n```python\nanswer = 2\n```",
        "```python\nanswer = 'omelette'",
        "As data:\n```json\n[1]\n```\nIn Python:\n``` Python3\nanswer = 'omelette'\n```",
        "```python answer = find_dish(name='o')[0]```",
        "I write:\n```answer = find_dish(name='o')[0]```",
        "`answer = find_dish(name='o')[0]`",
        "<pre><code>answer = find_dish(name='o')[0]</code></pre>",
        "<|python_tag|>answer = find_dish(name='o')[0]<|eom_id|>",
        "1. Look:\n   ```python\n   dish = find_dish(name='o')[0]\n   answer = dish\n   ```",
    ],
)
def test_a_program_needs_no_fence(play: Any, reply: str) -> None:
    assert play(PAL(), [reply]).answer == "omelette"
