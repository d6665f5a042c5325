"""Base models, which know no roles: every workflow that can do without tools sends one text to be completed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from r_eval.llms.base import LLM
from r_eval.records import Document, Question
from r_eval.workflows.direct import Direct
from r_eval.workflows.pal import PAL
from r_eval.workflows.rag import RAG
from r_eval.workflows.react import ReAct
from tests.tiny_models import causal_model

SHOWN = Question(
    id="q0",
    question="What is in a 比萨 pizza?",
    answers=["flour"],
    level="KS",
    program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)[0]",
)


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


# Direct


def test_direct_ends_where_the_answer_begins(complete: Any) -> None:
    played = complete(Direct(), [" omelette\n"], shown=[SHOWN])
    assert text_of(played).endswith(
        "\n\nQuestion: What is in a 比萨 pizza?\nAnswer: flour\n\nQuestion: Which dish has an egg in it?\nAnswer:"
    )
    assert played.requests[0].stop == ("\nQuestion:", "\n\n")
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))


@pytest.mark.parametrize(
    "reply",
    [
        " omelette\n\nQuestion: What is in it?\nAnswer: egg",
        " omelette\nQuestion: What is in it?",
        "Answer: omelette",
        " omelette.\n\nThe omelette is a dish.",
        "\n\nQuestion: What is in it?",
    ],
)
def test_documents_stand_before_the_question_and_what_comes_after_the_answer_does_not_count(
    complete: Any, reply: str
) -> None:
    context = [Document(title="Омлет", text="Из яиц.")]
    question = Question(id="q1", question="Где яйцо?", answers=["omelette"], level="KS", context=context)
    played = complete(Direct(), [reply], question=question)
    assert text_of(played).endswith("Омлет\nИз яиц.\n\nQuestion: Где яйцо?\nAnswer:")
    if "omelette" in reply:
        assert played.answer.rstrip(".") == "omelette"
    else:
        assert played.outcome == ("gave_up", "empty_reply")


# PAL


def test_pal_ends_where_the_program_begins(complete: Any) -> None:
    played = complete(PAL(), ["\nanswer = find_dish(name='o')[0]\n"], shown=[SHOWN])
    assert text_of(played).endswith(
        f"\n\nQuestion: What is in a 比萨 pizza?\n```python\n{SHOWN.program}\n```"
        "\n\nQuestion: Which dish has an egg in it?\n```python"
    )
    assert played.requests[0].stop == ("\n```", "\nQuestion:")
    assert (played.answer, len(played.calls)) == ("omelette", 1)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("\nanswer = 'a'\n```\n\nQuestion: What is in it?\n```python\nanswer = 'b'\n```", ("finished", "")),
        ("\n\nanswer = 'a'\n\nQuestion: What is in it?", ("finished", "")),
        (" answer = 'a'", ("finished", "")),
        ("```python\nanswer = 'a'\n", ("finished", "")),
        ("\nif True:\n    answer = 'a'\n", ("finished", "")),
        ("\nanswer = (", ("tool_misuse", "syntax")),
        ("", ("tool_misuse", "no_program")),
        ("\n```", ("tool_misuse", "no_program")),
    ],
)
def test_a_program_ends_with_its_fence_or_before_the_next_question(
    complete: Any, reply: str, outcome: tuple[str, str]
) -> None:
    played = complete(PAL(), [reply])
    assert (played.answer, played.outcome) == ("a" if outcome == ("finished", "") else "", outcome)


def test_a_repair_goes_on_in_the_same_text(complete: Any) -> None:
    played = complete(PAL(repairs=1), ["\nanswer = 1 / 0", "\nanswer = 'omelette'"])
    first, second = text_of(played), text_of(played, 1)
    assert second.startswith(f"{first}\nanswer = 1 / 0\n```\n\nThe program failed: ")
    assert second.endswith("\n```python")
    assert played.answer == "omelette"


# ReAct


def test_react_completes_of_itself(complete: Any) -> None:
    played = complete(ReAct(), [" I look.\nAction 1: ingredients[omelette]", " I know.\nAction 2: Finish[omelette]"])
    first, second = text_of(played), text_of(played, 1)
    assert first.endswith("\n\nQuestion: Which dish has an egg in it?\nThought 1:")
    assert second == (
        f"{first} I look.\nAction 1: ingredients[omelette]\nObservation 1: 2 results.\negg\nbutter\nThought 2:"
    )
    assert played.requests[0].stop == ("\nObservation", "\nQuestion:")
    assert (played.answer, len(played.calls)) == ("omelette", 1)


def test_every_demonstration_of_react_stands_apart(complete: Any) -> None:
    text = text_of(complete(ReAct(), ["Finish[x]"], shown=[SHOWN]))
    assert "Answer with a name.\n\nQuestion: What is in a 比萨 pizza?\nThought 1: " in text
    assert "Finish[flour]\n\nQuestion: Which dish" in text


def test_react_answers_no_question_of_its_own_and_doubles_no_label(complete: Any) -> None:
    reply = " I know.\nAction 1: Finish[omelette]\n\nQuestion: And now?\nThought 1: So.\nAction 1: Finish[cake]"
    assert complete(ReAct(), [reply]).answer == "omelette"
    played = complete(ReAct(), ["Thought 1: I look.\nAction 1: ingredients[pizza]", "Finish[x]"])
    assert "Thought 1: Thought" not in text_of(played, 1)


# RAG


@pytest.mark.parametrize(
    ("question", "end"),
    [
        ("Which dish has an egg in it?", "\n\nQuestion: Which dish has an egg in it?\nAnswer:"),
        ("哪道菜里有鸡蛋？", "\n\n问题：哪道菜里有鸡蛋？\n答案："),
    ],
)
def test_rag_ends_where_the_answer_begins(complete: Any, question: str, end: str) -> None:
    asked = Question(id="q1", question=question, answers=["omelette"], level="KS")
    played = complete(RAG(api="find_dish"), [" omelette"], question=asked)
    assert text_of(played).endswith(end)
    assert played.answer == "omelette"


def test_rag_writes_its_queries_as_one_text(complete: Any) -> None:
    played = complete(RAG(api="find_dish", rewrite=True), ['name="o")\nfind_dish(name="e")', " omelette"])
    assert text_of(played).endswith("\n\nQuestion: Which dish has an egg in it?\nfind_dish(")
    assert [step.arguments["name"] for step in played.calls] == ["o", "e"]
    played = complete(RAG(api="find_dish", rewrite=True), ["", " omelette"])
    assert [step.arguments["name"] for step in played.calls] == ["Which dish has an egg in it?"]


# A whole run


@pytest.mark.slow
@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("torch", "transformers")), reason="needs the extra hf"
)
def test_a_base_model_runs_in_every_workflow_that_needs_no_tools_and_the_others_say_why(tmp_path: Path) -> None:
    model = causal_model(tmp_path / "model", context=20_000)
    grid = Grid(
        name="base",
        llms=[{"llm": f"hf/{model}", "name": "base", "max_tokens": 16}],
        workflows=["direct", "react", "pal", "fc", "dfsdt"],
        tasks=["aminer/soay-easy"],
        samples=1,
        shots=1,
        limits={"steps": 2},
    )
    episodes = {e.workflow: e for e in run(grid, tmp_path / "run").episodes()}
    for name in ("direct", "react", "pal"):
        assert episodes[name].outcome.kind != "llm_failure"
        assert episodes[name].usage.completion_tokens > 0
    for name in ("fc", "dfsdt"):
        assert (episodes[name].outcome.kind, episodes[name].outcome.cause) == ("llm_failure", "request")
        assert "is a base model: tools need a chat template" in episodes[name].outcome.detail
        assert episodes[name].usage.completion_tokens == 0
