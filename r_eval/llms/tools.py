"""Tool calls written as text: how they are asked for in a prompt, and how they are read out of a reply.

Backends without native tool calls get the tools described in the system message and their calls and results as plain
messages; a reply stops before the model invents a result. Models with native tool calls often write a call into the
text all the same, so every reply to a request with tools passes through `read`, and no workflow can tell the two apart.

What cannot be read whole becomes a `ToolCall` with an error that says how to write one.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from string import Template
from typing import Any

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec

TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)
FENCED = re.compile(r"```(?:json|tool_call|python|tool_code)?[ \t]*\n(.*?)(?:```|$)", re.DOTALL)
MISTRAL = re.compile(r"\[TOOL_CALLS\](.*)", re.DOTALL)
PYTHON = re.compile(r"\b([A-Za-z_]\w*)\(")
CLOSING = {"{": "}", "[": "]", "(": ")"}
LONGEST = 20_000
DEEPEST = 100
TRIES = 10

RESPONSE = "<tool_response>"
HOW = 'Write a call as <tool_call>{"name": "<tool>", "arguments": {...}}</tool_call>.'


@functools.cache
def _template() -> Template:
    return Template(files("r_eval.llms").joinpath("prompts/tools.md").read_text(encoding="utf-8").strip())


def write(request: Request) -> Request:
    """A request with tools as one without: tools described, calls and results as text."""
    described = "\n".join(
        json.dumps({"name": t.name, "description": t.description, "parameters": t.parameters}, ensure_ascii=False)
        for t in request.tools
    )
    text = _template().substitute(tools=described)
    messages: list[Message] = []
    for message in request.messages:
        if message.role == "tool":
            _add(messages, Message("user", f"{RESPONSE}\n{message.content}\n</tool_response>"))
        elif message.tool_calls:
            calls = "\n".join(written(call) for call in message.tool_calls)
            messages.append(Message("assistant", f"{message.content}\n{calls}".strip()))
        else:
            _add(messages, Message(message.role, message.content))
    if messages and messages[0].role == "system":
        messages[0] = Message("system", f"{messages[0].content}\n\n{text}")
    else:
        messages.insert(0, Message("system", text))
    stop = (*request.stop, RESPONSE)
    return dataclasses.replace(request, messages=tuple(messages), tools=(), stop=stop)


def _add(messages: list[Message], message: Message) -> None:
    """Append a message; two of the user in a row become one, since many chat templates want turns to alternate."""
    if messages and messages[-1].role == message.role == "user":
        messages[-1] = Message("user", f"{messages[-1].content}\n{message.content}")
    else:
        messages.append(message)


def written(call: ToolCall) -> str:
    """A call in the notation that the prompt asks for."""
    body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


def read(reply: Reply, tools: Iterable[ToolSpec]) -> Reply:
    """A reply with the calls that its text holds as tool calls, and the text without them.

    Only read where the reply has no native calls. Tagged calls count first, then fenced blocks, then bare JSON, then
    Python call syntax with the name of an offered tool.
    """
    if reply.tool_calls or not reply.text.strip():
        return reply
    offered = {tool.name: tool for tool in tools}
    text = reply.text[:LONGEST]
    for pattern in (TAGGED, MISTRAL, FENCED):
        calls = [c for match in pattern.finditer(text) for c in _calls(match.group(1), offered, pattern is not FENCED)]
        if calls:
            return _with_calls(reply, pattern.sub("", text), calls)
    for find in (_json_calls, _python_calls):
        calls, start = find(text, offered)
        if calls:
            return _with_calls(reply, text[:start], calls)
    return reply


def _with_calls(reply: Reply, text: str, calls: Iterable[ToolCall]) -> Reply:
    numbered = tuple(dataclasses.replace(call, id=f"call_{i}") for i, call in enumerate(calls))
    return dataclasses.replace(reply, text=text.strip(), tool_calls=numbered, finish="tool_calls")


def _calls(text: str, offered: Mapping[str, ToolSpec], marked: bool) -> list[ToolCall]:
    """The calls in a piece of text; one that is marked as a call but cannot be read is a call with an error."""
    calls = _json_calls(text, offered, marked)[0] or _python_calls(text, offered)[0]
    if marked and not calls:
        return [ToolCall("", "", {}, f"The call could not be read. {HOW}")]
    return calls


def _json_calls(text: str, offered: Mapping[str, ToolSpec], marked: bool = False) -> tuple[list[ToolCall], int]:
    """The calls written as JSON, and where the first of them begins."""
    calls: list[ToolCall] = []
    first = -1
    for start, value in _values(text):
        for entry in value if isinstance(value, list) else [value]:
            call = _from_json(entry, offered, marked)
            if call is not None:
                calls.append(call)
                first = start if first < 0 else first
    return calls, first


def _from_json(entry: Any, offered: Mapping[str, ToolSpec], marked: bool) -> ToolCall | None:
    """The call in a JSON value. Where nothing marks it as one, a name that is no tool's needs arguments beside it."""
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    name = entry.get("name") or entry.get("tool") or entry.get("function")
    key = next((key for key in ("arguments", "parameters", "args", "input") if key in entry), None)
    if not isinstance(name, str) or not (marked or key or name in offered):
        return None
    arguments: Any = (entry[key] if key else None) or {}
    if isinstance(arguments, str):
        arguments = lenient_json(arguments)
    if not isinstance(arguments, dict):
        return ToolCall("", name, {}, f"The arguments of {name} must be a JSON object. {HOW}")
    return ToolCall("", name, arguments)


def lenient_json(text: str) -> Any:
    """The first JSON value (object or array) in a text, read as models write it; None where there is none.

    Takes trailing commas, single quotes, Python's True/False/None, text around the value, and a cut end (open strings
    and brackets are closed).
    """
    return next((value for _, value in _values(text)), None)


def _values(text: str) -> Iterator[tuple[int, Any]]:
    """The JSON values in a text one after another, each with its place; only so many are looked for."""
    position = 0
    for _ in range(TRIES):
        start = min((i for i in (text.find("{", position), text.find("[", position)) if i >= 0), default=-1)
        if start < 0:
            return
        value, length = _value(text[start : start + LONGEST])
        if value is not None:
            yield start, value
        position = start + length


def _value(text: str) -> tuple[Any, int]:
    """The JSON value that begins a text, and its length; None where it cannot be read."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        pass
    piece = _balanced(text)
    if not piece:
        return None, 1
    for candidate in (piece, re.sub(r",\s*([}\]])", r"\1", piece)):
        for parse in (functools.partial(json.loads, strict=False), _literal):
            try:
                return parse(candidate), len(piece)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
    return None, 1


def _literal(source: str | ast.expr) -> Any:
    """A Python literal as JSON data; what JSON does not have (sets, bytes) is a TypeError."""
    return json.loads(json.dumps(ast.literal_eval(source)))


def _balanced(text: str) -> str:
    """The text up to the bracket that closes its first one; a missing end is put in.

    "" where brackets are nested deeper than in any call.
    """
    closing: list[str] = []
    quote = ""
    escaped = False
    for i, c in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = c == "\\"
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in CLOSING:
            closing.append(CLOSING[c])
            if len(closing) > DEEPEST:
                return ""
        elif c in "}])" and closing:
            closing.pop()
            if not closing:
                return text[: i + 1]
    return text + quote + "".join(reversed(closing))


def _python_calls(text: str, offered: Mapping[str, ToolSpec]) -> tuple[list[ToolCall], int]:
    """Every `Tool(...)` of an offered tool, read as Python syntax but never run, and where the first begins.

    Arguments without a name are those of the tool's parameters, in their order.
    """
    calls: list[ToolCall] = []
    first = -1
    matches = (match for match in PYTHON.finditer(text) if match.group(1) in offered)
    for match in itertools.islice(matches, TRIES):
        piece = _balanced(text[match.start() :])
        if not piece or not text.startswith(piece, match.start()):
            continue
        try:
            node = ast.parse(piece, mode="eval").body
            if not isinstance(node, ast.Call):
                continue
            names = offered[match.group(1)].parameters.get("properties", {})
            arguments = {n: _literal(v) for n, v in zip(names, node.args, strict=False)}
            arguments |= {k.arg: _literal(k.value) for k in node.keywords if k.arg}
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        calls.append(ToolCall("", match.group(1), arguments))
        first = match.start() if first < 0 else first
    return calls, first
