"""FC: native function calling, one chain without branching.

The query APIs and Finish are offered as tools, natively where the LLM takes them and in the prompt where it does not;
this workflow cannot tell the two apart. Calls made in parallel are answered in order. A reply without any call is
the answer itself. On the last step Finish alone is offered, and a call of it required.
"""

from __future__ import annotations

from r_eval.llms.base import Message, Reply, Request, ToolCall
from r_eval.workflows.answers import final_answer, free_answer, given_answer
from r_eval.workflows.base import (
    FINISH,
    Demonstration,
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    ended,
    finished,
    prompt,
    tool_specs,
)


class FC(Workflow):
    """Function calling."""

    PROMPTS = ("fc",)

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        tools = (*tool_specs(session), FINISH)
        system = prompt(FC, "fc", domain=session.description, instruction=question.instruction)
        messages = [Message("system", system)]
        for shown in question.demonstrations:
            messages += demonstration(shown, ToolCall("", "Finish", {"answer": shown.answer}))
        messages.append(Message("user", question.text))
        for _ in range(limits.steps - 1):
            reply = await llm.generate(Request(tuple(messages), tools=tools))
            if not reply.tool_calls:
                answer = free_answer(reply.text)
                return finished(answer, "text") if answer else ended("gave_up", "empty_reply")
            given = given_answer(reply)
            if given is not None:
                return finished(given, "finish")
            messages += await carried_out(reply, session, llm)
        reply = await llm.generate(Request(tuple(messages), tools=(FINISH,), tool_choice="required"))
        answer = final_answer(reply, session.specs)
        if answer:
            return finished(answer, "finish" if reply.tool_calls else "text")
        raise LimitReached("steps", f"no Finish within {limits.steps} steps", messages)


async def carried_out(reply: Reply, session: SessionProtocol, llm: LLMProtocol) -> list[Message]:
    """The reply and the answers to its calls, in their order, as messages."""
    messages = [reply.message()]
    for call in reply.tool_calls:
        if call.error is None and call.name.lower() != "finish":
            observation = (await session.call(call.name, call.arguments)).observation
        else:
            observation = call.error or "Finish needs the argument 'answer'."
            llm.note(observation)
        messages.append(Message("tool", observation, call_id=call.id, name=call.name))
    return messages


def demonstration(shown: Demonstration, last: ToolCall) -> list[Message]:
    """A worked example as a conversation with tool calls and the thoughts before them, from what its program did."""
    messages = [Message("user", shown.question)]
    for i, step in enumerate(shown.calls):
        call = ToolCall(f"call{i:05d}", step.api or "", step.arguments or {})
        messages.append(Message("assistant", shown.thought(i), (call,)))
        messages.append(Message("tool", step.observation or "", call_id=call.id, name=call.name))
    call = ToolCall(f"call{len(shown.calls):05d}", last.name, last.arguments)
    finish = Message("assistant", shown.thought(len(shown.calls)), (call,))
    return [*messages, finish, Message("tool", "Done.", call_id=call.id, name=call.name)]
