"""FC: native function calling, one chain without branching.

The query APIs and Finish are offered as tools, in the prompt if the LLM has no native tools; both look the same to this
workflow. Parallel calls are answered in order. A reply without a call is the answer, unless it was truncated.
"""

from __future__ import annotations

from typing import Any

from r_eval.llms.base import Message, Reply, Request, ToolCall
from r_eval.workflows.answers import finish_answer, free_answer
from r_eval.workflows.base import (
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    ended,
    finished,
)
from r_eval.workflows.conversation import CALLS_PER_TURN, FINISH, tool_specs


class FC(Workflow):
    """Function calling."""

    PROMPTS = ("fc", "cut_reply")

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        tools = (*tool_specs(session), FINISH)
        system = FC.prompt("fc", domain=session.description, instruction=question.instruction)
        messages = list(initial_messages(question, system, {}, "answer"))
        for _ in range(limits.steps):
            reply = await llm.generate(Request(tuple(messages), tools=tools))
            if reply.tool_calls:
                answer = finish_answer(reply)
                if answer is not None:
                    return finished(answer, "finish")
                messages += await run_tool_calls(reply, session, llm)
            elif reply.finish == "length":
                note = FC.prompt("cut_reply")
                llm.note(note)
                messages += [reply.message(), Message("user", note)]
            else:
                answer = free_answer(reply.text)
                return finished(answer, "text") if answer else ended("gave_up", "empty_reply")
        raise LimitReached("steps", f"no Finish within {limits.steps} steps", messages)


async def run_tool_calls(reply: Reply, session: SessionProtocol, llm: LLMProtocol) -> list[Message]:
    """Carry out the calls of a reply; returns the reply and the results in order as messages."""
    messages = [reply.message()]
    for number, call in enumerate(reply.tool_calls):
        observation = f"Not carried out: more than {CALLS_PER_TURN} calls at once."
        if number < CALLS_PER_TURN:
            observation = await observation_of(call, session, llm, "Finish needs the argument 'answer'.")
        messages.append(Message("tool", observation, call_id=call.id, name=call.name))
    return messages


async def observation_of(call: ToolCall, session: SessionProtocol, llm: LLMProtocol, incomplete_finish: str) -> str:
    """The observation of a call; of one that cannot be carried out, the reason."""
    if call.error is None and call.name.lower() != "finish":
        return (await session.call(call.name, call.arguments)).observation
    reason = call.error or incomplete_finish
    llm.note(reason)
    return reason


def initial_messages(question: TaskInput, system: str, finish: dict[str, Any], answer_key: str) -> tuple[Message, ...]:
    """The messages before the first reply: instructions, demonstrations as tool calls, the question.

    Args:
        finish: Arguments of a demonstration's Finish besides the answer.
        answer_key: Its argument for the answer.
    """
    messages = [Message("system", system)]
    for demonstration in question.demonstrations:
        messages.append(Message("user", demonstration.question))
        calls = [(step.api or "", step.arguments or {}, step.observation or "") for step in demonstration.calls]
        calls.append(("Finish", {**finish, answer_key: demonstration.answer}, "Done."))
        for i, (thought, (api, arguments, observation)) in enumerate(zip(demonstration.thoughts, calls, strict=True)):
            call = ToolCall(f"call{i:05d}", api, arguments)
            messages.append(Message("assistant", thought, (call,)))
            messages.append(Message("tool", observation, call_id=call.id, name=api))
        # chat templates accept the next question only after a turn of the assistant
        messages.append(Message("assistant", demonstration.answer))
    return (*messages, Message("user", question.with_documents(question.text)))
