"""ReAct (Yao et al., 2023): thought, action, observation, in turns, until the action is Finish.

Thought and action come in one reply, which stops before the observation; where a model goes on and invents the
observation, it is cut there. The paper's limit of ten steps is the grid's `limits: steps`. A query API with one
parameter is written `Search[Kenya]`, one with several `searchPerson(name="...")`.
"""

from __future__ import annotations

import re

from r_eval.environments.schema import ApiSpec
from r_eval.llms.base import Message, Request
from r_eval.records import Step
from r_eval.workflows.base import (
    Asked,
    Demonstration,
    Ending,
    Limits,
    LLMProtocol,
    SessionProtocol,
    Workflow,
    as_argument,
    ended,
    finished,
    one_line,
    prompt,
)
from r_eval.workflows.reading import action_in

INVENTED = re.compile(r"\n[^\S\n]*Observation\b.*", re.DOTALL | re.IGNORECASE)


class ReAct(Workflow):
    """Interleaved reasoning and acting."""

    PROMPTS = ("react", "react_thought", "react_finish", "react_unreadable")

    async def run(self, question: Asked, session: SessionProtocol, llm: LLMProtocol, limits: Limits) -> Ending:
        messages = opening(question, session)
        for step in range(1, limits.steps + 1):
            reply = await llm.generate(Request(tuple(messages), stop=("\nObservation",)))
            text = INVENTED.sub("", reply.text).strip()
            action = action_in(text, session.specs)
            messages.append(Message("assistant", text))
            if action is None:
                forms = ", ".join([*(form(s) for s in session.specs.values()), "Finish[answer]"])
                observation = prompt(ReAct, "react_unreadable", step=str(step + 1), forms=forms)
                llm.note(observation)
            elif action.name == "Finish":
                return finished(action.argument, "finish")
            else:
                result = await session.call(action.name, dict(action.named), action.positional)
                observation = one_line(result.observation)
            messages.append(Message("user", f"Observation {step}: {observation}"))
        return ended("exhausted", "steps", f"no Finish within {limits.steps} steps")


def opening(question: Asked, session: SessionProtocol) -> list[Message]:
    """The messages before the first reply: instructions, demonstrations, the question."""
    actions = "\n".join(f"- {form(spec)}: {spec.summary}" for spec in session.specs.values())
    system = prompt(ReAct, "react", domain=session.description, actions=actions, instruction=question.instruction)
    messages = [Message("system", system)]
    for shown in question.demonstrations:
        messages += demonstration(shown, session)
    return [*messages, Message("user", f"Question: {question.text}")]


def demonstration(shown: Demonstration, session: SessionProtocol) -> list[Message]:
    """A worked example in ReAct's notation, from the calls that its program made."""
    messages = [Message("user", f"Question: {shown.question}")]
    for step, call in enumerate(shown.calls, 1):
        action = written(call, session.specs[call.api or ""])
        thought = prompt(ReAct, "react_thought", call=call.api or "")
        messages.append(Message("assistant", f"Thought {step}: {thought}\nAction {step}: {action}"))
        messages.append(Message("user", f"Observation {step}: {one_line(call.observation or '')}"))
    last = len(shown.calls) + 1
    thought = prompt(ReAct, "react_finish")
    messages.append(Message("assistant", f"Thought {last}: {thought}\nAction {last}: Finish[{shown.answer}]"))
    return messages


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
    return f"{spec.name}({', '.join(f'{k}={as_argument(v)}' for k, v in arguments.items())})"
