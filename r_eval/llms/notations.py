"""The notations in which models write tool calls, each as one function that finds its calls in a reply.

Every finder takes the text and the offered tools and gives the calls in their order, each with the piece of text that
it stands in. Nothing here raises, and all of it takes time that grows with the text's length alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from r_eval.llms.base import ToolCall, ToolSpec
from r_eval.llms.calls import PARAMETER, from_data, from_python, from_text, from_value, spelt, unreadable
from r_eval.llms.lenient import EFFORT, FAILURE, Unreadable, arguments, value_at, values

Found = list[tuple[int, int, ToolCall]]
Offered = Mapping[str, ToolSpec]

_PREFIX = r"(?:\w{1,20}:|｜\w{1,20}｜)?"
_TAGS = r"(?:tool_?calls?|function_?calls?)"
MARK = re.compile(
    # Hermes, Qwen, Granite, Phi; Mistral; Llama; DeepSeek, Kimi
    rf"(?P<open><{_PREFIX}{_TAGS}\b[^<>\n]{{0,200}}>|<\|{_TAGS}\|>|\[TOOL_CALLS\]|<\|python_tag\|>"
    r"|<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_]begin[|｜]>)"
    # <function=Search>, <invoke name="Search">
    rf"|<{_PREFIX}(?:function|invoke)(?:=|\s{{1,9}}name\s{{0,9}}=\s{{0,9}})[\"']?(?P<name>[^\"'<>\s]{{1,100}})[\"']?"
    r"[^<>\n]{0,200}>"
    rf"|(?P<close></{_PREFIX}(?:{_TAGS}|function|invoke)>|<\|/{_TAGS}\|>|<\|eo[mt]_id\|>"
    r"|<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_]end[|｜]>)",
    re.IGNORECASE,
)
NAME_ATTRIBUTE = re.compile(r"\bname\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,100})", re.IGNORECASE)
_SEPARATOR = r"<[|｜]tool[▁_](?:sep|call[▁_]argument[▁_]begin)[|｜]>|\[ARGS\]"
HEADED = re.compile(
    rf"\s*+(?:function\s*+<[|｜]tool[▁_]sep[|｜]>\s*+)?(?!function\s*+<)(?P<name>[\w.:-]{{1,100}}+)\s*+(?:\[CALL_ID\]\s*+\w*+\s*+)?"
    rf"(?P<separator>{_SEPARATOR})?\s*+(?:```\w*+\s*+)?",
    re.IGNORECASE,
)
BETWEEN = re.compile(r"[\s,;`]*+")
ACTION = re.compile(
    r"^[ \t>*_#-]*+Action(?:[ \t]*+\d+)?[ \t*_]*+:[ \t*_`\"]*+(?P<name>[\w.-]{1,100}+)"
    r"(?:[ \t]*+\[(?P<inside>[^\n]*)\])?[ \t*_`\".]*+$",
    re.IGNORECASE | re.MULTILINE,
)
INPUT = re.compile(r"\s*+[>*_ \t]*+(?:Action[ _]?)?Input(?:[ \t]*+\d+)?[ \t*_]*+:[ \t*_]*+", re.IGNORECASE)
NEXT_LINE = re.compile(r"^[ \t>*_#-]*+(?:Thought|Observation|Final Answer)\b", re.IGNORECASE | re.MULTILINE)
OBSERVATION = re.compile(r"^[ \t>*_#-]*+Observation\b", re.IGNORECASE | re.MULTILINE)
FENCED = re.compile(r"```[\w+-]{0,20}[ \t]*+\n(.*?)(?:```|\Z)", re.DOTALL)
PYTHON = re.compile(r"(?<![\w.])(?:(?:functions|default_api|tools|api)\.)?([A-Za-z_]\w*+)(?:\.call)?\(")
BRACKETS = re.compile(r"^[ \t*`]*+([A-Za-z_]\w*+)\[([^\n]*)\][ \t*`.]*+$", re.MULTILINE)
DEFINITION = re.compile(r"\b(?:def|class|function|func|fn)\s{1,9}\Z")


def marked_calls(text: str, offered: Offered) -> Found:
    """Calls between the marks of a chat format. What is marked but cannot be read is a call with an error."""
    marks = list(MARK.finditer(text))
    found: Found = []
    position = 0
    following = 0
    for i, mark in enumerate(marks):
        if mark["close"] or mark.start() < position:
            continue
        start = mark.end()
        position = _json_end(text, start)
        following = max(following, i + 1)
        while following < len(marks) and marks[following].start() < position:
            following += 1
        after = marks[following] if following < len(marks) else None
        end = after.start() if after else len(text)
        body = text[start:end]
        nested = after is not None and not after["close"]
        if mark["name"]:
            name = spelt(mark["name"], offered)
            found.append((mark.start(), end, from_text(name, body, offered)))
        elif body.strip() or not nested:  # else only a wrapper around further marks
            calls = _body(body, offered) or _attribute(mark.group(), body, offered)
            stop = end if after else start + max((e for _, e, _ in calls), default=len(body))
            found += [(mark.start(), stop, call) for _, _, call in calls]
            if not calls and not (after and after["name"]) and not _mentioned(text, mark, body, after):
                found.append((mark.start(), end, unreadable()))
    return found


def _mentioned(text: str, mark: re.Match[str], body: str, after: re.Match[str] | None) -> bool:
    """Whether a mark is only spoken of: in the middle of a line, in backticks or never closed, no bracket after it."""
    before = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()].strip()
    return bool(before) and (after is None or before[-1] == "`") and not re.search(r"[{\[(]", body)


def _json_end(text: str, start: int) -> int:
    """Where right JSON ends that begins here, so that marks inside its texts are not taken for marks; else `start`."""
    start = BETWEEN.match(text, start).end()  # type: ignore[union-attr]  # it matches everywhere
    if text[start : start + 1] not in ("{", "["):
        return start
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start


def _attribute(tag: str, body: str, offered: Offered) -> Found:
    """The call whose name is an attribute of its tag."""
    name = NAME_ATTRIBUTE.search(tag)
    return [(0, len(body), from_text(spelt(name[1], offered), body, offered))] if name else []


def _body(text: str, offered: Offered) -> Found:
    """The calls in a piece of text that is marked as one."""
    return _headed(text, offered) or json_calls(text, offered, True) or python_calls(text, offered, True)


def _headed(text: str, offered: Offered) -> Found:
    """Calls written as the name and then the arguments, one after another: `Search[ARGS]{...}`, `Search {...}`."""
    found: Found = []
    position = 0
    while head := HEADED.match(text, position):
        name = spelt(head["name"], offered)
        start = head.end()
        if text[start : start + 1] == "{":
            try:
                data, end = value_at(text, start)
            except Unreadable:
                found.append((position, len(text), unreadable(name)))
                break
            calls = from_data(data, offered) if name not in offered else []
            found += [(position, end, call) for call in calls or [from_value(name, data, offered)]]
            position = BETWEEN.match(text, end).end()  # type: ignore[union-attr]  # it matches everywhere
        elif head["separator"] or PARAMETER.match(text, start):
            found.append((position, len(text), from_text(name, text[start:], offered)))
            break
        else:
            break
    return found


def action_calls(text: str, offered: Offered) -> Found:
    """`Action: Search` and `Action Input: ...` below it, or `Action: Search[...]`.

    Nothing counts that comes after an observation: the model made it up.
    """
    invented = OBSERVATION.search(text)
    actions = list(ACTION.finditer(text, 0, invented.start() if invented else len(text)))
    ends = [*(match.start() for match in actions[1:]), len(text)]
    found: Found = []
    for match, end in zip(actions, ends, strict=False):
        name = spelt(match["name"].rstrip("."), offered)
        given = INPUT.match(text, match.end(), end)
        start = given.end() if given else match.end()
        stop = NEXT_LINE.search(text, start, end)
        end = stop.start() if stop else end
        written = match["inside"] if match["inside"] is not None else text[start:end] if given else None
        if written is None:
            if name in offered:
                found.append((match.start(), match.end(), unreadable(name)))
            continue
        call = from_text(name, written, offered)
        if name in offered or call.arguments:
            found.append((match.start(), end if given else match.end(), call))
    if found and invented:
        found[-1] = (found[-1][0], len(text), found[-1][2])
    return found


def fenced_calls(text: str, offered: Offered) -> Found:
    """Calls in fenced blocks, as JSON or in Python's notation."""
    return [
        (block.start(), block.end(), call)
        for block in FENCED.finditer(text)
        for _, _, call in json_calls(block[1], offered) or python_calls(block[1], offered)
    ]


def json_calls(text: str, offered: Offered, marked: bool = False) -> Found:
    """Calls written as JSON."""
    return [(start, end, call) for start, end, data in values(text) for call in from_data(data, offered, marked)]


def python_calls(text: str, offered: Offered, marked: bool = False) -> Found:
    """Every `Search(...)` of an offered tool whose arguments are plain data; read, never run.

    A mere mention such as "use Search() for it" is no call: without arguments it must have a line of its own.
    """
    found: Found = []
    position = 0
    effort = EFFORT * len(text)
    for match in PYTHON.finditer(text):
        name = spelt(match[1], offered) if marked else match[1]
        known = name in offered or (marked and not found)
        if match.start() < position or effort < 0 or not known:
            continue
        try:
            given = arguments(text, match.end())
        except Unreadable as error:
            effort -= FAILURE + error.at - match.start()
            continue
        empty = not (given.positional or given.named)
        if not marked and (
            (given.cut and not given.named)
            or (empty and not _alone(text, match.start(), given.end))
            or DEFINITION.search(text[max(0, match.start() - 12) : match.start()])
        ):
            continue
        found.append((match.start(), given.end, from_python(name, given, offered)))
        position = given.end
    return found


def bracket_calls(text: str, offered: Offered) -> Found:
    """`Search[Kenya]` of an offered tool, where it has a line of its own."""
    return [
        (match.start(), match.end(), from_text(match[1], match[2], offered))
        for match in BRACKETS.finditer(text)
        if match[1] in offered
    ]


def _alone(text: str, start: int, end: int) -> bool:
    """Whether nothing else stands on the line or lines of a piece of text."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[end : next((i for i in [text.find("\n", end)] if i >= 0), len(text))]
    return not (before + after).strip("` \t\r;")


FINDERS = (marked_calls, action_calls, fenced_calls, json_calls, python_calls, bracket_calls)
