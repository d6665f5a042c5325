"""The answers of chat-completions servers, validated once where they enter, and bounded.

A wrong type is a bad reply (`LLMError` with the cause "reply"), which is tried again like any other failure. Whatever
this module returns can be written to a record and read back.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from r_eval.llms import failures, tokens
from r_eval.llms.base import LLMError, Reply, ToolCall
from r_eval.llms.json_text import Budget
from r_eval.llms.tool_calls import parse_arguments
from r_eval.text import clean_data

MAX_BYTES = 16 << 20
"""Of an answer, on the wire and decompressed; reading stops there."""
MAX_CALLS, MAX_NAME = 64, 1_000
"""Tool calls of one reply that are looked at, and characters of a call's name and id."""
MAX_EXTRA = 400_000
"""Bytes as JSON of all unknown keys of a reply; more are dropped, since every further request holds them again."""
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
MESSAGE_KEYS = frozenset(
    ("role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio", *REASONING_KEYS)
)
CALL_KEYS = frozenset(("id", "type", "function", "index", "name", "arguments", "parsed_arguments"))
TEXT_KEYS = ("text", "thinking", "content", "summary")


async def read_body(pieces: AsyncIterator[bytes], headers: Mapping[str, str]) -> bytes:
    """The body of an answer, decompressed here.

    Raises:
        LLMError: It is larger than `MAX_BYTES`, or compressed in a way that was not asked for.
    """
    encoding = headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise LLMError("reply", f"the answer is compressed as {encoding[:30]!r}, which was not asked for")
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_BYTES:
            break
    if encoding not in ("", "identity") and len(body) <= MAX_BYTES:
        try:
            body = bytearray(zlib.decompressobj(wbits=47).decompress(body, MAX_BYTES + 1))
        except zlib.error as error:
            raise LLMError("reply", f"the answer cannot be decompressed ({error})") from None
    if len(body) > MAX_BYTES:
        raise LLMError("request", f"the answer is larger than {MAX_BYTES >> 20} MB")
    return bytes(body)


def encode_body(data: Mapping[str, Any]) -> bytes:
    """JSON as it is sent; a lone surrogate, which UTF-8 cannot hold, becomes "?"."""
    try:
        return to_json(data)
    except PydanticSerializationError:
        return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


def decode_body(body: bytes) -> Any:
    """The JSON in an answer, its texts clean.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return from_json(body)
    except ValueError:  # it may still hold a lone surrogate, a broken character or a bare line break
        try:
            return clean_data(json.loads(body.decode("utf-8-sig", "replace"), strict=False))
        except RecursionError:
            raise ValueError("it is nested too deep") from None


def parse_reply(data: Any) -> Reply:
    """The reply in a server's JSON answer.

    Raises:
        LLMError: There is none; or the answer is an error.
    """
    if (error := failures.error_in(data)) is not None:
        raise error
    choices = data.get("choices") if isinstance(data, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise _wrong("no choice in the reply", data)
    text, thoughts = _content(message.get("content"))
    refusal = message.get("refusal")
    text = text or (refusal if isinstance(refusal, str) else "")
    finish = failures.finish(choice.get("finish_reason"))
    calls = _tool_calls(message, finish == "length")
    extra = _unknown(message, MESSAGE_KEYS)
    if not _is_small([extra, *(call.extra for call in calls)]):
        calls, extra = tuple(dataclasses.replace(call, extra=None) for call in calls), {}
    counted, estimated = tokens.parse_usage(data.get("usage"))
    reasoning = "\n".join(filter(None, [_reasoning(message), *thoughts]))
    return Reply(text, calls, "refusal" if refusal else finish, counted, estimated, reasoning, extra or None)


def _content(content: Any) -> tuple[str, list[str]]:
    """The text of a message's content, and the reasoning in it: a text, nothing, or a list of parts."""
    if content is None:
        return "", []
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        part = {"type": "text", "text": part} if isinstance(part, str) else part
        kind = part.get("type") or ("text" if "text" in part else None) if isinstance(part, dict) else None
        if kind is None:
            raise _wrong("the content is neither text nor parts", content)
        if kind in ("thinking", "reasoning"):
            thoughts.append(_flat(part.get(kind) or part.get("text") or part.get("summary")))
        elif kind in ("text", "output_text", "refusal"):
            text = part.get("refusal" if kind == "refusal" else "text")
            if not isinstance(text, str):
                raise _wrong("a part of the content has no text", content)
            texts.append(text)
    return "".join(texts), thoughts


def _reasoning(message: Mapping[str, Any]) -> str:
    """The thinking, under any of the names that servers have for it."""
    reasoning = next((message[key] for key in REASONING_KEYS if message.get(key)), None)
    if reasoning is None and isinstance(details := message.get("reasoning_details"), list):
        # OpenRouter's: opaque, sent back as it is; its texts are for the record
        reasoning = [detail for detail in details if isinstance(detail, dict) and detail.keys() & TEXT_KEYS]
    return _flat(reasoning)


def _flat(value: Any) -> str:
    """Reasoning as one text: a text, or parts with a text each."""
    parts = value if isinstance(value, list) else [value or ""]
    texts = [next((p[k] for k in TEXT_KEYS if k in p), None) if isinstance(p, dict) else p for p in parts]
    if not all(isinstance(text, str) for text in texts):
        raise _wrong("the reasoning is no text", value)
    return "\n".join(filter(None, texts))


def _tool_calls(message: Mapping[str, Any], cut: bool) -> tuple[ToolCall, ...]:
    entries = message.get("tool_calls") or message.get("function_call") or []  # the latter where servers are old
    entries = [entries] if isinstance(entries, dict) else entries
    if not isinstance(entries, list):
        raise _wrong("the tool calls are no list", entries)
    calls: list[ToolCall] = []
    budget = Budget()
    for entry in entries[:MAX_CALLS]:
        if not isinstance(entry, dict):
            continue
        function = entry.get("function", entry)
        if not isinstance(function, dict):
            raise _wrong("a tool call has no function", entry)
        texts = function.get("name"), entry.get("id")
        name, call_id = (text[:MAX_NAME] if isinstance(text, str) else "" for text in texts)
        arguments, error = parse_arguments(function.get("arguments"), name, cut, budget)
        extra = _unknown(entry, CALL_KEYS)
        if function is not entry and (inner := _unknown(function, CALL_KEYS)):
            extra["function"] = inner
        calls.append(ToolCall(call_id, name, arguments, error, extra or None))
    if not calls and any(entry is not None for entry in entries):
        raise _wrong("the tool calls are no objects", entries)
    return tuple(calls)


def _unknown(entry: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The non-null keys of an object that are not known, to be sent back as they came."""
    return {key: value for key, value in entry.items() if key not in known and value is not None}


def _is_small(extras: list[dict[str, Any] | None]) -> bool:
    """Whether unknown keys are within the bound; those that JSON cannot hold, or nested too deep, are not."""
    try:
        return len(to_json(extras, inf_nan_mode="constants")) <= MAX_EXTRA
    except ValueError:
        return False


def _wrong(what: str, value: Any) -> LLMError:
    """That a value is wrong, with its beginning."""
    text = to_json(value, inf_nan_mode="constants", serialize_unknown=True)[:100].decode("utf-8", "replace")
    return LLMError("reply", f"{what}: {' '.join(text.split())}")
