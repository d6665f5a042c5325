"""Items of the Responses API: a request's messages become input items, and a response's output items become a reply.

Where a reply has reasoning, or anything that R-Eval does not know, its items are kept in `Reply.extra["items"]` and go
back with the message, in their order; all but the arguments of calls verbatim.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall
from r_eval.llms.chat import offered
from r_eval.llms.json_text import plain_data
from r_eval.llms.reasoning import split_text
from r_eval.llms.reply import parse_reply
from r_eval.llms.tool_calls import repair_history

ARGUMENTS = "function_call", "arguments"
MAX_ITEMS = 2000
"""Of a response."""
PLAIN = frozenset({"message", "function_call"})
PLAIN_KEYS = frozenset({"type", "id", "status", "role", "content", "call_id", "name", "arguments"})
"""Items and their keys that are not missed where they do not go back as they came."""


def render(request: Request, without_extra: bool = False) -> dict[str, Any]:
    """Messages and tools of a request, as a part of its body.

    Args:
        without_extra: Leave out what came with earlier replies besides their text and calls.
    """
    messages = repair_history(request.messages)
    if without_extra:
        messages = tuple(dataclasses.replace(message, extra=None) for message in messages)
    first = next((i for i, message in enumerate(messages) if message.role != "system"), 0)
    body: dict[str, Any] = {"input": [item for message in messages[first:] for item in _input_items(message)]}
    if first:
        body["instructions"] = "\n\n".join(message.content for message in messages[:first])
    if request.tools:
        body["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in offered(request.tools)]
        body["tool_choice"] = request.tool_choice
    return body


def _input_items(message: Message) -> list[dict[str, Any]]:
    """A message as input items.

    An assistant's message that still says what its reply said goes back as the reply's own items, in their order. A
    reasoning item belongs to the item after it: the API takes neither without the other, so it is left out where that
    one was changed or left out.
    """
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.call_id, "output": message.content}]
    if message.role != "assistant":
        return [{"role": "developer" if message.role == "system" else "user", "content": message.content}]
    own: list[dict[str, Any]] = (message.extra or {}).get("items") or []
    calls = {call.id: call for call in message.tool_calls}
    is_unchanged = split_text(_text(own)[0])[1] == message.content
    items: list[dict[str, Any]] = []
    is_kept = False
    for item in reversed(own):
        kind, call = item.get("type"), None
        if kind == "function_call":
            call = calls.pop(item.get("call_id", ""), None)
            is_kept = call is not None
        elif kind != "reasoning":
            is_kept = is_unchanged or kind != "message"
        if is_kept:
            items.append(item if call is None else {**item, **_call_item(call)})
    text = [] if is_unchanged or not message.content else [{"role": "assistant", "content": message.content}]
    return [*text, *reversed(items), *map(_call_item, calls.values())]


def _call_item(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def read_reply(data: Any) -> Reply:
    """The reply in a response.

    Raises:
        LLMError: It says that it failed.
        ValueError, TypeError, KeyError, AttributeError: A part of it has a wrong type, or is too much.
    """
    if len(data["output"]) > MAX_ITEMS:
        raise ValueError(f"more than {MAX_ITEMS} items")
    data = plain_data(data)
    items: list[dict[str, Any]] = [dict(item) for item in data["output"]]
    status, reason = data.get("status"), (data.get("incomplete_details") or {}).get("reason")
    if reason == "content_filter":
        raise LLMError("content_filter", "the content filter cut the response off")
    if status == "failed":
        raise LLMError("server", "the response failed, and does not say why")
    if status not in ("completed", "incomplete", None):
        raise ValueError("it is not complete")
    text, is_refusal = _text(items)
    thinking = [item for item in items if item.get("type") == "reasoning"]
    message = {
        "refusal" if is_refusal else "content": text,
        "reasoning": [part["text"] for item in thinking for k in ("summary", "content") for part in item.get(k) or ()],
        "tool_calls": [_call(item) for item in items if item.get("type") == "function_call"],
    }
    finish = reason if status == "incomplete" else "tool_calls" if message["tool_calls"] else "stop"
    choices = [{"message": message, "finish_reason": finish}]
    return dataclasses.replace(parse_reply({"choices": choices, "usage": data.get("usage")}), extra=_extra(items))


def _call(item: dict[str, Any]) -> dict[str, Any]:
    """A call as chat completions have it."""
    name, call_id = item["name"].strip(), (item.get("call_id") or "").strip()
    return {"id": call_id, "function": {"name": name, "arguments": item.get("arguments")}}


def _extra(items: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What the server wants back besides text and calls; a call's arguments are in the reply."""
    if all(item["type"] in PLAIN and not any(item[key] for key in item.keys() - PLAIN_KEYS) for item in items):
        return None
    return {"items": [{key: item[key] for key in item if (item["type"], key) != ARGUMENTS} for item in items]}


def _text(items: list[dict[str, Any]]) -> tuple[str, bool]:
    """The text of a response's messages, and whether it is a refusal."""
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
    refusals = [part["refusal"] for part in parts if part.get("type") == "refusal"]
    texts = [part["text"] for part in parts if part.get("type") == "output_text"]
    return "".join(texts) or "".join(refusals), bool(refusals)
