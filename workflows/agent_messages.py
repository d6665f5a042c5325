"""Chat completions as the workflow `agent` speaks them: a body becomes a `Request`, a `Reply` a completion.

Sampling is the grid's: temperature, seed and model of a body are ignored. What would change the reply's form and cannot
be had of every LLM is refused.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic_core import to_json

from r_eval.llms.base import LLMError, Message, Reply, Request, ToolSpec
from r_eval.llms.reply import decode_body, parse_reply

MODEL = "r-eval"
"""The name under which a program finds the episode's LLM."""
MAX_MESSAGES, MAX_TOOLS, MAX_STOPS = 2_000, 128, 16


class InvalidRequest(ValueError):
    """A body is not one that can be answered; says why."""


def parse_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        InvalidRequest: It is none.
    """
    try:
        data = decode_body(body)
    except ValueError as error:
        raise InvalidRequest(f"the body is not JSON ({error})") from None
    if not isinstance(data, dict):
        raise InvalidRequest("the body is not a JSON object")
    return data


def parse_request(data: Mapping[str, Any], known: dict[bytes, Message]) -> Request:
    """The request in the body of a chat completion. All system messages become one, the first.

    Args:
        known: The messages of the episode by their JSON; equal messages become one object, which is hashed once.

    Raises:
        InvalidRequest: The body is wrong, or wants what not every LLM can give.
    """
    if data.get("n") not in (None, 1):
        raise InvalidRequest("n must be 1")
    form = data.get("response_format")
    if form is not None and not (isinstance(form, dict) and form.get("type") == "text"):
        raise InvalidRequest("response_format is not supported; describe the form in the prompt, or offer a tool")
    entries = _items(data, "messages", MAX_MESSAGES)
    if not entries:
        raise InvalidRequest("messages is empty")
    stop, length, (tools, choice) = _stops(data.get("stop")), _length(data), _tools(data)
    keys = [to_json(entry, inf_nan_mode="constants") for entry in entries]
    new = {key: _message(entry) for key, entry in zip(keys, entries, strict=True) if key not in known}
    known.update(new)  # only now, so that requests that are refused leave nothing behind
    return Request(_with_one_system([known[key] for key in keys]), stop, length, tools, choice)


def _items(data: Mapping[str, Any], key: str, most: int) -> list[dict[str, Any]]:
    """A list of objects, [] where there is none."""
    items = data.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidRequest(f"{key} must be a list of objects")
    if len(items) > most:
        raise InvalidRequest(f"{key} has more than {most:,} entries")
    return items


def _message(entry: dict[str, Any]) -> Message:
    role = entry.get("role")
    if role == "assistant":
        try:
            return parse_reply({"choices": [{"message": entry}]}).message()
        except LLMError as error:
            raise InvalidRequest(f"a message of the assistant cannot be read: {error}") from None
    text = _text(entry.get("content"))
    if role in ("system", "developer"):
        return Message("system", text)
    if role == "user":
        return Message("user", text)
    if role == "tool":
        call_id, name = entry.get("tool_call_id"), entry.get("name")
        if not isinstance(call_id, str):
            raise InvalidRequest("a message of a tool needs its tool_call_id")
        return Message("tool", text, call_id=call_id, name=name if isinstance(name, str) else "")
    raise InvalidRequest(f"the role {str(role)[:30]!r} is unknown")


def _text(content: Any) -> str:
    """Content as one text: a text, or parts that are texts."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            raise InvalidRequest("the content of a message must be text")
        texts.append(text)
    return "".join(texts)


def _with_one_system(messages: list[Message]) -> tuple[Message, ...]:
    """Messages with what the system says at the beginning, since many chat templates know no other place."""
    systems = [message for message in messages if message.role == "system"]
    if len(systems) == 1 and messages[0] is systems[0]:
        return tuple(messages)
    rest = [message for message in messages if message.role != "system"]
    text = "\n\n".join(message.content for message in systems)
    return (*([Message("system", text)] if systems else []), *rest)


def _stops(stop: Any) -> tuple[str, ...]:
    stops = [stop] if isinstance(stop, str) else stop or []
    if not isinstance(stops, list) or len(stops) > MAX_STOPS or not all(isinstance(text, str) for text in stops):
        raise InvalidRequest(f"stop must be a text or a list of at most {MAX_STOPS} texts")
    return tuple(stops)


def _length(data: Mapping[str, Any]) -> int | None:
    length = data.get("max_completion_tokens") or data.get("max_tokens")
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 1):
        raise InvalidRequest("max_tokens must be a whole number of at least 1")
    return length


def _tools(data: Mapping[str, Any]) -> tuple[tuple[ToolSpec, ...], Literal["auto", "required"]]:
    """The offered tools; where one is chosen by name, it alone."""
    tools = []
    for item in _items(data, "tools", MAX_TOOLS):
        function = item.get("function")
        parameters = (function.get("parameters") or {}) if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(parameters, dict):
            raise InvalidRequest("a tool must be a function whose parameters are a JSON schema")
        name, description = function.get("name"), function.get("description") or ""
        if not isinstance(name, str) or not isinstance(description, str):
            raise InvalidRequest("a tool needs a name, and its description must be text")
        tools.append(ToolSpec(name, description, parameters))
    choice = data.get("tool_choice")
    if isinstance(choice, dict):
        function = choice.get("function")
        chosen = function.get("name") if isinstance(function, dict) else None
        tools = [tool for tool in tools if tool.name == chosen]
        if not tools:
            raise InvalidRequest(f"tool_choice names the tool {str(chosen)[:60]!r}, which is not offered")
        return tuple(tools), "required"
    if choice not in (None, "auto", "none", "required"):
        raise InvalidRequest("tool_choice must be auto, none, required, or a function")
    return tuple(tools), "required" if choice == "required" and tools else "auto"


def completion(reply: Reply, request: Request, data: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A reply as a chat completion; its calls get ids that no earlier call of the conversation has.

    A call whose arguments could not be read is passed on without them, so that its tool says what it needs.

    Args:
        number: Of the completion in its episode.
    """
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, **(reply.extra or {})}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    calls = () if data.get("tool_choice") == "none" else reply.tool_calls
    taken = {call.id for earlier in request.messages for call in earlier.tool_calls}
    numbers = itertools.count(sum(len(earlier.tool_calls) for earlier in request.messages))
    entries = []
    for call in calls:
        call_id = call.id
        while not call_id or call_id in taken:
            call_id = f"call{next(numbers):05d}"
        taken.add(call_id)
        extra = dict(call.extra or {})
        inner = extra.pop("function", {})
        function = {**inner, "name": call.name or "unknown", "arguments": json.dumps(call.arguments)}
        entries.append({**extra, "id": call_id, "type": "function", "function": function})
    if entries:
        message["tool_calls"] = entries
    ends = "length" if reply.finish == "length" else "tool_calls" if entries else "stop"
    used = reply.tokens
    usage = {
        "prompt_tokens": used.prompt,
        "completion_tokens": used.completion,
        "total_tokens": used.prompt + used.completion,
    }
    choice = {"index": 0, "message": message, "finish_reason": ends, "logprobs": None}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


def completion_chunks(whole: Mapping[str, Any], with_usage: bool) -> Iterator[dict[str, Any]]:
    """A completion as the chunks of a stream: the message, its end, and what was used where that is wanted."""
    (choice,) = whole["choices"]
    delta = dict(choice["message"])
    if delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(delta["tool_calls"])]
    head = {**{key: whole[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if with_usage:
        yield {**head, "choices": [], "usage": whole["usage"]}
