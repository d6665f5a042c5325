"""Tool calls as text and as data: read from replies, written into prompts, repaired in a conversation.

Prompted function calling, ReAct and agents all read through here, and native calls resolve names the same way.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from string import Template
from typing import Any, Protocol

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.call_reader import (
    LINE,
    MARK,
    MAX_TEXT,
    RESPONSE,
    UNREADABLE,
    CallReader,
    before_invented,
    canonical_name,
)
from r_eval.llms.json_text import FENCE, MAX_LENGTH, JSONTextError, json_values, plain_data
from r_eval.text import clean, clean_data

__all__ = [
    "UNREADABLE",
    "canonical_name",
    "format_tool_call",
    "invents_result",
    "parse_action",
    "parse_arguments",
    "parse_tool_calls",
    "read_reply",
    "render_tools",
    "repair_history",
]

EMPTY_FENCE = re.compile(r"```\w*+\s*+```")
OPEN_FENCE = re.compile(r"```\w*+\s*+\Z")
LIST_ENDS = re.compile(r"\A\s*+\]|\[\s*+\Z")
"""What is left of a list of calls in Python's notation beside each of them."""
FINAL = re.compile(
    rf"(?:{LINE}|(?<=[.!?。！？]) ?)(?:(?:final )?answer|finish|最终答案|答案)\s?\d*[ *_]*[:：][\s*_]*"
    r"(?P<answer>[^\s*_].*)",
    re.IGNORECASE | re.MULTILINE,
)


class Parameters(Protocol):
    """What is needed of the description of a query API."""

    @property
    def parameters(self) -> Sequence[Any]: ...


def read_reply(reply: Reply, tools: Iterable[ToolSpec]) -> Reply:
    """A reply to a request with tools: the calls of its text as tool calls, names as the tools are offered.

    Beside calls, native ones too, the text ends before a result that the model invents; `invents_result` tells.
    """
    if reply.tool_calls:
        names = [tool.name for tool in tools]
        text = before_invented(reply.text)
        if text == reply.text and all(call.name in names for call in reply.tool_calls):
            return reply
        native = (dataclasses.replace(call, name=canonical_name(call.name, names)) for call in reply.tool_calls)
        return dataclasses.replace(reply, text=text.rstrip(), tool_calls=tuple(native))
    calls, text = parse_tool_calls(reply.text, tools, cut=reply.finish == "length")
    return dataclasses.replace(reply, text=text, tool_calls=tuple(calls), finish="tool_calls") if calls else reply


def invents_result(text: str) -> bool:
    """Whether a reply with calls goes on with an observation or a tool result of the model's own invention."""
    return before_invented(text) != text


def parse_tool_calls(text: str, tools: Iterable[ToolSpec], cut: bool = False) -> tuple[list[ToolCall], str]:
    """The calls in a reply, and its text without them. What cannot be read whole is a call with an error.

    Args:
        cut: The reply ended at its limit on tokens, so that arguments without their end are not to be trusted.
    """
    head = text[:MAX_TEXT]
    found = CallReader({tool.name: tool for tool in tools}, cut=cut).find(head) if head.strip() else []
    if not found:
        return [], text
    calls = [dataclasses.replace(f.call, id=f"call{i:05d}") for i, f in enumerate(found)]
    pieces = [head[before.end if before else 0 : f.start] for before, f in zip([None, *found], found, strict=False)]
    bare = [LIST_ENDS.sub("", MARK.sub("", piece)) for piece in (*pieces, head[found[-1].end :])]
    rest = EMPTY_FENCE.sub("", "".join(piece for piece in bare if re.search(r"\w|```", piece)))
    rest = OPEN_FENCE.sub("", rest) if rest.count("```") % 2 else rest
    return calls, (rest + text[MAX_TEXT:]).strip()


def parse_action(text: str, specs: Mapping[str, Parameters], cut: bool = False) -> ToolCall | None:
    """The first action in a reply of ReAct's, or its final answer as a call of Finish; None where there is neither.

    Text after `Action:` that has the form of a call but an unknown name is returned under that name, so that the model
    can be told.

    Args:
        specs: The query APIs by name.
        cut: As for `parse_tool_calls`.
    """
    tools = {"Finish": ToolSpec("Finish", "", {"properties": {"answer": {}}})}
    for name, spec in specs.items():
        required = [p.name for p in spec.parameters if p.required]
        tools[name] = ToolSpec(name, "", {"properties": {p.name: {} for p in spec.parameters}, "required": required})
    head = text[:MAX_TEXT]
    found = CallReader(tools, loose=True, cut=cut).find(head)
    if found:
        return found[0].call if found[0].call.error is None else None
    final = FINAL.search(before_invented(head))
    return ToolCall("", "Finish", {"answer": final["answer"].strip(" *_`")}) if final else None


def parse_arguments(raw: object, name: str, cut: bool = False) -> tuple[dict[str, Any], str | None]:
    """The arguments of a native call as an object, and what is wrong with them, in words for the model.

    Args:
        raw: As the server gave them: an object, a text, a text within a text, or nothing.
        cut: As for `parse_tool_calls`.

    >>> parse_arguments('"{\\\\"entity\\\\": \\\\"Kenya\\\\"}"', "Search")
    ({'entity': 'Kenya'}, None)
    """
    of = f"of {name[:100]}" if name else "of the call"
    try:
        for _ in range(3):
            if isinstance(raw, str) and len(raw) <= MAX_LENGTH:
                raw = _first_object(FENCE.sub("", raw.strip()), cut)
        if _is_too_long(raw):
            return {}, f"The arguments {of} are too long: more than {MAX_LENGTH:,} characters."
        data: Any = plain_data({} if raw is None else raw)
    except JSONTextError as error:
        return {}, f"The arguments {of} cannot be used: {error}. Send one JSON object."
    if not isinstance(data, dict):
        return {}, f"The arguments {of} are not a JSON object. Send one, with the parameters as its keys."
    return data, None


def _first_object(text: str, cut: bool) -> Any:
    """The value of a text of arguments, the first that is not empty where there are several.

    Raises:
        JSONTextError: There is none, or only one whose end was cut off.
    """
    if text in ("", "null", "None"):
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        found = [value for value in islice(json_values(text), 3) if isinstance(value.value, dict)]
    if not found or found[0].start > 0:
        raise JSONTextError("they are no sound JSON")
    best = next((value for value in found if value.value), found[0])
    if cut and not best.is_closed:
        raise JSONTextError("the call was cut off before its end; make it shorter")
    return best.value


def _is_too_long(data: Any) -> bool:
    """Whether a value has too many characters, each of its parts counted as ten more; it may be nested to any depth."""
    left, parts = MAX_LENGTH, [data]
    while parts and left >= 0:
        part = parts.pop()
        left -= 10
        if isinstance(part, dict):
            left -= sum(len(str(key)) for key in part)
            parts += part.values()
        elif isinstance(part, list | tuple):
            parts += part
        elif isinstance(part, str):
            left -= len(part)
    return left < 0


# Written into a prompt


@functools.cache
def _template() -> Template:
    return Template(files("r_eval.llms").joinpath("prompts/tools.md").read_text(encoding="utf-8").strip())


def format_tool_call(call: ToolCall) -> str:
    """A call in the notation that the prompt asks for."""
    body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


def render_tools(request: Request) -> Request:
    """A request with tools as one without: tools described, calls and results as text."""
    described = "\n".join(
        json.dumps({"name": t.name, "description": t.description, "parameters": t.parameters}, ensure_ascii=False)
        for t in request.tools
    )
    text = _template().substitute(tools=described)
    messages: list[Message] = []
    for message in request.messages:
        if message.tool_calls:
            calls = "\n".join(format_tool_call(call) for call in message.tool_calls)
            content = f"{message.content}\n{calls}".strip()
            messages.append(dataclasses.replace(message, content=content, tool_calls=()))
            continue
        if message.role == "tool":
            message = Message("user", f"{RESPONSE}\n{message.content}\n</tool_response>")
        if messages and messages[-1].role == message.role == "user":  # many chat templates want turns to alternate
            message = Message("user", f"{messages.pop().content}\n{message.content}")
        messages.append(message)
    if messages and messages[0].role == "system":
        messages[0] = Message("system", f"{messages[0].content}\n\n{text}")
    else:
        messages.insert(0, Message("system", text))
    return dataclasses.replace(request, messages=tuple(messages), tools=(), stop=(*request.stop, RESPONSE))


# The repair of a conversation

SOUND_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SOUND_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
"""Servers want back what they gave: Kimi's ids have dots and colons, those of Mistral nine letters or digits."""
EMPTY = {"assistant": "(no text)", "user": "(no text)", "tool": "(no result)"}
NOT_DONE = "Not carried out."


def repair_history(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation that any server takes: what a model did oddly does not make it unreadable for good.

    Calls get names that APIs allow and unique ids, results the id and name of their call; no turn is empty, no call
    without a result, no text with half a surrogate. The same tuple where nothing is wrong.
    """
    if _is_sound(messages):
        return messages
    seen: set[str] = set()
    due: list[tuple[str, ToolCall]] = []  # calls without a result yet, with the ids that they came with
    repaired: list[Message] = []
    number = 0
    for message in messages:
        content = clean(message.content)
        content = content if message.tool_calls or content.strip() else EMPTY.get(message.role, content)
        if message.role == "tool":
            found = next((entry for entry in due if entry[0] == message.call_id), due[0] if due else None)
            if found is None:
                repaired.append(Message("user", content))
            else:
                due.remove(found)
                repaired.append(dataclasses.replace(message, content=content, call_id=found[1].id, name=found[1].name))
            continue
        repaired += [Message("tool", NOT_DONE, call_id=call.id, name=call.name) for _, call in due]
        due = []
        for call in message.tool_calls:
            fresh = (f"call{(number + 1009 * i) % 100_000:05d}" for i in range(100_000))
            usable = SOUND_ID.fullmatch(call.id) and call.id not in seen
            call_id = call.id if usable else next(new for new in fresh if new not in seen)
            number += 1
            seen.add(call_id)
            arguments = clean_data(call.arguments)
            due.append(
                (call.id, dataclasses.replace(call, id=call_id, name=sound_name(call.name), arguments=arguments))
            )
        calls, reasoning = tuple(call for _, call in due), clean(message.reasoning)
        repaired.append(dataclasses.replace(message, content=content, tool_calls=calls, reasoning=reasoning))
    repaired += [Message("tool", NOT_DONE, call_id=call.id, name=call.name) for _, call in due]
    return tuple(repaired)


@functools.lru_cache(2048)  # the same messages are sent again and again
def _is_clean(text: str) -> bool:
    return clean(text) is text


def _is_sound(messages: tuple[Message, ...]) -> bool:
    seen: set[str] = set()
    due: dict[str, str] = {}
    for message in messages:
        content = message.content
        if not (content.isascii() or _is_clean(content)) or not (
            message.reasoning == "" or _is_clean(message.reasoning)
        ):
            return False
        if (not content or content.isspace()) and not message.tool_calls and message.role in EMPTY:
            return False
        if message.role == "tool":
            if due.pop(message.call_id, None) != message.name or not message.name:
                return False
        elif due:
            return False
        for call in message.tool_calls:
            if call.id in seen or not SOUND_ID.fullmatch(call.id) or not SOUND_NAME.fullmatch(call.name):
                return False
            if "\\ud" in repr(call.arguments) and clean_data(call.arguments) != call.arguments:
                return False
            seen.add(call.id)
            due[call.id] = call.name
    return not due


def sound_name(name: str) -> str:
    """A tool's name as APIs allow it, still to be recognised: accents dropped, other letters by their numbers.

    >>> sound_name("search the web"), sound_name("Café.suche"), sound_name("搜索")
    ('search_the_web', 'Cafe_suche', 'u641c_u7d22')
    """
    if SOUND_NAME.fullmatch(name):
        return name
    name = canonical_name(name, ())
    letters = (c for c in unicodedata.normalize("NFKD", name[:200]) if not unicodedata.combining(c))
    plain = "".join(c if c.isascii() or not c.isalnum() else f"_u{ord(c):x}_" for c in letters)
    return re.sub(r"[^a-zA-Z0-9-]+", "_", plain).strip("_")[:64] or "unknown"
