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

from r_eval.llms.base import LLM, LLMError, Message, Reply, Request, ToolCall
from r_eval.llms.tool_calls import UNREADABLE

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


NOTHING_REFUSED = Refused()


class Refusals:
    """What one server does not take, learnt from its refusals.

    Args:
        adaptations: The LLM's; what is sent differently from what the grid says is noted there.
    """

    def __init__(self, name: str, base_url: str, model: str, adaptations: dict[str, str]) -> None:
        self._name, self._adaptations = name, adaptations
        host = urlsplit(base_url).hostname or ""
        self._refused = Refused(reasoning=RETURNS_REASONING.get(host, ""))

    def snapshot(self, without_extra: bool = False) -> Refused:
        """What a body that is built now leaves out."""
        return dataclasses.replace(self._refused, extra=True) if without_extra else self._refused

    def learn(self, what: str, reason: str) -> None:
        """Leave something out from now on."""
        if what in self._adaptations:
            return
        reason = " ".join(reason.split())[:200]
        self._adaptations[what] = reason
        logger.warning("%s: %s: %s", self._name, INSTEAD.get(what, f"{what} is not sent"), reason)
        if what == "extra":
            self._refused = dataclasses.replace(self._refused, extra=True)
        elif what.endswith("+"):
            self._refused = dataclasses.replace(self._refused, reasoning=what.removesuffix("+"))
        else:
            self._refused = dataclasses.replace(self._refused, names=self._refused.names | {what})

    def learn_from(self, error: LLMError, request: Request, sent: Refused) -> bool:
        """Learn from a refusal of a request whose body left `sent` out; whether another body is worth sending."""
        what = error.parameter
        if what.endswith("+"):
            missing = sent.reasoning != what.removesuffix("+") and any(m.reasoning for m in request.messages)
        elif what == "system":
            missing = "system" not in sent.names and any(m.role == "system" for m in request.messages)
        elif what in OPTIONAL:
            missing = what not in sent.names
        else:
            missing = what not in sent.names and not sent.extra and _mentions(request.messages, what, sent)
        if missing:
            self.learn(what, str(error))
        return missing

    @staticmethod
    def has_extra(messages: Sequence[Message]) -> bool:
        """Whether messages hold keys that came with earlier replies."""
        return any(m.extra or any(c.extra for c in m.tool_calls) for m in messages)


def _mentions(messages: Sequence[Message], key: str, sent: Refused) -> bool:
    """Whether a key is sent on a message or a call."""
    if key == sent.reasoning:
        return any(m.reasoning for m in messages)
    return any(key in (m.extra or {}) or any(key in (c.extra or {}) for c in m.tool_calls) for m in messages)


def chat_body(llm: LLM, request: Request, refused: Refused = NOTHING_REFUSED) -> dict[str, Any]:
    """The JSON body of a request to an LLM, without what its server refuses."""
    messages = request.messages
    if "system" in refused.names:
        messages = fold_system(messages)
    data: dict[str, Any] = {
        "model": llm.model,
        "messages": [_message(message, refused) for message in messages],
        "temperature": llm.temperature,
        "max_tokens": request.max_tokens or llm.max_tokens,
    }
    if request.seed is not None:
        data["seed"] = request.seed
    if request.stop:
        data["stop"] = [text for text in request.stop if text][:MAX_STOPS]
    if request.tools:
        data["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
            }
            for t in request.tools
        ]
        data["tool_choice"] = request.tool_choice
    if refused.names:
        length = data["max_tokens"]
        data = {key: value for key, value in data.items() if key not in refused.names}
        if "max_tokens" in refused.names:
            data["max_completion_tokens"] = length
    return data


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


def _message(message: Message, refused: Refused) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        entry["tool_call_id"] = message.call_id
    if message.role != "assistant":
        return entry
    if message.reasoning and refused.reasoning:
        entry[refused.reasoning] = message.reasoning
    if message.extra and not refused.extra:
        entry |= {key: value for key, value in message.extra.items() if key not in refused.names and key not in entry}
    if message.tool_calls:
        entry["tool_calls"] = [
            _call(call.id, call.name, call.arguments, call.extra, refused) for call in message.tool_calls
        ]
    return entry


def _call(call_id: str, name: str, arguments: dict[str, Any], extra: dict[str, Any] | None, refused: Refused) -> Any:
    function: dict[str, Any] = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    entry: dict[str, Any] = {"id": call_id, "type": "function", "function": function}
    if extra and not refused.extra:
        kept = {key: value for key, value in extra.items() if key not in refused.names}
        inner = kept.pop("function", None)
        entry |= {key: value for key, value in kept.items() if key not in entry}
        if isinstance(inner, dict):
            function |= {key: value for key, value in inner.items() if key not in (*refused.names, *function)}
    return entry


def misread_call(error: LLMError, tools: bool) -> Reply:
    """The reply of a model whose tool call its server could not read: the model's own turn, to be told so."""
    text = str(getattr(error, "text", "") or "")
    if not tools:
        return Reply(text, estimated=True)
    return Reply(text, (ToolCall("", "", {}, UNREADABLE),), "tool_calls", estimated=True)
