"""The chat completions format, as OpenAI defined it and llama.cpp, vLLM, Ollama and others speak it."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_json

from r_eval.llms.base import LLM, Finish, Message, Reply, Request, ToolCall
from r_eval.llms.counting import told
from r_eval.llms.tools import HOW, lenient_json
from r_eval.records import Tokens

LONGEST_ARGUMENTS = 200_000
"""Characters of one call's arguments; reading takes time on the event loop."""
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
        reasoning = next((message[k] for k in ("reasoning_content", "reasoning", "thinking") if message.get(k)), None)
        counted = usage if isinstance(usage, dict) and usage.get("prompt_tokens") else {}
        details = counted.get("prompt_tokens_details")
        return Reply(
            text=_text(message.get("content")) or _text(message.get("refusal")),
            tool_calls=tuple(_tool_call(c, i) for i, c in enumerate(message.get("tool_calls") or []) if c is not None),
            finish="refusal" if message.get("refusal") else _finish(choice.get("finish_reason")),
            tokens=_usage(counted, details if isinstance(details, dict) else {}),
            estimated=not counted,
            reasoning=_text(reasoning),
            retries=retries,
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise BadReply(f"no choice in the reply: {_beginning(data)}") from None


def _beginning(data: Any) -> str:
    """The first characters of a wrong answer."""
    try:
        return json.dumps(data)[:100]
    except RecursionError:
        return "nested too deep"


def _text(content: Any) -> str:
    """A text that a server sent as it is, as a list of parts, or not at all.

    Raises:
        TypeError: It is something else.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise TypeError(f"no text: {type(content).__name__}")
    texts = []
    for part in content:
        text = part.get("text", "") if isinstance(part, dict) and isinstance(part.get("type"), str) else part
        if not isinstance(text, str):
            raise TypeError(f"no text in a part: {type(text).__name__}")
        texts.append(text)
    return "".join(texts)


def _usage(counted: dict[str, Any], details: dict[str, Any]) -> Tokens:
    """The tokens that a server counted; counts that are no numbers are none."""
    counts = (counted.get("prompt_tokens"), counted.get("completion_tokens"), details.get("cached_tokens"))
    return told(*(count if isinstance(count, int | float | str) else 0 for count in counts))


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
    call_id = str(entry.get("id") or f"call_{position}")
    if not isinstance(raw, dict) and len(str(raw)) > LONGEST_ARGUMENTS:
        return ToolCall(call_id, name, {}, f"The arguments of {name} are too long. {HOW}")
    arguments = raw if isinstance(raw, dict) else lenient_json(str(raw))
    if isinstance(raw, str) and raw.lstrip().startswith('"') and not isinstance(arguments, dict):
        arguments = _encoded_twice(raw)
    if not isinstance(arguments, dict):
        return ToolCall(call_id, name, {}, f"The arguments of {name} are not a JSON object. {HOW}")
    return ToolCall(call_id, name, arguments)


def _encoded_twice(raw: str) -> Any:
    """Arguments that a server encoded as JSON, and then once more as a JSON text."""
    try:
        inner = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return lenient_json(inner) if isinstance(inner, str) else None


def _finish(reason: Any) -> Finish:
    return cast(Finish, reason) if reason in FINISHES else "unknown"
