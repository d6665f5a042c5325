"""The chat-completions body of a request, and what a server refuses of it.

The format is OpenAI's, as llama.cpp, vLLM, Ollama and gateways speak it. What a server does not take is learnt once
and left out of every later body; `Refused` is the snapshot that a body was built with.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from r_eval.llms.base import LLM, Message, Request, ToolCall, ToolSpec


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """What a body leaves out, since its server refuses it.

    Attributes:
        names: Parameters, keys of messages, "system" for system messages, "extra" for all that came with replies.
        reasoning: The key in which reasoning is sent back; "" for none.
    """

    names: frozenset[str] = frozenset()
    reasoning: str = ""

    def without(self, what: str) -> Refused:
        """What is left out together with one thing more; "key+" is a key in which reasoning is sent back instead."""
        if what.endswith("+"):
            return dataclasses.replace(self, reasoning=what.removesuffix("+"))
        return dataclasses.replace(self, names=self.names | {what})


def chat_body(llm: LLM, request: Request, refused: Refused = Refused()) -> dict[str, Any]:
    """The JSON body of a request to an LLM, without what its server refuses."""
    messages = fold_system(request.messages) if "system" in refused.names else request.messages
    data: dict[str, Any] = {
        "model": llm.model,
        "messages": [chat_message(message, refused) for message in messages],
        "temperature": llm.temperature,
        "max_tokens": request.max_tokens or llm.max_tokens,
    }
    if request.seed is not None:
        data["seed"] = request.seed
    if request.stop:
        data["stop"] = [text for text in request.stop if text][:4]  # OpenAI's API takes no more
    if request.tools:
        data["tools"] = offered(request.tools)
        data["tool_choice"] = request.tool_choice
    if refused.names:
        length = data["max_tokens"]
        data = {key: value for key, value in data.items() if key not in refused.names}
        if "max_tokens" in refused.names:
            data["max_completion_tokens"] = length
    return data


def offered(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Tools in the form that chat completions have for them."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]


def fold_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation whose system messages begin the next message of the user."""
    folded: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message.role == "system":
            waiting.append(message.content)
        elif message.role == "user" and waiting:
            folded.append(dataclasses.replace(message, content="\n\n".join([*waiting, message.content])))
            waiting = []
        else:
            folded.append(message)
    if waiting:
        folded.insert(0, Message("user", "\n\n".join(waiting)))
    return tuple(folded)


def chat_message(message: Message, refused: Refused) -> dict[str, Any]:
    """A message in the form that chat completions have for it, without what a server refuses."""
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        entry["tool_call_id"] = message.call_id
    if message.role != "assistant":
        return entry
    if message.reasoning and refused.reasoning and refused.reasoning not in refused.names:
        entry[refused.reasoning] = message.reasoning
    _add_unknown(entry, message.extra, refused)
    if message.tool_calls:
        entry["tool_calls"] = [_call(call, refused) for call in message.tool_calls]
    return entry


def _call(call: ToolCall, refused: Refused) -> dict[str, Any]:
    function: dict[str, Any] = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    entry: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if call.extra:
        _add_unknown(entry, call.extra, refused)
        _add_unknown(function, call.extra.get("function"), refused)
    return entry


def _add_unknown(entry: dict[str, Any], extra: Any, refused: Refused) -> None:
    """Add the keys that came with a reply, except what the entry has or the server refuses."""
    if isinstance(extra, dict) and "extra" not in refused.names:
        entry |= {key: value for key, value in extra.items() if key not in refused.names and key not in entry}
