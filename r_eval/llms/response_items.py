"""Items of the Responses API: a request's messages become input items, and a response's output items become a reply.

A reply's reasoning items, and those that R-Eval does not know, are kept in `Reply.extra["items"]`, in their order among
the others, and go back verbatim with the message.
"""

from __future__ import annotations

import json
from typing import Any

from r_eval.llms import failures, tokens, tool_calls
from r_eval.llms.base import Finish, LLMError, Message, Reply, Request, ToolCall
from r_eval.llms.reasoning import split_reasoning, split_text
from r_eval.text import clean_data

MAX_ITEMS = 2000
"""Of a response."""


def render(request: Request) -> dict[str, Any]:
    """Messages and tools of a request, as a part of its body."""
    messages = tool_calls.repair_history(request.messages)
    first = next((i for i, message in enumerate(messages) if message.role != "system"), 0)
    body: dict[str, Any] = {"input": [item for message in messages[first:] for item in _input_items(message)]}
    if first:
        body["instructions"] = "\n\n".join(message.content for message in messages[:first])
    if request.tools:
        kind = {"type": "function", "strict": False}
        body["tools"] = [
            {**kind, "name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ]
        body["tool_choice"] = request.tool_choice
    return dict(clean_data(body))


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
    known = (message.extra or {}).get("items")
    own: list[dict[str, Any]] = known if isinstance(known, list) else []
    calls = {call.id: _call_item(call) for call in message.tool_calls}
    unchanged = split_text(_text(own)[0])[1] == message.content
    items: list[dict[str, Any]] = []
    follows = False
    for item in reversed(own):
        match item.get("type"):
            case "message":
                items += [item] if unchanged else []
                follows = unchanged
            case "function_call":
                call = calls.pop(item.get("call_id", ""), None)
                items += [call] if call else []
                follows = call is not None
            case "reasoning":
                items += [item] if follows else []
            case _:
                items.append(item)
    text = [] if unchanged or not message.content else [{"role": "assistant", "content": message.content}]
    return [*text, *reversed(items), *calls.values()]


def _call_item(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    item = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
    return {**(call.extra or {}), **item}


def read_reply(content: str) -> Reply:
    """The reply in an answer's body.

    Raises:
        LLMError: There is none.
    """
    try:
        data = json.loads(content)
        if len(data.get("output") or ()) > MAX_ITEMS:
            raise ValueError(f"more than {MAX_ITEMS} items")
        data = clean_data(data)
        failure = failures.error_in(data)
        if failure is not None:
            raise failure
        return _reply(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"[:200]
        raise LLMError("reply", f"no response in the body ({why}): {content[:100]!r}") from None


def _reply(data: dict[str, Any]) -> Reply:
    """The reply in a response; a wrong type within raises TypeError, ValueError, KeyError or AttributeError."""
    items: list[dict[str, Any]] = [dict(item) for item in data["output"]]
    status, reason = data.get("status"), (data.get("incomplete_details") or {}).get("reason")
    if reason == "content_filter":
        raise LLMError("content_filter", "the content filter cut the response off")
    if status not in ("completed", "incomplete", None):
        raise LLMError("server" if status == "failed" else "reply", f"the response is {status}")
    text, refused = _text(items)
    calls = tuple(_call(item) for item in items if item.get("type") == "function_call")
    thoughts = [
        part["text"]
        for item in items
        if item.get("type") == "reasoning"
        for part in [*(item.get("summary") or []), *(item.get("content") or [])]
    ]
    finish: Finish = "tool_calls" if calls else "stop"
    if refused or status == "incomplete":
        finish = "refusal" if refused else failures.finish(reason)
    used, estimated = tokens.parse_usage(data.get("usage"))
    return split_reasoning(Reply(text, calls, finish, used, estimated, "\n".join(thoughts), _extra(items)))


def _extra(items: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What the server wants back besides text and calls; a call's arguments are in the reply."""
    if all(item.get("type") in ("message", "function_call") and not item.get("phase") for item in items):
        return None
    kept = [dict(item) for item in items]
    for item in kept:
        if item.get("type") == "function_call":
            item.pop("arguments", None)
    return {"items": kept}


def _text(items: list[dict[str, Any]]) -> tuple[str, bool]:
    """The text of a response's messages, and whether it is a refusal."""
    parts = [part for item in items if item.get("type") == "message" for part in item["content"]]
    refusals = [part["refusal"] for part in parts if part.get("type") == "refusal"]
    texts = [part["text"] for part in parts if part.get("type") == "output_text"]
    return "".join(texts) or "".join(refusals), bool(refusals)


def _call(item: dict[str, Any]) -> ToolCall:
    name = item["name"].strip()
    arguments, error = tool_calls.parse_arguments(item.get("arguments"), name)
    known = ("type", "call_id", "name", "arguments")
    extra = {key: value for key, value in item.items() if value is not None and key not in known}
    return ToolCall(str(item.get("call_id") or ""), name, arguments, error, extra or None)
