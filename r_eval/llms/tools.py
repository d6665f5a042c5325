"""Tool calls written as text: how they are asked for in a prompt, and how they are read out of a reply.

Backends without native tool calls get the tools described in the system message and their calls and results as plain
messages; a reply stops before the model invents a result. Models with native tool calls often write a call into the
text all the same, so every reply to a request with tools passes through `read`, and no workflow can tell the two apart.

What cannot be read whole becomes a `ToolCall` with an error that says how to write one. The notations themselves are
in `notations`, the forgiving JSON reader is in `lenient`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from string import Template

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.calls import HOW
from r_eval.llms.lenient import lenient_json
from r_eval.llms.notations import FINDERS, MARK, Found

__all__ = ["HOW", "LONGEST", "RESPONSE", "lenient_json", "read", "write", "written"]

LONGEST = 20_000
"""Characters of a reply in which calls are looked for."""

RESPONSE = "<tool_response>"
EMPTY_FENCE = re.compile(r"```\w*\s*```")


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

    Only read where the reply has no native calls. Of the notations, the first that gives a call is the one that
    counts: calls marked as such, then `Action:` lines, fenced blocks, bare JSON, and `Search("...")` or `Search[...]`
    with the name of an offered tool.
    """
    if reply.tool_calls or not reply.text.strip():
        return reply
    offered = {tool.name: tool for tool in tools}
    text = reply.text[:LONGEST]
    found = next(filter(None, (find(text, offered) for find in FINDERS)), None)
    if not found:
        return reply
    calls = tuple(dataclasses.replace(call, id=f"call_{i}") for i, (_, _, call) in enumerate(found))
    return dataclasses.replace(reply, text=_without(reply.text, found), tool_calls=calls, finish="tool_calls")


def _without(text: str, found: Found) -> str:
    """A text without its calls, their marks, and brackets and fences that held nothing else."""
    pieces: list[str] = []
    position = 0
    for start, end, _ in found:
        pieces.append(text[position:start])
        position = max(position, end)
    pieces.append(text[position:])
    bare = (MARK.sub("", piece) for piece in pieces)
    return EMPTY_FENCE.sub("", "".join(piece for piece in bare if re.search(r"\w|```", piece))).strip()
