"""FC: native function calling, one chain without branching.

The query APIs and Finish are offered as tools, natively where the LLM takes them and in the prompt where it does not;
this workflow cannot tell the two apart. Calls made in parallel are answered in order. A reply without any call is
the answer itself, unless it was cut off.
"""

from __future__ import annotations

from r_eval.llms.base import Message, Reply, Request, ToolCall
from r_eval.workflows.answers import free_answer, given_answer
from r_eval.workflows.base import (
    CALLS_PER_TURN,
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

    PROMPTS = ("fc", "cut_reply")

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        tools = (*tool_specs(session), FINISH)
        system = prompt(FC, "fc", domain=session.description, instruction=question.instruction)
        messages = [Message("system", system)]
        for shown in question.demonstrations:
            messages += demonstration(shown, ToolCall("", "Finish", {"answer": shown.answer}))
        messages.append(Message("user", question.with_documents(question.text)))
        for _ in range(limits.steps):
            reply = await llm.generate(Request(tuple(messages), tools=tools))
            if reply.tool_calls:
                given = given_answer(reply)
                if given is not None:
                    return finished(given, "finish")
                messages += await carried_out(reply, session, llm)
            elif reply.finish == "length":
                note = prompt(FC, "cut_reply")
                llm.note(note)
                messages += [reply.message(), Message("user", note)]
            else:
                answer = free_answer(reply.text)
                return finished(answer, "text") if answer else ended("gave_up", "empty_reply")
        raise LimitReached("steps", f"no Finish within {limits.steps} steps", messages)


async def carried_out(reply: Reply, session: SessionProtocol, llm: LLMProtocol) -> list[Message]:
    """The reply and the answers to its calls, in their order, as messages."""
    messages = [reply.message()]
    for number, call in enumerate(reply.tool_calls):
        if number >= CALLS_PER_TURN:
            observation = f"Not carried out: more than {CALLS_PER_TURN} calls at once."
        elif call.error is None and call.name.lower() != "finish":
            observation = (await session.call(call.name, call.arguments)).observation
        else:
            observation = call.error or "Finish needs the argument 'answer'."
            llm.note(observation)
        messages.append(Message("tool", observation, call_id=call.id, name=call.name))
    return messages


def demonstration(shown: Demonstration, last: ToolCall) -> list[Message]:
    """A worked example as a conversation with tool calls and the thoughts before them, from what its program did.

    It ends with the assistant's turn, after which any chat template takes the next question.
    """
    messages = [Message("user", shown.question)]
    made = [(step.api or "", step.arguments or {}, step.observation or "") for step in shown.calls]
    for i, (api, arguments, observation) in enumerate([*made, (last.name, last.arguments, "Done.")]):
        call = ToolCall(f"call{i:05d}", api, arguments)
        messages.append(Message("assistant", shown.thought(i), (call,)))
        messages.append(Message("tool", observation, call_id=call.id, name=api))
    return [*messages, Message("assistant", shown.answer)]
