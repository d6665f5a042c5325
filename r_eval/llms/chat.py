"""The chat-completions body of a request, and what a server refuses of it.

The format is OpenAI's, as llama.cpp, vLLM, Ollama and gateways speak it. What a server does not take is learnt once
and left out of every later body; a body that was built before the lesson is told apart by its snapshot.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from r_eval.llms.base import LLM, LLMError, Message, Request, ToolCall, ToolSpec

logger = logging.getLogger("r_eval")

OPTIONAL = ("temperature", "max_tokens", "stop", "seed", "tool_choice")
"""Parameters that a request can do without; max_tokens goes by its newer name then."""
MAX_STOPS = 4
INSTEAD: Mapping[str, str] = {
    "tools": "tools are described in the prompt",
    "system": "system messages are a part of the user's",
    "max_tokens": "max_tokens is called max_completion_tokens",
    "extra": "keys of its own earlier replies are not sent back",
}
"""What is done about a refusal, where it is more than leaving a parameter out."""

RETURNS_REASONING: Mapping[str, str] = {
    "api.deepseek.com": "reasoning_content",
    "api.moonshot.ai": "reasoning_content",
    "api.moonshot.cn": "reasoning_content",
    "openrouter.ai": "reasoning",
}
"""Providers that want a model's reasoning back beside its tool calls, by host, and the key in which they want it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """What a body leaves out.

    Attributes:
        names: Parameters, "system" for system messages, and keys of messages.
        extra: Whether all keys that came with earlier replies are left out.
        reasoning: The key in which reasoning is sent back; "" for none.
    """

    names: frozenset[str] = frozenset()
    extra: bool = False
    reasoning: str = ""

    def without(self, what: str) -> Refused:
        """What is left out together with one thing more; "key+" is a key in which reasoning is sent back instead."""
        if what == "extra":
            return dataclasses.replace(self, extra=True)
        if what.endswith("+"):
            return dataclasses.replace(self, reasoning=what.removesuffix("+"))
        return dataclasses.replace(self, names=self.names | {what})


class Refusals:
    """What one server does not take, learnt from its refusals.

    Args:
        adaptations: The LLM's; what is sent differently from what the grid says is noted there.

    Attributes:
        refused: What a body that is built now leaves out.
    """

    def __init__(self, name: str, base_url: str, model: str, adaptations: dict[str, str]) -> None:
        self._name, self._adaptations = name, adaptations
        self.refused = Refused(reasoning=RETURNS_REASONING.get(urlsplit(base_url).hostname or "", ""))

    def learn(self, what: str, reason: str, is_said: bool = True) -> None:
        """Leave something out from now on.

        Args:
            is_said: Whether that is noted and warned about.
        """
        if what in self._adaptations:
            return
        if is_said:
            self._adaptations[what] = reason = " ".join(reason.split())[:200]
            logger.warning("%s: %s: %s", self._name, INSTEAD.get(what, f"{what} is not sent"), reason)
        self.refused = self.refused.without(what)

    def learn_from(self, error: LLMError, request: Request, sent: Refused) -> bool:
        """Learn from a refusal of a request whose body left `sent` out; whether another body is worth sending."""
        what = error.parameter
        is_sent = what not in sent.names
        if what not in OPTIONAL:
            is_sent = _messages(request.messages, sent) != _messages(request.messages, sent.without(what))
        if is_sent:
            self.learn(what, str(error))
        return is_sent


def chat_body(llm: LLM, request: Request, refused: Refused = Refused()) -> dict[str, Any]:
    """The JSON body of a request to an LLM, without what its server refuses."""
    data: dict[str, Any] = {
        "model": llm.model,
        "messages": _messages(request.messages, refused),
        "temperature": llm.temperature,
        "max_tokens": request.max_tokens or llm.max_tokens,
    }
    if request.seed is not None:
        data["seed"] = request.seed
    if request.stop:
        data["stop"] = [text for text in request.stop if text][:MAX_STOPS]
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
    """A conversation whose system messages stand at the beginning of the next message of the user."""
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


def _messages(messages: Sequence[Message], refused: Refused) -> list[dict[str, Any]]:
    if "system" in refused.names:
        messages = fold_system(messages)
    return [_message(message, refused) for message in messages]


def _message(message: Message, refused: Refused) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        entry["tool_call_id"] = message.call_id
    if message.role != "assistant":
        return entry
    if message.reasoning and refused.reasoning and refused.reasoning not in refused.names:
        entry[refused.reasoning] = message.reasoning
    if message.extra and not refused.extra:
        entry |= {key: value for key, value in message.extra.items() if key not in refused.names and key not in entry}
    if message.tool_calls:
        entry["tool_calls"] = [_call(call, refused) for call in message.tool_calls]
    return entry


def _call(call: ToolCall, refused: Refused) -> dict[str, Any]:
    function: dict[str, Any] = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    entry: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if call.extra and not refused.extra:
        kept = {key: value for key, value in call.extra.items() if key not in refused.names}
        inner = kept.pop("function", None)
        entry |= {key: value for key, value in kept.items() if key not in entry}
        if isinstance(inner, dict):
            function |= {key: value for key, value in inner.items() if key not in (*refused.names, *function)}
    return entry
