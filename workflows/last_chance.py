"""The last chance: an LLM that has used up its steps, tokens or calls is asked once for an answer.

The runner gives the last chance to every workflow that leads one conversation, if the limits ask for it. The outcome of
the episode remains `exhausted`, now with an answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from r_eval.environments.schema import ApiSpec
from r_eval.llms.base import LLMError, Reply, Request
from r_eval.records import Outcome
from r_eval.workflows.answers import final_answer
from r_eval.workflows.base import (
    FINISH,
    LimitReached,
    LLMProtocol,
    Workflow,
    WorkflowResult,
    completion_prompt,
    ended,
    prompt,
    with_note,
)


async def last_chance(
    limit: LimitReached, owner: type[Workflow], specs: Mapping[str, ApiSpec], instruction: str, llm: LLMProtocol
) -> WorkflowResult:
    """Ask for the answer in the conversation that reached a limit.

    Query APIs are no longer offered. A conversation with tool calls has Finish as its only tool, since servers refuse
    such calls in a request without tools. The call is not required: some servers ignore or reject that, and an answer
    as text is parsed as well.

    Args:
        specs: The query APIs, so that a call is not mistaken for an answer.

    Raises:
        LLMError: The LLM failed for a reason other than the length of the conversation.
        LimitReached: No further call is possible.
    """
    request_text = prompt(owner, "last_chance", instruction=instruction)
    request = Request(with_note(limit.messages, request_text))
    if not llm.chat:
        request = Request(completion_prompt(request.messages, "Answer:"), stop=("\nQuestion:", "\n\n"))
    elif any(message.tool_calls for message in limit.messages):
        request = dataclasses.replace(request, tools=(FINISH,))
    llm.note(request_text)
    try:
        reply = await llm.generate(request)
    except LLMError as error:
        if error.cause != "context":
            raise
        reply = Reply("")
    answer = final_answer(reply, specs)
    if not answer:
        return ended("exhausted", limit.cause, f"{limit}; no answer at the last chance either")
    return answered_after(limit, answer)


def answered_after(limit: LimitReached, answer: str) -> WorkflowResult:
    """The result of an episode whose answer came after a limit."""
    outcome = Outcome(kind="exhausted", cause=limit.cause, detail=f"{limit}; answered after it")
    return WorkflowResult(answer, outcome, "last_chance")
