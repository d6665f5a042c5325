"""ReAct (Yao et al., 2023): thought, action and observation in turns until the action is Finish.

One reply contains thought and action and stops before the observation. If a model invents the observation, the reply is
cut there and the record says so. The paper's limit of ten steps is the grid's `limits: steps`. A call of an API with
one parameter is written `Search[Kenya]`, with several `searchPerson(name="...")`.
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
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    finished,
)
from r_eval.workflows.conversation import completion_prompt

STOP = ("\nObservation",)


class ReAct(Workflow):
    """Interleaved reasoning and acting. A base model gets one text that ends in "Thought 1:"."""

    PROMPTS = ("react", "react_thought", "react_finish", "react_unreadable")

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        messages = initial_messages(question, session)
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
        """The LLM's next message without an invented observation, and the action in it."""
        start = f"Thought {step}:"
        request = Request(tuple(messages), stop=STOP)
        if not llm.chat:
            request = Request(completion_prompt(messages, start), stop=(*STOP, "\nQuestion:"))
        reply = await llm.generate(request)
        text = reply.text.strip()
        message = reply.message(text if llm.chat or THOUGHT.match(text) else f"{start} {text}")
        return message, parse_action(message.content, session.specs, reply.finish == "length")


async def observation_of(action: ToolCall | None, step: int, session: SessionProtocol, llm: LLMProtocol) -> str:
    """The observation of an action; without an action, how to write one."""
    if action is not None:
        return (await session.call(action.name, action.arguments)).observation
    forms = ", ".join([*(call_form(spec) for spec in session.specs.values()), "Finish[answer]"])
    note = ReAct.prompt("react_unreadable", step=str(step + 1), forms=forms)
    llm.note(note)
    return note


def initial_messages(question: TaskInput, session: SessionProtocol) -> list[Message]:
    """The messages before the first reply: instructions, demonstrations, the question."""
    actions = "\n".join(map(api_description, session.specs.values()))
    system = ReAct.prompt("react", domain=session.description, actions=actions, instruction=question.instruction)
    messages = [Message("system", system)]
    for demonstration in question.demonstrations:
        messages.append(Message("user", f"Question: {demonstration.question}"))
        *thoughts, last = demonstration.thoughts
        step = 0
        for step, (thought, call) in enumerate(zip(thoughts, demonstration.calls, strict=True), 1):
            thought = thought or ReAct.prompt("react_thought", call=call.api or "")
            action = format_action(call, session.specs[call.api or ""])
            messages.append(Message("assistant", f"Thought {step}: {thought}\nAction {step}: {action}"))
            messages.append(Message("user", f"Observation {step}: {call.observation or ''}"))
        ending = f"{last or ReAct.prompt('react_finish')}\nAction {step + 1}: Finish[{demonstration.answer}]"
        messages.append(Message("assistant", f"Thought {step + 1}: {ending}"))
    return [*messages, Message("user", question.with_documents(f"Question: {question.text}"))]


def api_description(spec: ApiSpec) -> str:
    """An API in the list of actions: its call syntax, summary and parameters."""
    lines = [f"- {call_form(spec)}: {spec.summary} {spec.details}".rstrip().replace("\n", "\n  ")]
    for p in spec.parameters:
        default = "" if p.required else f", by default {p.default_text}"
        lines.append(f"    {p.name} ({p.expected}{default}): {p.description}".rstrip(": "))
    return "\n".join(lines)


def call_form(spec: ApiSpec) -> str:
    """The call syntax of an API."""
    if len(spec.parameters) == 1:
        return f"{spec.name}[{spec.parameters[0].name}]"
    return f"{spec.name}({', '.join(p.name if p.required else p.name + '?' for p in spec.parameters)})"


def format_action(call: Step, spec: ApiSpec) -> str:
    """A recorded call as an action."""
    arguments = call.arguments or {}
    if len(spec.parameters) == 1 and len(arguments) == 1:
        return f"{spec.name}[{next(iter(arguments.values()))}]"
    return f"{spec.name}({', '.join(f'{k}={json.dumps(v, ensure_ascii=False)}' for k, v in arguments.items())})"
