"""The one reader and writer of tool calls: native ones, those written as text, and those of a conversation so far.

Every reply to a request with tools passes through `read_reply`, so that no workflow can tell native calls from calls
in the text, and both spell names alike. Every request passes through `repair_history` before it is sent, so that
nothing odd that a model did makes a server refuse the rest of the conversation. Nothing here raises for a text.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from string import Template
from typing import Any, NoReturn, TypeVar

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.calls import HOW, from_text
from r_eval.llms.lenient import DEEPEST, START, Unreadable, value_at
from r_eval.llms.lenient import values as json_values
from r_eval.llms.notations import FINDERS, MARK, Found

__all__ = [
    "HOW",
    "LONGEST",
    "UNREADABLE",
    "canonical_name",
    "format_tool_call",
    "json_values",
    "parse_arguments",
    "parse_tool_calls",
    "read_reply",
    "render_tools",
    "repair_history",
]

LONGEST = 20_000
"""Characters of a reply in which calls are looked for, and of arguments that are repaired."""
LONGEST_ARGUMENTS = 200_000
LONGEST_GUESS, MOST_BRACKETS = 400, 40
"""What json-repair is given: its time grows with the third power of the length of some texts."""
MOST_VALUES = 4
"""Values that are looked for in native arguments, of which the first that says something counts."""

Changed = TypeVar("Changed", Message, ToolCall)

UNREADABLE = f"The call could not be read. {HOW}"
RESPONSE = "<tool_response>"
NO_ANSWER, EMPTY, NOT_CARRIED_OUT = "(no answer)", "(empty)", "Not carried out."

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
BEFORE_NAME = re.compile(r"\A(?:(?:functions?|default_api|tools?|api|multi_tool_use)(?:\.|::?|/))+", re.IGNORECASE)
AFTER_NAME = re.compile(r"(?:\s{0,9}<\|.*|:\d{1,9}|\(\)|\.call)\Z", re.DOTALL)
FENCE = re.compile(r"\A```\w{0,20}\s*|\s*```\Z")
EMPTY_FENCE = re.compile(r"```\w*\s*```")
SPACE = re.compile(r"\s*+")
NO_VALUE = re.compile(r"[:=,\[]\s*+(?:[,}\])]|[-+]?(?:nan|inf(?:inity)?)\b)", re.IGNORECASE)
HARMONY = re.compile(
    r"(?:<\|start\|>\w{0,20})?(?:<\|channel\|>\s?)?(?:assistant)?(?:commentary|analysis)?\s{0,3}\bto=(?P<name>[\w.-]{1,100})"
    r"(?:\s?(?:<\|(?:channel|constrain)\|>)?\s?(?:commentary|analysis|json|code)){0,3}\s?(?:<\|message\|>|(?=\{))"
)
HARMONY_END = re.compile(r"<\|(?:call|end|return|start|channel)\|>")


# Native calls


def parse_arguments(raw: object, name: str, *, cut: bool = False) -> tuple[dict[str, Any], str | None]:
    """The arguments of a native call as an object, and what is wrong with them, in words for the model.

    Args:
        raw: As the server gave them: a text, an object, a text within a text, or nothing.
        name: Of the tool, for the words.
        cut: Whether the reply reached its limit of tokens, so that an end that is missing is no slip.

    >>> parse_arguments('"{\\\\"entity\\\\": \\\\"Kenya\\\\"}"', "Search")
    ({'entity': 'Kenya'}, None)
    """
    sound, is_read = True, isinstance(raw, str)
    for _ in range(3):
        if not isinstance(raw, str):
            break
        if len(raw) > LONGEST_ARGUMENTS:
            return {}, f"The arguments of {name} are too long. {HOW}"
        text = FENCE.sub("", raw.strip())
        if text in ("", "null", "None"):
            return {}, None
        raw, sound = _data(text)
    if raw is None and sound:
        return {}, None
    if not isinstance(raw, dict):
        return {}, f"The arguments of {name} are not a JSON object. {HOW}"
    if cut and not sound:
        return {}, f"The arguments of {name} were cut off at the limit of tokens. Send the call again, shorter."
    try:
        return _plain(raw, is_read), None
    except ValueError as error:
        return {}, f"The arguments of {name} {error}. {HOW}"


def _data(text: str) -> tuple[Any, bool]:
    """What a text of arguments holds, and whether it is JSON without any repair; (None, False) for nothing."""
    objects: list[dict[str, Any]] = []
    at = 0
    for _ in range(MOST_VALUES):
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        if at == 0 and end == len(text):
            return value, True
        if isinstance(value, dict):
            objects.append(value)
        elif value != "":  # an empty text beside an object is a server's slip
            break
        at = SPACE.match(text, end).end()  # type: ignore[union-attr]  # it matches everywhere
    best = next((value for value in objects if value), objects[0] if objects else None)
    if best is not None and (best or at >= len(text)):
        return best, True
    repaired = _repaired(text) if len(text) <= LONGEST else None
    return (best, best is not None) if repaired is None else (repaired, False)


def _repaired(text: str) -> dict[str, Any] | None:
    """The first object with something in it that damaged JSON was meant to be; None for none."""
    first: dict[str, Any] | None = None
    start = START.search(text)
    for _ in range(MOST_VALUES):
        if not start:
            return first
        try:
            value, end = value_at(text, start.start())
        except Unreadable:
            break
        if isinstance(value, dict):
            first = first or value
            if value:
                return value
        start = START.search(text, end)
    if first is not None or not start or text[start.start()] != "{":
        return first
    return _guessed(text[start.start() :])


def _guessed(text: str) -> dict[str, Any] | None:
    """What json-repair takes a short text for; None for no object, or where a value would be made up."""
    if len(text) > LONGEST_GUESS or len(START.findall(text)) > MOST_BRACKETS or NO_VALUE.search(text):
        return None
    import json_repair  # takes 40 ms

    try:
        value: Any = json_repair.repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value else None


def _plain(value: dict[str, Any], is_read: bool) -> Any:
    """Arguments as plain data with clean texts, within bounds on their size and nesting.

    Args:
        is_read: Whether they were read from JSON, so that they are plain data already.

    Raises:
        ValueError: It is too long or too deep, or JSON cannot hold it; the words go on from "The arguments".
    """
    if _is_deeper(value, DEEPEST):
        raise ValueError(f"are nested deeper than {DEEPEST} levels")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("hold something that JSON has not") from None
    if len(text) > LONGEST_ARGUMENTS:
        raise ValueError("are too long")
    clean_text = clean(text)
    return value if is_read and clean_text is text else json.loads(clean_text)


def _is_deeper(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inside if isinstance(item, dict | list))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def clean(text: str) -> str:
    """A text that UTF-8 can hold: a pair of half characters is joined, a lone half becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def canonical_name(name: str, tools: Mapping[str, ToolSpec] | Iterable[ToolSpec]) -> str:
    """The offered tool that a name means, however it is spelt; the bare name where it is none, or may be several.

    >>> canonical_name("functions.search-person:0", [ToolSpec("searchPerson", "", {})])
    'searchPerson'
    """
    known = [*tools] if isinstance(tools, Mapping) else [tool.name for tool in tools]
    if name in known:
        return name
    bare = _bare(name)
    for meant in (bare, re.split(r"[.:/]", bare[-200:])[-1]):
        for fold in (str, str.casefold, _folded):
            same = {other for other in known if fold(other) == fold(meant)} if meant else set()
            if len(same) == 1:
                return same.pop()
            if same:
                break
    return bare


def _bare(name: str) -> str:
    """A name without what chat formats put around it."""
    name = name.strip("`*\"' \t\r\n")
    return AFTER_NAME.sub("", BEFORE_NAME.sub("", name)).strip()


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


# Calls in a text


def read_reply(reply: Reply, tools: Iterable[ToolSpec]) -> Reply:
    """A reply to a request with tools, with the calls that its text holds as tool calls, and the tools' own names.

    The text is only read where there are no native calls.
    """
    offered = {tool.name: tool for tool in tools}
    if reply.tool_calls:
        if all(call.name in offered for call in reply.tool_calls):
            return reply
        named = (dataclasses.replace(call, name=canonical_name(call.name, offered)) for call in reply.tool_calls)
        return dataclasses.replace(reply, tool_calls=tuple(named))
    calls, text = parse_tool_calls(reply.text, offered.values(), cut=reply.finish == "length")
    if not calls:
        return reply
    return dataclasses.replace(reply, text=text, tool_calls=tuple(calls), finish="tool_calls")


def parse_tool_calls(text: str, tools: Iterable[ToolSpec], *, cut: bool = False) -> tuple[list[ToolCall], str]:
    """The calls in a text, and the text without them.

    Of the notations, the first that gives a call is the one that counts: the marks of a chat format, then `Action:`
    lines, fenced blocks, bare JSON, and `Search("...")` or `Search[...]` with the name of an offered tool.

    Args:
        cut: Whether the text ended at the limit of tokens: a call that its end cuts through is one with an error.
    """
    offered = {tool.name: tool for tool in tools}
    looked_at = text[:LONGEST]
    found = _find(looked_at, offered) if looked_at.strip() else []
    if not found:
        return [], text
    if cut or len(text) > LONGEST:
        # A call that reads otherwise when the text goes on was not whole.
        longer = _find(f'{looked_at}\n"', offered)
        if len(longer) != len(found) or longer[-1][2] != found[-1][2]:
            start, end, call = found[-1]
            error = f"The call of {call.name or 'a tool'} was cut off at the limit of tokens. Send it again, shorter."
            found[-1] = (start, end, dataclasses.replace(call, arguments={}, error=error))
    calls = [
        dataclasses.replace(call, id=f"call{i:05d}", name=canonical_name(call.name, offered))
        for i, (_, _, call) in enumerate(found)
    ]
    return calls, _without(text, found)


def _find(text: str, offered: Mapping[str, ToolSpec]) -> Found:
    return next(filter(None, (find(text, offered) for find in (harmony_calls, *FINDERS))), [])


def harmony_calls(text: str, offered: Mapping[str, ToolSpec]) -> Found:
    """Calls of the Harmony format: `<|channel|>commentary to=functions.Search <|constrain|>json<|message|>{...}`.

    Servers often pass them on without the special tokens: `commentary to=functions.Search json{...}`.
    """
    found: Found = []
    position = 0
    for match in HARMONY.finditer(text):
        name = canonical_name(match["name"], offered)
        if match.start() < position or not ("<|" in match[0] or name != match["name"]):
            continue
        start = match.end()
        try:
            body_end = DECODER.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            mark = HARMONY_END.search(text, start)
            body_end = mark.start() if mark else len(text)
        mark = HARMONY_END.match(text, body_end)
        position = mark.end() if mark and mark[0] in ("<|call|>", "<|end|>", "<|return|>") else body_end
        found.append((match.start(), position, from_text(name, text[start:body_end], offered)))
    return found


def _without(text: str, found: Found) -> str:
    """A text without its calls, their marks, and brackets and fences that held nothing else."""
    pieces: list[str] = []
    position = 0
    for start, end, _ in found:
        pieces.append(text[position:start])
        position = max(position, end)
    pieces.append(text[position:])
    bare = (MARK.sub("", piece[:LONGEST]) + piece[LONGEST:] for piece in pieces)
    return EMPTY_FENCE.sub("", "".join(piece for piece in bare if re.search(r"\w|```", piece))).strip()


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
        if message.role == "tool":
            _add(messages, Message("user", f"{RESPONSE}\n{message.content}\n</tool_response>"))
        elif message.tool_calls:
            content = "\n".join([message.content, *map(format_tool_call, message.tool_calls)]).strip()
            messages.append(dataclasses.replace(message, content=content, tool_calls=()))
        else:
            _add(messages, message)
    if messages and messages[0].role == "system":
        messages[0] = Message("system", f"{messages[0].content}\n\n{text}")
    else:
        messages.insert(0, Message("system", text))
    return dataclasses.replace(request, messages=tuple(messages), tools=(), stop=(*request.stop, RESPONSE))


def _add(messages: list[Message], message: Message) -> None:
    """Append a message; two of the user in a row become one, since many chat templates want turns to alternate."""
    if messages and messages[-1].role == message.role == "user":
        messages[-1] = Message("user", f"{messages[-1].content}\n{message.content}")
    else:
        messages.append(message)


# A conversation that goes back to a server


def repair_history(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation that no server refuses for what a model did in it; the same tuple where nothing is wrong.

    Names that APIs forbid become valid ones, ids are unique and every call has one result; no turn is empty, and every
    text is one that UTF-8 can hold. What was repaired stays the same as the conversation grows.
    """
    repaired: list[Message] = []
    taken: set[str] = set()
    count = at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if message.role == "tool":  # without a call, since those of a call are taken with it below
            repaired.append(Message("user", _content(message)))
            continue
        calls = []
        for call in message.tool_calls:
            calls.append(_repaired_call(call, taken, count))
            taken.add(calls[-1].id)
            count += 1
        repaired.append(_changed(message, content=_content(message), tool_calls=_same(message.tool_calls, calls)))
        if calls:
            end = next((i for i in range(at, len(messages)) if messages[i].role != "tool"), len(messages))
            repaired += _results(message.tool_calls, calls, messages[at:end])
            at = end
    if len(repaired) == len(messages) and all(a is b for a, b in zip(repaired, messages, strict=True)):
        return messages
    return tuple(repaired)


def _content(message: Message) -> str:
    """A message's text; words for nothing where a server wants some."""
    if not message.content.strip() and not message.tool_calls and message.role != "system":
        return NO_ANSWER if message.role == "assistant" else EMPTY
    return clean(message.content)


def _repaired_call(call: ToolCall, taken: set[str], position: int) -> ToolCall:
    """A call with a valid name, and an id that none before it has."""
    call_id = call.id
    while not ID.fullmatch(call_id) or call_id in taken:
        call_id = f"call{position:05d}"
        position += 1
    return _changed(call, id=call_id, name=_valid_name(call.name), arguments=_clean_data(call.arguments))


def _valid_name(name: str) -> str:
    """A name that every API takes and in which a model knows its own again."""
    if NAME.fullmatch(name):
        return name
    ascii_only = "".join(c if c.isascii() or not c.isalnum() else f"u{ord(c):x}_" for c in _bare(name)[:64])
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", ascii_only)[:64].strip("_") or "unknown"


def _results(before: tuple[ToolCall, ...], calls: list[ToolCall], messages: Iterable[Message]) -> Iterator[Message]:
    """The tool messages after a turn with calls: each with its call's id and name, one for each call."""
    ids = [call.id for call in before]
    open_calls = set(range(len(calls)))
    matched: dict[int, int] = {}
    results = [*messages]
    for i, message in enumerate(results):  # those that an id tells apart come first
        if ids.count(message.call_id) == 1 and ids.index(message.call_id) in open_calls:
            matched[i] = ids.index(message.call_id)
            open_calls.remove(matched[i])
    for i in range(len(results)):
        if i not in matched and open_calls:
            same = [n for n in open_calls if ids[n] == results[i].call_id]
            matched[i] = min(same or open_calls)
            open_calls.remove(matched[i])
    for i, message in enumerate(results):
        if i in matched:
            call = calls[matched[i]]
            yield _changed(message, content=_content(message), call_id=call.id, name=call.name)
    for n in sorted(open_calls):
        yield Message("tool", NOT_CARRIED_OUT, call_id=calls[n].id, name=calls[n].name)
    for i, message in enumerate(results):
        if i not in matched:
            yield Message("user", _content(message))


def _changed(value: Changed, **fields: Any) -> Changed:
    """A message or call with some fields replaced; the same object where they are the same."""
    if all(getattr(value, key) is new or getattr(value, key) == new for key, new in fields.items()):
        return value
    return dataclasses.replace(value, **fields)


def _same(before: tuple[ToolCall, ...], calls: list[ToolCall]) -> tuple[ToolCall, ...]:
    return before if all(a is b for a, b in zip(before, calls, strict=True)) else tuple(calls)


def _clean_data(value: Any) -> Any:
    """Plain data with clean texts."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _clean_data(item) for key, item in value.items()}
    return [_clean_data(item) for item in value] if isinstance(value, list) else value
