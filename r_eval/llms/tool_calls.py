"""Tool calls as text and as data: read from replies, written into prompts, repaired in a conversation.

Prompted function calling, ReAct and agents all read through here, and native calls resolve names the same way.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from string import Template
from typing import Any

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.call_arguments import MAX_TEXT
from r_eval.llms.call_reader import LINE, CallReader, Found, canonical_name
from r_eval.llms.json_text import FENCE, MAX_LENGTH, Budget, JSONTextError, first_object, plain_data
from r_eval.text import clean, clean_data

RESPONSE = "<tool_response>"
OBSERVATIONS = ("observation", RESPONSE)
"""Stop texts behind which a model would invent what a call finds."""
INVENTED = re.compile(rf"{LINE}Observation\b|^[ \t]*+{RESPONSE}", re.IGNORECASE | re.MULTILINE)
OPENING = re.compile(r"(?:```\w*+\s*+)?+(?:\[\s*+)?+\Z")
"""What opens a fence, or a list of calls in Python's notation."""
FINAL = re.compile(
    rf"(?:{LINE}|(?<=[.!?。！？]) ?)(?:(?:final )?answer|finish|最终答案|答案)\s?\d*[ *_]*[:：][\s*_]*"
    r"(?P<answer>[^\s*_].*)",
    re.IGNORECASE | re.MULTILINE,
)


def before_invented(text: str) -> str:
    """A text up to the first observation or tool result that the model makes up."""
    invented = INVENTED.search(text, 0, MAX_LENGTH)
    return text[: invented.start()] if invented else text


def interpret(reply: Reply, request: Request) -> tuple[Reply, bool]:
    """A reply as the answer to its request, and whether the model invented what a call finds.

    It ends before the first stop text, and before an invention where the request stops at one or there are calls.
    """
    text, known = reply.text, before_invented(reply.text)
    ends = [(text.find(stop), stop.strip().lower() in OBSERVATIONS) for stop in request.stop if stop]
    ends += [(len(known), True)] if any(is_observation for _, is_observation in ends) else []
    at, invented = min((end for end in ends if 0 <= end[0] < len(text)), default=(len(text), False))
    if at < len(text):
        reply = dataclasses.replace(reply, text=text[:at], finish="stop")
    if request.tools:
        reply = read_reply(reply, request.tools)
        invented = invented or (bool(reply.tool_calls) and known != text)
    return reply, invented


def read_reply(reply: Reply, tools: Iterable[ToolSpec]) -> Reply:
    """A reply to a request with tools: the calls of its text as tool calls, names as the tools are offered.

    What cannot be read whole is a call with an error. Beside native calls the text ends before a result that the model
    invents; for calls in the text it is the part before the first.
    """
    offered, text = {tool.name: tool for tool in tools}, reply.text
    if reply.tool_calls:
        known = before_invented(text)
        native = (dataclasses.replace(call, name=canonical_name(call.name, offered)) for call in reply.tool_calls)
        return dataclasses.replace(reply, text=text if known == text else known.rstrip(), tool_calls=tuple(native))
    head, found = _find(text, CallReader(offered, cut=reply.finish == "length"))
    if not found:
        return reply
    calls = tuple(dataclasses.replace(f.call, id=f"call{i:05d}") for i, f in enumerate(found))
    before = OPENING.sub("", head[: found[0].start])
    return dataclasses.replace(reply, text=before.strip(), tool_calls=calls, finish="tool_calls")


def _find(text: str, reader: CallReader) -> tuple[str, list[Found]]:
    """The text in which calls were found, and the calls: before an invention, else, but for ReAct, after it."""
    head = text[:MAX_TEXT]
    known = before_invented(head)
    found = reader.find(known)
    if found or reader.loose or known == head:
        return known, found
    return head, reader.find(head)


def parse_action(text: str, specs: Mapping[str, Any], cut: bool = False) -> ToolCall | None:
    """The first action in a reply of ReAct's, or its final answer as a call of Finish; None if there is neither.

    Text after `Action:` that has the form of a call but an unknown name is returned under that name, so that the model
    can be told.

    Args:
        specs: The query APIs by name, as `ApiSpec`s.
        cut: The reply ended at its limit on tokens, so that arguments without their end are not to be trusted.
    """
    tools = {"Finish": ToolSpec("Finish", "", {"properties": {"answer": {}}})}
    for name, spec in specs.items():
        properties = {p.name: p.schema for p in spec.parameters}
        required = [p.name for p in spec.parameters if p.required]
        tools[name] = ToolSpec(name, "", {"properties": properties, "required": required})
    known, found = _find(text, CallReader(tools, loose=True, cut=cut))
    if found:
        return found[0].call if found[0].call.error is None else None
    final = FINAL.search(known)
    return ToolCall("", "Finish", {"answer": final["answer"].strip(" *_`")}) if final else None


def parse_arguments(
    raw: object, name: str, cut: bool = False, budget: Budget | None = None
) -> tuple[dict[str, Any], str | None]:
    """The arguments of a native call as an object, and what is wrong with them, in words for the model.

    Args:
        raw: As the server gave them: an object, a text, a text within a text, or nothing.
        cut: As for `parse_action`.
        budget: The work that the calls of one reply may cause together.

    >>> parse_arguments('"{\\\\"entity\\\\": \\\\"Kenya\\\\"}"', "Search")
    ({'entity': 'Kenya'}, None)
    """
    of = f"of {name[:100]}" if name else "of the call"
    try:
        data: Any = raw
        if len(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)) > MAX_LENGTH:
            return {}, f"The arguments {of} are too long: more than {MAX_LENGTH:,} characters."
        for _ in range(3):
            data = _value(FENCE.sub("", data.strip()), cut, budget) if isinstance(data, str) else data
        data = plain_data({} if data is None else data)
    except (JSONTextError, RecursionError) as error:
        return {}, f"The arguments {of} cannot be used: {error}. Send one JSON object."
    if not isinstance(data, dict):
        return {}, f"The arguments {of} are not a JSON object. Send one, with the parameters as its keys."
    return data, None


def _value(text: str, cut: bool, budget: Budget | None) -> Any:
    """The value of a text of arguments; a `JSONTextError` if there is none, or its end was cut off."""
    if text in ("", "None"):
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        found = first_object(text, budget)
    if cut and not found.is_closed:
        raise JSONTextError("the call was cut off before its end; make it shorter")
    return found.value


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


def repair_history(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation that any server accepts, whatever oddities a model left in it.

    Calls get names that APIs allow and unique ids, results the id and name of their call; no turn is empty, no call
    without a result, no text with half a surrogate. The same tuple where nothing is wrong.
    """
    seen: set[str] = set()
    fresh = (call_id for number in itertools.count() if (call_id := f"call{number:05d}") not in seen)
    due: dict[str, ToolCall] = {}  # calls without a result yet, by the ids that they came with
    repaired: list[Message] = []
    for message in messages:
        content, reasoning = _clean(message.content), message.reasoning and _clean(message.reasoning)
        calls = message.tool_calls
        if not calls and (not content or content.isspace()):
            content = EMPTY.get(message.role, content)
        if message.role == "tool":
            answered = due.pop(message.call_id, None) or (due.pop(next(iter(due))) if due else None)
            if answered is None:
                message = Message("user", content)
            elif (content, answered.id, answered.name) != (message.content, message.call_id, message.name):
                message = dataclasses.replace(message, content=content, call_id=answered.id, name=answered.name)
        else:
            if due:
                repaired += _not_done(due)
                due = {}
            if calls:
                for call in calls:
                    sound = _sound(call, call.id if call.id not in seen else "", fresh)
                    seen.add(sound.id)
                    due[call.id if call.id not in due else sound.id] = sound
                calls = tuple(due.values())
            if (content, calls, reasoning) != (message.content, message.tool_calls, message.reasoning):
                message = dataclasses.replace(message, content=content, tool_calls=calls, reasoning=reasoning)
        repaired.append(message)
    repaired += _not_done(due)
    is_same = len(repaired) == len(messages) and all(map(operator.is_, repaired, messages))
    return messages if is_same else tuple(repaired)


def _sound(call: ToolCall, call_id: str, fresh: Iterator[str]) -> ToolCall:
    name, call_id = call.name, call_id if SOUND_ID.fullmatch(call_id) else next(fresh)
    if not SOUND_NAME.fullmatch(name):
        name = re.sub(r"[^a-zA-Z0-9-]+", "_", canonical_name(name, ())[:200]).strip("_")[:64] or "unknown"
    if call_id == call.id and name == call.name and "\\ud" not in repr(call.arguments):
        return call
    return dataclasses.replace(call, id=call_id, name=name, arguments=clean_data(call.arguments))


def _not_done(due: Mapping[str, ToolCall]) -> list[Message]:
    return [Message("tool", "Not carried out.", call_id=call.id, name=call.name) for call in due.values()]


_known_clean = functools.lru_cache(2048)(clean)  # the same messages are sent again and again


def _clean(text: str) -> str:
    return text if text.isascii() else _known_clean(text)
