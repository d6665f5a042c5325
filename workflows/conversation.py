"""Parts of the conversations that workflows lead, and of the requests in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from r_eval.llms.base import Message, ToolSpec
from r_eval.workflows.base import SessionProtocol

CALLS_PER_TURN = 8
"""Tool calls of one reply that are carried out."""
FINISH = ToolSpec(
    "Finish",
    "End with the answer.",
    {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
)
"""The tool that submits the answer."""


def tool_specs(session: SessionProtocol) -> list[ToolSpec]:
    """The query APIs as tools."""
    return [ToolSpec(s.name, f"{s.summary} {s.details}".strip(), s.json_schema()) for s in session.specs.values()]


def completion_prompt(messages: Sequence[Message], start: str) -> tuple[Message, ...]:
    """A conversation as one text for a base model to complete; the reply continues after `start`.

    A blank line precedes every part except replies of the LLM and observations.
    """
    follows = [m.role == "assistant" or m.content.startswith("Observation ") for m in messages]
    parts = [m.content if is_next else f"\n{m.content}" for m, is_next in zip(messages, follows, strict=True)]
    return (Message("user", "\n".join([*parts, start]).strip()),)


def with_note(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """A conversation with a text of the workflow appended, to the latest message if it is from the user or a tool: many
    chat templates require alternating user and assistant turns.
    """
    *earlier, last = messages
    if last.role == "assistant":
        return (*messages, Message("user", text))
    return (*earlier, dataclasses.replace(last, content=f"{last.content}\n\n{text}"))
