"""What a chat-completions server said, validated once where it enters, and bounded.

A wrong type is a bad reply (`LLMError` with the cause "reply"), which is tried again like any other failure. Whatever
comes out of here can be written to a record and read back.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from r_eval.llms import failures, tokens
from r_eval.llms.base import LLMError, Reply, ToolCall
from r_eval.llms.tool_calls import parse_arguments
from r_eval.text import clean_data

if TYPE_CHECKING:
    import aiohttp

MAX_BYTES = 16 << 20
"""Of an answer, on the wire and decompressed; reading stops there."""
MAX_CALLS = 64
"""Tool calls of one reply that are looked at."""
MESSAGE_KEYS = frozenset(
    [
        "role",
        "content",
        "refusal",
        "tool_calls",
        "function_call",
        "reasoning_content",
        "reasoning",
        "thinking",
        "annotations",
        "audio",
    ]
)
CALL_KEYS = frozenset(("id", "type", "function", "index"))
FUNCTION_KEYS = frozenset(("name", "arguments", "parsed_arguments"))
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
TEXT_PARTS = ("text", "output_text")
REASONING_PARTS = ("thinking", "reasoning")


async def read_body(answer: aiohttp.ClientResponse) -> bytes:
    """The body of an answer that aiohttp was told not to decompress.

    Raises:
        LLMError: It is larger than `MAX_BYTES`, or compressed in a way that nobody asked for.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.content.iter_any():
        size += len(piece)
        if size > MAX_BYTES:
            answer.close()
            raise _too_large()
        pieces.append(piece)
    body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise LLMError("reply", f"the answer is compressed as {encoding[:30]!r}, which was not asked for")
    reader = zlib.decompressobj(wbits=47)
    try:
        plain = reader.decompress(body, MAX_BYTES + 1)
    except zlib.error as error:
        raise LLMError("reply", f"the answer cannot be decompressed ({error})") from None
    if len(plain) > MAX_BYTES:
        raise _too_large()
    return plain


def _too_large() -> LLMError:
    return LLMError("request", f"the answer is larger than {MAX_BYTES >> 20} MB")


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
    except ValueError:  # it may still hold a lone surrogate or a broken character
        try:
            return clean_data(json.loads(body.decode("utf-8-sig", "replace")))
        except RecursionError:
            raise ValueError("it is nested too deep") from None


def parse_reply(data: Any) -> Reply:
    """The reply in a server's JSON answer.

    Raises:
        LLMError: There is none; or the answer is an error.
    """
    error = failures.error_in(data)
    if error is not None:
        raise error
    if not isinstance(data, dict):
        raise LLMError("reply", f"the answer is no JSON object: {_quote(data)}")
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise LLMError("reply", f"no choice in the reply: {_quote(data)}")
    text, thoughts = _content(message.get("content"))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal and not text:
        text = refusal
    counted, estimated = tokens.parse_usage(data.get("usage"))
    finish = failures.finish(choice.get("finish_reason"))
    return Reply(
        text=text,
        tool_calls=_tool_calls(message, finish == "length"),
        finish="refusal" if refusal else finish,
        tokens=counted,
        estimated=estimated,
        reasoning="\n".join(filter(None, [_reasoning(message), *thoughts])),
        extra=_extra(message, MESSAGE_KEYS),
    )


def _content(content: Any) -> tuple[str, list[str]]:
    """The text of a message's content, and the reasoning in it: a text, nothing, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or "", []
    parts = [content] if isinstance(content, dict) else content
    if not isinstance(parts, list):
        raise LLMError("reply", f"the content is no text: {_quote(content)}")
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, dict):
            raise LLMError("reply", f"a part of the content is no text: {_quote(content)}")
        elif kind in REASONING_PARTS:
            thoughts.append(_flat(part.get(kind) or part.get("text") or part.get("summary")))
        elif kind in TEXT_PARTS or (kind is None and "text" in part):
            if not isinstance(part.get("text"), str):
                raise LLMError("reply", f"a part of the content has no text: {_quote(content)}")
            texts.append(part["text"])
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            texts.append(part["refusal"])
        elif kind is None:
            raise LLMError("reply", f"a part of the content has no type: {_quote(content)}")
    return "".join(texts), thoughts


def _reasoning(message: Mapping[str, Any]) -> str:
    """What was thought, under any of the names that servers have for it."""
    for key in REASONING_KEYS:
        if message.get(key):
            return _flat(message[key])
    details = message.get("reasoning_details")  # OpenRouter: opaque, sent back as it is; its texts are for the record
    if isinstance(details, list):
        texts = [d.get("text") or d.get("summary") for d in details if isinstance(d, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return ""


def _flat(value: Any) -> str:
    """Reasoning as one text: a text, or parts with a text each.

    Raises:
        LLMError: It is something else.
    """
    if value is None or isinstance(value, str):
        return value or ""
    parts = value if isinstance(value, list) else [value]
    texts = [
        next((part[k] for k in ("text", "thinking", "content", "summary") if isinstance(part.get(k), str)), None)
        if isinstance(part, dict)
        else part
        for part in parts
    ]
    if not all(isinstance(text, str) for text in texts):
        raise LLMError("reply", f"the reasoning is no text: {_quote(value)}")
    return "\n".join(filter(None, texts))


def _tool_calls(message: Mapping[str, Any], cut: bool) -> tuple[ToolCall, ...]:
    entries = message.get("tool_calls")
    if not entries and isinstance(message.get("function_call"), dict):  # servers older than tools
        entries = [{"function": message["function_call"]}]
    if isinstance(entries, dict):
        entries = [entries]
    if not entries:
        return ()
    if not isinstance(entries, list):
        raise LLMError("reply", f"the tool calls are no list: {_quote(entries)}")
    last = len(entries) - 1
    calls = [_tool_call(e, cut and i == last) for i, e in enumerate(entries[:MAX_CALLS]) if isinstance(e, dict)]
    if not calls and any(entry is not None for entry in entries):
        raise LLMError("reply", f"the tool calls are no objects: {_quote(entries)}")
    return tuple(calls)


def _tool_call(entry: dict[str, Any], cut: bool) -> ToolCall:
    function = entry.get("function", entry)
    if not isinstance(function, dict):
        raise LLMError("reply", f"a tool call has no function: {_quote(entry)}")
    name, call_id = function.get("name"), entry.get("id")
    name = name if isinstance(name, str) else ""
    arguments, error = parse_arguments(function.get("arguments"), name, cut=cut)
    extra = _extra(entry, CALL_KEYS if function is not entry else CALL_KEYS | FUNCTION_KEYS) or {}
    inner = _extra(function, FUNCTION_KEYS) if function is not entry else None
    if inner:
        extra["function"] = inner
    return ToolCall(call_id if isinstance(call_id, str) else "", name, arguments, error, extra or None)


def _extra(entry: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any] | None:
    """The non-null keys of an object that are not known, to be sent back as they came."""
    if entry.keys() <= known:
        return None
    return {key: value for key, value in entry.items() if key not in known and value is not None} or None


def _quote(value: Any) -> str:
    """The beginning of a wrong value, for a message."""
    if isinstance(value, dict | list):
        value = to_json(value, inf_nan_mode="constants", serialize_unknown=True)[:100].decode("utf-8", "replace")
    return " ".join(str(value)[:100].split())
