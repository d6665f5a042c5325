"""The last chance: an LLM whose steps, tokens or calls are used up is asked once for an answer from what it has.

It is the same for every workflow that leads one conversation, and part of none of them: whoever carries out the episode
gives it, where the limits ask for it. The episode is still one that was exhausted, now with an answer.
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
    completed,
    ended,
    prompt,
    with_note,
)

HOW = "last_chance"


async def last_chance(
    reached: LimitReached, owner: type[Workflow], specs: Mapping[str, ApiSpec], instruction: str, llm: LLMProtocol
) -> WorkflowResult:
    """Ask for the answer now, in the conversation that met a limit.

    No query API is offered any more. A conversation with tool calls still has Finish as its only tool, since servers
    refuse such calls in a request without tools. A call is not required: some servers ignore that, some fail over it,
    and an answer as text is read as well.

    Args:
        specs: The query APIs, so that another call is not taken for an answer.

    Raises:
        LLMError: There is no reply, for another reason than the length of the conversation.
        LimitReached: There is no room for another call.
    """
    asked = prompt(owner, "last_chance", instruction=instruction)
    request = Request(with_note(reached.messages, asked))
    if not llm.chat:
        request = Request(completed(request.messages, "Answer:"), stop=("\nQuestion:", "\n\n"))
    elif any(message.tool_calls for message in reached.messages):
        request = dataclasses.replace(request, tools=(FINISH,))
    llm.note(asked)
    try:
        reply = await llm.generate(request)
    except LLMError as error:
        if error.cause != "context":
            raise
        reply = Reply("")
    answer = final_answer(reply, specs)
    if not answer:
        return ended("exhausted", reached.cause, f"{reached}; no answer at the last chance either")
    return WorkflowResult(
        answer, Outcome(kind="exhausted", cause=reached.cause, detail=f"{reached}; answered after it"), HOW
    )
