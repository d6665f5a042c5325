"""ReAct (Yao et al., 2023): thought, action, observation, in turns, until the action is Finish.

Thought and action come in one reply, which stops before the observation; where a model goes on and invents the
observation, it is cut there, and the record says so. The paper's limit of ten steps is the grid's `limits: steps`. A
query API with one parameter is written `Search[Kenya]`, one with several `searchPerson(name="...")`.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence

from r_eval.environments.schema import ApiSpec
from r_eval.llms.base import Message, Request, ToolCall
from r_eval.llms.tool_calls import parse_action
from r_eval.records import Step
from r_eval.workflows.answers import action_answer
from r_eval.workflows.base import (
    Demonstration,
    LimitReached,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    finished,
    prompt,
)

ACTION = re.compile(r"\n(?:[^\S\n]|[*_#>])*+Action\b.*", re.DOTALL | re.IGNORECASE)
LABEL = re.compile(r"[*_#> ]*+(Thought|Action)\s*+\d*+[*_ ]*+[:：][*_ ]*+", re.IGNORECASE)
STOP = ("\nObservation",)
STOP_OF_THOUGHT = ("\nAction", "\nObservation")
STOP_OF_QUESTION = "\nQuestion:"
STOP_OF_ACTION = ("\nObservation", "\nThought")


class ReAct(Workflow):
    """Interleaved reasoning and acting.

    Args:
        prompting: "chat": thoughts and actions are the assistant's messages, observations the user's. "completion": all
            is one text which ends in "Thought 1:", and the reply goes on from there, as always with a base model.
        replies: 1: thought and action come in one reply. 2: each is asked for in turn, as the paper's code does, for
            LLMs that do not stop where they are told to.
    """

    PROMPTS = ("react", "react_thought", "react_finish", "react_unreadable", "react_action")

    def __init__(self, prompting: str = "chat", replies: int = 1) -> None:
        if prompting not in ("chat", "completion"):
            raise ValueError(f"prompting must be chat or completion, not {prompting!r}")
        if isinstance(replies, bool) or replies not in (1, 2):
            raise ValueError(f"replies must be 1 or 2, not {replies!r}")
        self.prompting, self.replies = prompting, replies

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
        raise LimitReached("steps", f"no Finish within {limits.steps} steps", self._sent(messages, llm))

    def most_calls(self, limits: Limits) -> int:
        return super().most_calls(limits) + (self.replies - 1) * limits.steps

    async def act(
        self, messages: Sequence[Message], step: int, session: SessionProtocol, llm: LLMProtocol
    ) -> tuple[Message, ToolCall | None]:
        """The LLM's thought and action, without any observation that it invents: its message, and the action in it."""
        if self.replies == 1:
            message, is_cut = await self._line(messages, f"Thought {step}:", STOP, llm)
            return message, parse_action(message.content, session.specs, is_cut)
        first, _ = await self._line(messages, f"Thought {step}:", STOP_OF_THOUGHT, llm)
        thought = ACTION.sub("", first.content)
        conversation = [*messages, dataclasses.replace(first, content=thought)]
        if not self._completes(llm):
            conversation.append(Message("user", prompt(ReAct, "react_action", step=str(step))))
        second, is_cut = await self._line(conversation, f"Action {step}:", STOP_OF_ACTION, llm)
        message = dataclasses.replace(second, content=f"{thought}\n{second.content}")
        return message, parse_action(message.content, session.specs, is_cut)

    async def _line(
        self, messages: Sequence[Message], start: str, stop: tuple[str, ...], llm: LLMProtocol
    ) -> tuple[Message, bool]:
        """A reply that begins, or is to be read as if it began, with `start`; and whether its end was cut off."""
        if self._completes(llm):
            stop = (*stop, STOP_OF_QUESTION)
        reply = await llm.generate(Request(self._sent(messages, llm, start), stop=stop))
        text = reply.text.strip()
        label = LABEL.match(text)
        labelled = label is not None and start.startswith(label[1].capitalize())
        given = self._completes(llm) or start.startswith("Action")
        return reply.message(f"{start} {text}" if given and not labelled else text), reply.finish == "length"

    def _completes(self, llm: LLMProtocol) -> bool:
        """Whether all is one text: where the settings say so, and for a base model."""
        return self.prompting == "completion" or not llm.chat

    def _sent(self, messages: Sequence[Message], llm: LLMProtocol, start: str = "") -> tuple[Message, ...]:
        """The conversation as it is sent; one text that ends in `start` where the reply is to complete it."""
        if not self._completes(llm):
            return tuple(messages)
        follows = [m.role == "assistant" or m.content.startswith("Observation ") for m in messages]
        parts = [m.content if is_next else f"\n{m.content}" for m, is_next in zip(messages, follows, strict=True)]
        return (Message("user", "\n".join([*parts, start]).strip()),)


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
