"""The limits of an episode, the last chance where one is reached, and what is left out where the context overflows."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from r_eval.environments.base import Environment, query_api
from r_eval.grid import Limits
from r_eval.llms.base import LLMError, Reply, Request, ToolCall
from r_eval.runner.episode_llm import MARK
from r_eval.workflows.base import Workflow
from r_eval.workflows.fc import FC
from r_eval.workflows.react import ReAct
from tests.workflow_contract import in_every_notation as looking

EACH = 15
"""Tokens of a reply of `looking`: the same right call for ever."""


def asked_last(request: Request) -> bool:
    return "Answer now" in request.messages[-1].content


def answering(said: str | Reply) -> Callable[[Request], Reply | str]:
    """Looks for ever, and answers when asked for the last time."""
    return lambda request: said if asked_last(request) else looking(request)


STEPWISE = pytest.mark.parametrize("workflow", [ReAct(), FC()], ids=["react", "fc"])
LIMITED = pytest.mark.parametrize("limits", [{"steps": 3}, {"calls": 4}, {"tokens": 4 * EACH}], ids=str)


# The last chance


@LIMITED
@STEPWISE
def test_at_a_limit_the_answer_is_asked_for_once_more(play: Any, workflow: Workflow, limits: dict[str, int]) -> None:
    played = play(workflow, answering("omelette"), **limits)
    (cause,) = limits
    assert (played.answer, played.outcome) == ("omelette", ("exhausted", cause))
    assert [(step.kind, step.error) for step in played.episode.steps[-3:]] == [
        ("observation", None),
        ("thought", None),
        ("answer", None),
    ]
    assert played.episode.steps[-1].observation == "last_chance"
    assert "Answer now" in played.notes[-1]
    assert "Answer in one word." in played.notes[-1]
    assert "answered after it" in played.episode.outcome.detail
    assert [asked_last(request) for request in played.requests].count(True) == 1
    roles = [role for role, _ in played.said(-1)]
    assert all(one != two for one, two in itertools.pairwise(roles)), "two messages of the user are one"
    played = play(workflow, answering("omelette"), **limits, last_chance=False)
    assert (played.answer, played.outcome) == ("", ("exhausted", cause))
    assert not any(asked_last(request) for request in played.requests)


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
def test_at_the_last_chance_of_a_conversation_with_calls_finish_is_the_only_tool(play: Any, native: bool) -> None:
    end = Reply("", (ToolCall("id", "Finish", {"answer": "omelette"}),), "tool_calls")
    said = end if native else '<tool_call>{"name": "Finish", "arguments": {"answer": "omelette"}}</tool_call>'
    played = play(FC(), answering(said), native=native, calls=3)
    assert played.answer == "omelette"
    last = played.requests[-1]
    if native:
        assert ([tool.name for tool in last.tools], last.tool_choice) == (["Finish"], "auto")
    else:
        assert '"find_dish", "description"' not in last.messages[0].content


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [("connection", ("llm_failure", "connection")), ("context", ("exhausted", "steps"))],
)
def test_an_llm_may_fail_at_the_last_chance(play: Any, failure: str, outcome: tuple[str, str]) -> None:
    def speak(request: Request) -> Reply:
        if asked_last(request):
            raise LLMError(failure, "gone")
        return looking(request)

    assert play(ReAct(), speak, steps=2).outcome == outcome


def slow(request: Request) -> Reply:
    time.sleep(0.1)
    return looking(request)


@pytest.mark.parametrize(
    ("speaker", "limits", "outcome"),
    [(slow, {"seconds": 0.05}, ("tool_misuse", "seconds")), (looking, {"tokens": 1}, ("exhausted", "tokens"))],
    ids=["time", "tokens"],
)
def test_where_nothing_is_left_there_is_no_last_chance(play: Any, speaker: Any, limits: Any, outcome: Any) -> None:
    played = play(ReAct(), speaker, **limits)
    assert (len(played.requests), played.outcome) == (1, outcome)


# Calls and tokens


@pytest.mark.parametrize("tokens", [EACH + 1, 3 * EACH, 4 * EACH, 100])
def test_the_tokens_of_the_last_chance_are_kept_free(play: Any, tokens: int) -> None:
    played = play(ReAct(), looking, tokens=tokens, steps=20)
    used = played.episode.usage.prompt_tokens + played.episode.usage.completion_tokens
    assert asked_last(played.requests[-1])
    assert used < tokens + EACH


@pytest.mark.parametrize("limits", [{"calls": 0}, {"calls": 1.5}, {"last_chance": 1}, {"last_chance": "no"}])
def test_a_grids_limits_are_checked(limits: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate(limits)


# The context


class Encyclopaedia(Environment):
    """Long pages."""

    @query_api
    def read(self, page: str) -> str:
        """Read a page.

        Args:
            page: Its title.
        """
        return f"The page of {page} begins here. " + f"\n{page} has more to say." * 40


def reader(context: int) -> tuple[Callable[[Request], Reply | str], list[int]]:
    """An LLM that reads page after page, with a context of so many characters; and the sizes that it accepted."""
    accepted: list[int] = []

    def speak(request: Request) -> Reply | str:
        size = sum(len(message.content) for message in request.messages)
        if size > context:
            raise LLMError("context", "too long")
        accepted.append(size)
        page = f"Page{len(accepted)}"
        if request.tools:
            return Reply("", (ToolCall(f"id-{page}", "read", {"page": page}),), "tool_calls")
        return f"Action: read[{page}]"

    return speak, accepted


@STEPWISE
def test_if_the_context_overflows_the_oldest_observations_are_sent_shortened(play: Any, workflow: Workflow) -> None:
    speak, accepted = reader(4000)
    played = play(workflow, speak, environment=Encyclopaedia(), steps=6, last_chance=False)
    sent = "\n".join(message.content for message in played.requests[-1].messages)
    assert (played.outcome, len(accepted)) == (("exhausted", "steps"), 6)
    assert f"The page of Page1 begins here. {MARK}" in sent
    assert "Page5 has more to say." in sent
    assert "Page1 has more to say." not in sent
    assert all((step.observation or "").count("has more to say") == 40 for step in played.calls), "the record is whole"
    assert MARK not in json.dumps([step.model_dump() for step in played.episode.steps], ensure_ascii=False)
    assert len(played.requests) - played.episode.usage.calls == sum("overflowed" in note for note in played.notes)
    first = next(i for i, r in enumerate(played.requests) if MARK in "".join(m.content for m in r.messages))
    assert all(MARK in "".join(m.content for m in r.messages) for r in played.requests[first:])


def test_a_context_that_cannot_hold_even_the_question_is_given_up(play: Any) -> None:
    speak, _ = reader(10)
    played = play(ReAct(), speak, environment=Encyclopaedia())
    assert (len(played.requests), played.outcome) == (1, ("exhausted", "context"))


def test_the_attempts_at_a_context_that_holds_too_little_are_bounded(play: Any) -> None:
    def speak(request: Request) -> Reply | str:
        if len(request.messages) > 16:
            raise LLMError("context", "too long")
        return f"Action: read[Page{len(request.messages)}]"

    played = play(ReAct(), speak, environment=Encyclopaedia(), steps=20)
    assert played.outcome == ("exhausted", "context")
    assert len(played.requests) < 16
