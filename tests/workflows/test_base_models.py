"""Base models, which have no roles: workflows without tools send one text to be completed."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.llms.base import LLM
from r_eval.records import Question
from r_eval.workflows.base import Workflow
from r_eval.workflows.dfsdt import DFSDT
from r_eval.workflows.direct import Direct
from r_eval.workflows.fc import FC
from r_eval.workflows.pal import PAL
from r_eval.workflows.rag import RAG
from r_eval.workflows.react import ReAct

SHOT = Question(
    id="q0",
    question="What is in a 比萨 pizza?",
    answers=["flour"],
    level="KS",
    program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)[0]",
)
EGG = "Which dish has an egg in it?"


@pytest.fixture
def complete(play: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plays an episode with an LLM that is a base model."""
    monkeypatch.setattr(LLM, "chat", False)
    return play


def text_of(played: Any, request: int = 0) -> str:
    """The one text that is sent."""
    ((role, text),) = played.said(request)
    assert role == "user"
    return str(text)


@pytest.mark.parametrize(
    ("workflow", "reply", "end", "stop"),
    [
        (Direct(), " omelette\n", f"\nAnswer: flour\n\nQuestion: {EGG}\nAnswer:", ("\nQuestion:", "\n\n")),
        (
            PAL(),
            "\nanswer = find_dish(name='o')[0]\n",
            f"\n```python\n{SHOT.program}\n```\n\nQuestion: {EGG}\n```python",
            ("\n```", "\nQuestion:"),
        ),
        (
            ReAct(),
            " I know.\nAction 1: Finish[omelette]\n\nQuestion: And now?\nThought 1: So.\nAction 1: Finish[cake]",
            f"Finish[flour]\n\nQuestion: {EGG}\nThought 1:",
            ("\nObservation", "\nQuestion:"),
        ),
        (RAG(), " omelette", f"\n\nQuestion: {EGG}\nAnswer:", ("\nQuestion:", "\n\n")),
    ],
    ids=["direct", "pal", "react", "rag"],
)
def test_the_text_ends_where_the_reply_begins(
    complete: Any, workflow: Workflow, reply: str, end: str, stop: tuple[str, ...]
) -> None:
    played = complete(workflow, [reply], shown=[SHOT])
    assert text_of(played).endswith(end)
    assert "\n\nQuestion: What is in a 比萨 pizza?\n" in text_of(played)
    assert (played.answer, played.outcome, played.requests[0].stop) == ("omelette", ("finished", ""), stop)


def test_react_continues_its_text(complete: Any) -> None:
    played = complete(ReAct(), [" I look.\nAction 1: ingredients[omelette]", " I know.\nAction 2: Finish[omelette]"])
    turn = " I look.\nAction 1: ingredients[omelette]\nObservation 1: 2 results.\negg\nbutter\nThought 2:"
    assert text_of(played, 1) == text_of(played) + turn
    played = complete(ReAct(), ["Thought 1: I look.\nAction 1: ingredients[pizza]", "Finish[x]"])
    assert "Thought 1: Thought" not in text_of(played, 1)


@pytest.mark.parametrize("workflow", [FC(), DFSDT()], ids=["fc", "dfsdt"])
def test_a_workflow_that_needs_tools_says_so(complete: Any, workflow: Workflow) -> None:
    played = complete(workflow, ["omelette"])
    assert (played.outcome, played.requests) == (("llm_failure", "request"), [])
    assert "is a base model: tools need a chat template" in played.episode.outcome.detail
