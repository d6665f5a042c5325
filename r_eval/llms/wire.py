"""The chat completions format, as OpenAI defined it and llama.cpp, vLLM, Ollama and others speak it."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_json

from r_eval.llms.base import LLM, Finish, Message, Reply, Request, ToolCall
from r_eval.llms.counting import told
from r_eval.llms.tools import HOW, lenient_json

FINISHES = ("stop", "length", "tool_calls", "content_filter")


class BadReply(Exception):
    """A server's answer that holds no reply."""


def body(llm: LLM, request: Request) -> dict[str, Any]:
    """The JSON body of a request to an LLM."""
    data: dict[str, Any] = {
        "model": llm.model,
        "messages": [_message(message) for message in request.messages],
        "temperature": llm.temperature,
        "max_tokens": request.max_tokens or llm.max_tokens,
    }
    if request.seed is not None:
        data["seed"] = request.seed
    if request.stop:
        data["stop"] = list(request.stop[:4])
    if request.tools:
        data["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
            }
            for t in request.tools
        ]
        data["tool_choice"] = request.tool_choice
    return data


def encoded(data: dict[str, Any]) -> bytes:
    """JSON as it is sent; half a surrogate pair, which some models write and UTF-8 cannot hold, becomes "?"."""
    try:
        return to_json(data)
    except PydanticSerializationError:
        return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


def reply(data: dict[str, Any], retries: int) -> Reply:
    """The reply in a server's JSON answer.

    Raises:
        BadReply: There is none.
    """
    try:
        choice = data["choices"][0]
        message = choice["message"]
        usage = data.get("usage") or {}
        return Reply(
            text=message.get("content") or message.get("refusal") or "",
            tool_calls=tuple(_tool_call(call, i) for i, call in enumerate(message.get("tool_calls") or [])),
            finish="refusal" if message.get("refusal") else _finish(choice.get("finish_reason")),
            tokens=told(
                usage.get("prompt_tokens"),
                usage.get("completion_tokens"),
                (usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
            ),
            estimated=not usage,
            reasoning=message.get("reasoning_content") or "",
            retries=retries,
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise BadReply(f"no choice in the reply: {json.dumps(data)[:100]}") from None


def _message(message: Message) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        entry["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name or "unknown",
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        entry["tool_call_id"] = message.call_id
    return entry


def _tool_call(entry: dict[str, Any], position: int) -> ToolCall:
    function = entry.get("function") or {}
    name = str(function.get("name") or "")
    raw = function.get("arguments") or "{}"
    arguments = raw if isinstance(raw, dict) else lenient_json(str(raw))
    call_id = str(entry.get("id") or f"call_{position}")
    if not isinstance(arguments, dict):
        return ToolCall(call_id, name, {}, f"The arguments of {name} are not a JSON object. {HOW}")
    return ToolCall(call_id, name, arguments)


def _finish(reason: Any) -> Finish:
    return cast(Finish, reason) if reason in FINISHES else "unknown"
