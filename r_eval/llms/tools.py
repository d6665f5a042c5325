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
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from string import Template
from typing import Any

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec

TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", re.DOTALL)
FENCED = re.compile(r"```(?:json|tool_call|python|tool_code)?[ \t]*\n(.*?)(?:```|$)", re.DOTALL)
MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(.*)", re.DOTALL)
PYTHON = re.compile(r"\b([A-Za-z_]\w*)\(")
LONGEST = 20_000

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
    names = [tool.name for tool in tools]
    text = reply.text[:LONGEST]
    for pattern in (TAGGED, MISTRAL, FENCED):
        found = list(pattern.finditer(text))
        calls = [call for match in found for call in _calls(match.group(1), names, pattern is not FENCED)]
        if calls:
            return dataclasses.replace(
                reply, text=pattern.sub("", text).strip(), tool_calls=_numbered(calls), finish="tool_calls"
            )
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
    if start >= 0:
        calls = _calls(text[start:], names, False)
        if calls:
            return dataclasses.replace(
                reply, text=text[:start].strip(), tool_calls=_numbered(calls), finish="tool_calls"
            )
    python = _python_call(text, names)
    if python is not None:
        call, rest = python
        return dataclasses.replace(reply, text=rest, tool_calls=_numbered([call]), finish="tool_calls")
    return reply


def _numbered(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(dataclasses.replace(call, id=f"call_{i}") for i, call in enumerate(calls))


def _calls(text: str, names: list[str], marked: bool) -> list[ToolCall]:
    """The calls in a piece of text; one that is marked as a call but cannot be read is a call with an error."""
    data = lenient_json(text)
    entries = data if isinstance(data, list) else [data]
    calls = [call for entry in entries if (call := _from_json(entry)) is not None]
    if calls:
        return calls
    python = _python_call(text, names)
    if python is not None:
        return [python[0]]
    return [ToolCall("", "", {}, f"The call could not be read. {HOW}")] if marked else []


def _from_json(entry: Any) -> ToolCall | None:
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("function"), dict):
        entry = entry["function"]
    name = entry.get("name") or entry.get("tool") or entry.get("function")
    if not isinstance(name, str):
        return None
    arguments: Any = next((entry[key] for key in ("arguments", "parameters", "args", "input") if key in entry), {})
    if isinstance(arguments, str):
        arguments = lenient_json(arguments)
    if not isinstance(arguments, dict):
        return ToolCall("", name, {}, f"The arguments of {name} must be a JSON object. {HOW}")
    return ToolCall("", name, {str(key): value for key, value in arguments.items()})


def lenient_json(text: str) -> Any:
    """The first JSON value in a text, read as models write it; None where there is none.

    Takes trailing commas, single quotes, Python's True/False/None, text after the value, and a cut end (open strings
    and brackets are closed).
    """
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
    if start < 0:
        return None
    text = text[start : start + LONGEST]
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except ValueError:
        pass
    piece = _balanced(text)
    for candidate in (re.sub(r",\s*([}\]])", r"\1", piece), piece):
        for parse in (functools.partial(json.loads, strict=False), ast.literal_eval):
            try:
                return parse(candidate)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
    return None


def _balanced(text: str) -> str:
    """The text up to the bracket that closes its first one; a missing end is put in."""
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
        elif c in "{[":
            closing.append("}" if c == "{" else "]")
        elif c in "}]" and closing:
            closing.pop()
            if not closing:
                return text[: i + 1]
    return text + quote + "".join(reversed(closing))


def _python_call(text: str, names: list[str]) -> tuple[ToolCall, str] | None:
    """The first `Tool(...)` of an offered tool, read as Python syntax but never run, and the text before it."""
    for match in PYTHON.finditer(text):
        if match.group(1) not in names:
            continue
        end = text.find("\n", match.end())
        line = text[match.start() : end if end >= 0 else len(text)]
        for stop in [i for i, c in enumerate(line) if c == ")"][::-1]:
            try:
                node = ast.parse(line[: stop + 1], mode="eval").body
                if isinstance(node, ast.Call) and not node.args:
                    arguments = {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg}
                    return ToolCall("", match.group(1), arguments), text[: match.start()].strip()
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                continue
    return None
