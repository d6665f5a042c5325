"""ReAct (Yao et al., 2023): thought, action, observation, in turns, until the action is Finish.

Thought and action come in one reply, which stops before the observation; where a model goes on and invents the
observation, it is cut there, and the record says so. The paper's limit of ten steps is the grid's `limits: steps`. A
query API with one parameter is written `Search[Kenya]`, one with several `searchPerson(name="...")`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from r_eval.environments.schema import ApiSpec
from r_eval.llms.base import Message, Request, ToolCall
from r_eval.llms.tool_calls import parse_action
from r_eval.records import Step
from r_eval.workflows.answers import THOUGHT, action_answer
from r_eval.workflows.base import (
    Demonstration,
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    completed,
    finished,
    prompt,
)

STOP = ("\nObservation",)


class ReAct(Workflow):
    """Interleaved reasoning and acting. For a base model all is one text, which ends in "Thought 1:"."""

    PROMPTS = ("react", "react_thought", "react_finish", "react_unreadable")

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        messages = opening(question, session)
        for step in range(1, limits.steps + 1):
            message, action = await self.act(messages, step, session, llm)
            if action is not None and action.name == "Finish":
                return finished(action_answer(action), "finish")
            observation = await observation_of(action, step, session, llm)
            messages += [message, Message("user", f"Observation {step}: {observation}")]
        raise LimitReached("steps", f"no Finish within {limits.steps} steps", messages)

    async def act(
        self, messages: Sequence[Message], step: int, session: SessionProtocol, llm: LLMProtocol
    ) -> tuple[Message, ToolCall | None]:
        """The LLM's thought and action, without any observation that it invents: its message, and the action in it."""
        start = f"Thought {step}:"
        request = Request(tuple(messages), stop=STOP)
        if not llm.chat:
            request = Request(completed(messages, start), stop=(*STOP, "\nQuestion:"))
        reply = await llm.generate(request)
        text = reply.text.strip()
        message = reply.message(text if llm.chat or THOUGHT.match(text) else f"{start} {text}")
        return message, parse_action(message.content, session.specs, reply.finish == "length")


async def observation_of(action: ToolCall | None, step: int, session: SessionProtocol, llm: LLMProtocol) -> str:
    """What comes of an action; of none, how one is written."""
    if action is not None:
        return (await session.call(action.name, action.arguments)).observation
    forms = ", ".join([*(form(spec) for spec in session.specs.values()), "Finish[answer]"])
    note = prompt(ReAct, "react_unreadable", step=str(step + 1), forms=forms)
    llm.note(note)
    return note


def opening(question: TaskInput, session: SessionProtocol) -> list[Message]:
    """The messages before the first reply: instructions, demonstrations, the question."""
    actions = "\n".join(map(described, session.specs.values()))
    system = prompt(ReAct, "react", domain=session.description, actions=actions, instruction=question.instruction)
    messages = [Message("system", system)]
    for shown in question.demonstrations:
        messages += demonstration(shown, session)
    return [*messages, Message("user", question.with_documents(f"Question: {question.text}"))]


def demonstration(shown: Demonstration, session: SessionProtocol) -> list[Message]:
    """A worked example in ReAct's notation, from the calls that its program made."""
    messages = [Message("user", f"Question: {shown.question}")]
    for step, call in enumerate(shown.calls, 1):
        thought = shown.thought(step - 1) or prompt(ReAct, "react_thought", call=call.api or "")
        action = written(call, session.specs[call.api or ""])
        messages.append(Message("assistant", f"Thought {step}: {thought}\nAction {step}: {action}"))
        messages.append(Message("user", f"Observation {step}: {call.observation or ''}"))
    last = len(shown.calls) + 1
    thought = shown.thought(last - 1) or prompt(ReAct, "react_finish")
    return [*messages, Message("assistant", f"Thought {last}: {thought}\nAction {last}: Finish[{shown.answer}]")]


def described(spec: ApiSpec) -> str:
    """An API in the list of actions: how a call is written, what it does, and its parameters."""
    lines = [f"- {form(spec)}: {spec.summary} {spec.details}".rstrip().replace("\n", "\n  ")]
    for p in spec.parameters:
        default = "" if p.required else f", by default {p.signature.rpartition(' = ')[2]}"
        lines.append(f"    {p.name} ({p.expected}{default}): {p.description}".rstrip(": "))
    return "\n".join(lines)


def form(spec: ApiSpec) -> str:
    """How a call of an API is written."""
    if len(spec.parameters) == 1:
        return f"{spec.name}[{spec.parameters[0].name}]"
    return f"{spec.name}({', '.join(p.name if p.required else p.name + '?' for p in spec.parameters)})"


def written(call: Step, spec: ApiSpec) -> str:
    """A call that was made, as an action."""
    arguments = call.arguments or {}
    if len(spec.parameters) == 1 and len(arguments) == 1:
        return f"{spec.name}[{next(iter(arguments.values()))}]"
    return f"{spec.name}({', '.join(f'{k}={json.dumps(v, ensure_ascii=False)}' for k, v in arguments.items())})"
