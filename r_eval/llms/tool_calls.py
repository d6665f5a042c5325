"""Tool calls as text: the one reader of what models write, the one writer, and the repair of a conversation's calls.

Prompted function calling, ReAct and agents all read through here, and native calls resolve names the same way. Of the
notations, the first that gives a call counts: marks of a chat format, `Action:` lines, JSON, `Search("...")` and
`Search[...]`. Nothing raises, and no text takes longer than 50 ms.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
import json
import re
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple, Protocol

from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.json_text import DECODER, MAX_LENGTH, Budget, JSONTextError, json_values, plain_data, read_value
from r_eval.text import clean

MAX_TEXT = 20_000
"""Characters of a reply in which calls are looked for."""
MAX_CALLS = 64
RESPONSE = "<tool_response>"
HOW = 'Write a call as <tool_call>{"name": "<tool>", "arguments": {...}}</tool_call>.'
UNREADABLE = f"The call could not be read. {HOW}"

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action", "api")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs")
OTHER_KEYS = ("id", "type", "tool_call_id", "call_id")
AROUND_NAME = re.compile(r"\A(?:(?:functions?|default_api|tools?|api)(?:\.|::?|/))+|(?:<\|.*|:\d+|\(\)|\.call)\Z", re.DOTALL)
FINAL_NAME = re.compile(r"final[ _-]?answer", re.IGNORECASE)
NONE_NAME = re.compile(r"none|n/?a|nothing|null", re.IGNORECASE)

_P = r"(?:\w{1,20}:|｜\w{1,20}｜)?"
_TAGS = r"(?:tool_?calls?|function_?calls?)"
_IS = r"(?:=|\s{1,9}name\s{0,9}=\s{0,9})[\"']?"
MARK = re.compile(
    "(?P<open>"
    + "|".join(
        (
            rf"<{_P}{_TAGS}\b[^<>\n]{{0,200}}>|<\|{_TAGS}\|>",  # Hermes, Qwen, Granite, Phi
            r"\[TOOL_CALLS\]",  # Mistral
            r"<\|python_tag\|>",  # Llama
            r"<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_]begin[|｜]>",  # DeepSeek, Kimi
        )
    )
    + rf")|<{_P}(?:function|invoke){_IS}(?P<tag>[^\"'<>\s]{{1,100}})[\"']?[^<>\n]{{0,200}}>"
    # Harmony, with and without its special tokens; Gemma
    r"|(?:<\|start\|>\w{0,20}|<\|channel\|>\w{0,20}|\w{0,9}commentary)?\s?to=(?P<to>functions\.[\w.-]{1,100}|[\w.-]{1,100}(?=[^<\n]{0,9}<\|))"
    r"(?:\s?<\|(?:channel|constrain)\|>\s?\w{0,20}|\s(?:json|code|commentary)){0,3}\s?(?:<\|message\|>|(?=\{))"
    r"|<\|tool_call>\s?call:(?P<call>[\w.-]{1,100})"
    rf"|(?P<close></{_P}(?:{_TAGS}|function|invoke)>|<\|/{_TAGS}\|>|<\|(?:eo[mt]_id|call)\|>|<tool_call\|>"
    r"|<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_]end[|｜]>)",
    re.IGNORECASE,
)
NAME_ATTRIBUTE = re.compile(r"\bname\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,100})", re.IGNORECASE)
GEMMA_TEXT = re.compile(r"<\|\"\|>(.*?)(?:<\|\"\|>|\Z)", re.DOTALL)
HEADED = re.compile(
    r"\s*+(?:function\s*+<[|｜]tool[▁_]sep[|｜]>\s*+)?(?!function\s*+<)(?P<name>[\w.:-]{1,100}+)\s*+"
    r"(?:\[CALL_ID\]\s*+\w*+\s*+)?(?P<separator><[|｜]tool[▁_](?:sep|call[▁_]argument[▁_]begin)[|｜]>|\[ARGS\])?\s*+"
    r"(?:```\w*+\s*+)?",
    re.IGNORECASE,
)
BETWEEN = re.compile(r"[\s,;`]*+")
PARAMETER = re.compile(
    rf"<{_P}parameter{_IS}([^\"'<>\s]{{1,100}})[\"']?[^<>]{{0,200}}>|<arg_key>([^<>]*)</arg_key>\s*<arg_value>",
    re.IGNORECASE,
)
PARAMETER_END = re.compile(rf"</{_P}(?:parameter|arg_value)>", re.IGNORECASE)
FENCE = re.compile(r"^```\w*\s*|\s*```$")
EMPTY_FENCE = re.compile(r"```\w*\s*```")
_LINE = r"^[ \t>*_#-]*+"
ACTION = re.compile(
    r"(?:^|(?<=[^\w]))Action[ \t]*+\d*+[ \t*_]*+[:：][\s*_`\"]*+(?:```\w*\s*+)?"
    r"(?P<name>Final Answer|[^\W\d][\w.-]{0,99}+)(?:(?P<open>[\[(]| [\[(](?=[^\n]{0,200}[\])][*_`. \t]*$))|(?P<end>[*_`\". \t]*+$))?",
    re.IGNORECASE | re.MULTILINE,
)
INPUT = re.compile(r"\s*+[>*_ \t]*+(?:Action[ _]?)?Input(?:[ \t]*+\d+)?[ \t*_]*+[:：][ \t*_]*+", re.IGNORECASE)
NEXT_LINE = re.compile(rf"{_LINE}(?:Thought|Observation|Final Answer)\b", re.IGNORECASE | re.MULTILINE)
INVENTED = re.compile(rf"{_LINE}Observation\b|^[ \t]*+<tool_response>", re.IGNORECASE | re.MULTILINE)
FINAL = re.compile(
    rf"(?:{_LINE}|(?<=[.!?。！？]) ?)(?:(?:final )?answer|finish|最终答案|答案)\s?\d*[ *_]*[:：][\s*_]*(?P<answer>.+)",
    re.IGNORECASE | re.MULTILINE,
)
BRACKET = re.compile(
    r"(?<![\w.])(?:(?:functions|default_api|tools|api)\.)?([A-Za-z_][\w-]*+)(?:\.call)?([ \t]?)([\[(])"
)
DEFINITION = re.compile(r"\b(?:def|class|function|func|fn)\s{1,9}\Z")
SENTENCE_END = re.compile(r"(?:\A|[.!?:;>`。！？：；])[ \t*_`]*\Z")
PLACEHOLDER = re.compile(r"\.{3}|…|<.*>", re.DOTALL)
NESTING = {"[": re.compile(r"[\[\]\"']"), "(": re.compile(r"[()\"']")}
CLOSING = {"[": "]", "(": ")"}
WORDS = {"true": True, "false": False, "null": None, "undefined": None}


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """A call as a model wrote it: the tool's own name for it, and its arguments; `error` says what cannot be read."""

    name: str
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    error: str | None = None


class Found(NamedTuple):
    """A call and the piece of text that it stands in."""

    start: int
    end: int
    action: Action


class Parameters(Protocol):
    """What is asked of the description of a query API."""

    @property
    def parameters(self) -> Sequence[Any]: ...


def read_reply(reply: Reply, tools: Iterable[ToolSpec]) -> Reply:
    """A reply to a request with tools: the calls of its text as tool calls, and the offered tools' own names."""
    if reply.tool_calls:
        names = [tool.name for tool in tools]
        if all(call.name in names for call in reply.tool_calls):
            return reply
        calls = [dataclasses.replace(call, name=canonical_name(call.name, names)) for call in reply.tool_calls]
        return dataclasses.replace(reply, tool_calls=tuple(calls))
    calls, text = parse_tool_calls(reply.text, tools, cut=reply.finish == "length")
    return dataclasses.replace(reply, text=text, tool_calls=tuple(calls), finish="tool_calls") if calls else reply


def parse_tool_calls(text: str, tools: Iterable[ToolSpec], cut: bool = False) -> tuple[list[ToolCall], str]:
    """The calls in a reply, and its text without them.

    Args:
        cut: The reply reached its limit on tokens, so that arguments without their end are not to be trusted.
    """
    if not text.strip():
        return [], text
    reader = _Reader({tool.name: tool for tool in tools}, cut=cut)
    found, text = reader.find(text[:MAX_TEXT]), text
    if not found:
        return [], text
    if GEMMA_TEXT.search(text):
        text = _quoted(text)
    return [reader.bound(call.action, f"call{i:05d}") for i, call in enumerate(found)], _without(text, found)


def parse_action(text: str, specs: Mapping[str, Parameters], cut: bool = False) -> Action | None:
    """The first action in a reply of ReAct's, or its final answer as the action Finish; None where there is neither.

    Args:
        specs: The query APIs by name.
        cut: As for `parse_tool_calls`.
    """
    tools = {
        name: ToolSpec(
            name,
            "",
            {
                "properties": {p.name: {} for p in spec.parameters},
                "required": [p.name for p in spec.parameters if p.required],
            },
        )
        for name, spec in specs.items()
    }
    tools.setdefault("Finish", ToolSpec("Finish", "", {"properties": {"answer": {}}}))
    found = _Reader(tools, loose=True, cut=cut).find(text[:MAX_TEXT])
    if found:
        return found[0].action if found[0].action.error is None else None
    invented = INVENTED.search(text)
    final = FINAL.search(text[: invented.start() if invented else MAX_TEXT])
    return Action("Finish", (final["answer"].strip(" *_`"),)) if final else None


def parse_arguments(raw: object, name: str, cut: bool = False) -> tuple[dict[str, Any], str | None]:
    """The arguments of a native call as an object, and what is wrong with them, in words for the model.

    Args:
        raw: As the server gave them: a text, an object, a text within a text, or nothing.
        cut: As for `parse_tool_calls`.

    >>> parse_arguments('"{\\\\"entity\\\\": \\\\"Kenya\\\\"}"', "Search")
    ({'entity': 'Kenya'}, None)
    """
    error = f"The arguments of {name or 'the call'} are not a JSON object. Send them as one, with the names of the parameters."
    closed = True
    for _ in range(3):
        if isinstance(raw, str):
            text = FENCE.sub("", raw.strip())
            if len(text) > MAX_LENGTH:
                return {}, f"The arguments of {name} are too long: more than {MAX_LENGTH:,} characters."
            if not text or text in ("null", "None"):
                return {}, None
            try:
                raw = json.loads(text, strict=False)
            except (ValueError, RecursionError):
                found = list(itertools.islice(json_values(text), 3))
                objects = [value for value in found if isinstance(value.value, dict)]
                if not objects or found[0].start > 0:
                    return {}, error
                best = next((value for value in objects if value.value), objects[0])
                raw, closed = best.value, best.is_closed
        elif raw is None:
            return {}, None
    if not isinstance(raw, dict):
        return {}, error
    if cut and not closed:
        return {}, f"The call of {name} was cut off before its end. Send it again, shorter."
    try:
        data: dict[str, Any] = plain_data(raw)
    except JSONTextError as problem:
        return {}, f"The arguments of {name} cannot be used: {problem}."
    if _size(data) > MAX_LENGTH:
        return {}, f"The arguments of {name} are too long: more than {MAX_LENGTH:,} characters."
    return data, None


def _size(data: Any) -> int:
    """The characters of some plain data's texts, and one for anything else."""
    if isinstance(data, dict):
        return sum(len(key) + _size(value) for key, value in data.items())
    return sum(map(_size, data)) if isinstance(data, list) else len(data) if isinstance(data, str) else 1


def canonical_name(name: str, tools: Collection[str]) -> str:
    """The offered tool that a name means, however it is spelled; the name itself where there is none, or several.

    >>> canonical_name("functions.search-person:0", ["Search", "searchPerson"])
    'searchPerson'
    """
    if name in tools:
        return name
    bare = AROUND_NAME.sub("", name.strip(" \t\r\n`*\"'")).strip()
    for candidate in (bare, re.split(r"[.:/]", bare[:200])[-1]):
        for fold in (str.casefold, _fold):
            same = {known for known in tools if fold(known) == fold(candidate[:200])}
            if len(same) == 1:
                return same.pop()
    return bare


def _fold(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


class _Reader:
    """Reads calls of some tools in one text.

    Args:
        loose: For ReAct, where an action is expected: an unknown name counts after a mark, and text without quotes.
    """

    def __init__(self, tools: Mapping[str, ToolSpec], loose: bool = False, cut: bool = False) -> None:
        self.tools, self.loose, self.cut = tools, loose, cut
        self.budget = Budget()
        self.scan = MAX_TEXT
        self.names: dict[str, str] = {}

    def find(self, text: str) -> list[Found]:
        """The calls before an invented observation; in all of the text where there is none before it."""
        text = _quoted(text) if GEMMA_TEXT.search(text) else text
        invented = INVENTED.search(text)
        found = self._find(text[: invented.start()] if invented else text)
        if found and invented:
            found[-1] = found[-1]._replace(end=len(text))
        return found or (self._find(text) if invented and not self.loose else [])

    def _find(self, text: str) -> list[Found]:
        for finder in (self.marked, self.actions, self.json, self.brackets):
            found = list(itertools.islice(finder(text), 1 if self.loose else MAX_CALLS))
            if found:
                return found
        return []

    def bound(self, action: Action, call_id: str) -> ToolCall:
        """An action as a tool call, values without a name under those of the parameters in their order."""
        names = list(self.parameters(action.name))
        error = action.error
        if len(action.positional) > len(names) and error is None:
            takes = ", ".join(names) or "no arguments"
            error = f"{action.name} was given {len(action.positional)} arguments and takes: {takes}. {HOW}"
        arguments = dict(zip(names, action.positional, strict=False)) | dict(action.named)
        return ToolCall(call_id, action.name, {} if error else arguments, error)

    def spell(self, name: str) -> str:
        """The tool that a name in a text means."""
        if name not in self.names:
            known = canonical_name(name, self.tools)
            is_final = known not in self.tools and FINAL_NAME.fullmatch(known) and "Finish" in self.tools
            self.names[name] = "Finish" if is_final else known
        return self.names[name]

    def parameters(self, name: str) -> dict[str, Any]:
        """The schemas of a tool's parameters."""
        properties = self.tools[name].parameters.get("properties") if name in self.tools else None
        return properties if isinstance(properties, dict) else {}

    # The notations

    def marked(self, text: str) -> Iterator[Found]:
        """Calls between the marks of a chat format. What is marked but cannot be read is a call with an error."""
        marks = list(itertools.islice(MARK.finditer(text), 4 * MAX_CALLS))
        position = following = 0
        for i, mark in enumerate(marks):
            if mark["close"] or mark.start() < position:
                continue
            start = mark.end()
            position = self._json_end(text, start)
            following = max(following, i + 1)
            while following < len(marks) and marks[following].start() < position:
                following += 1
            after = marks[following] if following < len(marks) else None
            end = after.start() if after else len(text)
            body = text[start:end]
            name = mark["tag"] or mark["to"] or mark["call"]
            if name:
                yield Found(mark.start(), end, self.from_text(self.spell(name), body))
            elif body.strip() or not (after and not after["close"]):  # else only a wrapper around further marks
                attribute = NAME_ATTRIBUTE.search(mark[0])
                if attribute:
                    calls = [Found(0, len(body), self.from_text(self.spell(attribute[1]), body))]
                else:
                    calls = next(filter(None, (list(f(body)) for f in (self.headed, self.json_marked, self.calls))), [])
                stop = end if after else start + max((call.end for call in calls), default=len(body))
                yield from (Found(mark.start(), stop, call.action) for call in calls)
                if not calls and not (after and after["tag"]) and not _is_mentioned(text, mark, body, after):
                    yield Found(mark.start(), end, Action("", error=UNREADABLE))

    def headed(self, text: str) -> Iterator[Found]:
        """Calls written as the name and then the arguments: `Search[ARGS]{...}`, `Search {...}`."""
        position = 0
        while head := HEADED.match(text, position):
            name, start = self.spell(head["name"]), head.end()
            if text.startswith("{", start):
                try:
                    value = read_value(text, start, self.budget)
                except JSONTextError:
                    yield Found(position, len(text), self.unreadable(name))
                    return
                actions = self.from_data(value.value) if name not in self.tools else []
                for action in actions or [self.checked(Action(name, (), value.value), value.is_closed)]:
                    yield Found(position, value.end, action)
                position = BETWEEN.match(text, value.end).end()  # type: ignore[union-attr]  # it matches everywhere
            else:
                if head["separator"] or PARAMETER.match(text, start):
                    yield Found(position, len(text), self.from_text(name, text[start:]))
                return

    def actions(self, text: str) -> Iterator[Found]:
        """`Action: Search` and `Action Input: ...` below it, or `Action: Search[...]`."""
        lines = list(itertools.islice(ACTION.finditer(text), 4 * MAX_CALLS))
        for match, after in itertools.zip_longest(lines, lines[1:]):
            name, end = self.spell(match["name"].rstrip(".")), after.start() if after else len(text)
            known = name in self.tools
            if self.scan < 0:
                return
            if match["open"]:
                line = _before(text, match.start())
                if known or (self.loose and (not line.strip(" \t>*_#-") or SENTENCE_END.search(line))):
                    call, stop, _ = self.bracketed(name, text, match.end())
                    yield Found(match.start(), stop, call)
                continue
            given = INPUT.match(text, match.end(), end)
            if given:
                following = NEXT_LINE.search(text, given.end(), end)
                end = following.start() if following else end
                call = self.from_text(name, text[given.end() : end])
                if self.loose and not known and not call.named and not NONE_NAME.fullmatch(name):
                    call = Action(name, (text[given.end() : end].strip(),))
                if known or call.named or call.positional:
                    yield Found(match.start(), end, call)
            elif known and match["end"] is not None and self.is_alone(text, match.start(), match.end()):
                call = self.unreadable(name) if self.parameters(name) else Action(name)
                yield Found(match.start(), match.end(), call)

    def json(self, text: str) -> Iterator[Found]:
        """Calls written as JSON, in fences or bare."""
        for value in json_values(text, self.budget):
            for action in self.from_data(value.value):
                yield Found(value.start, value.end, self.checked(action, value.is_closed))

    def json_marked(self, text: str) -> Iterator[Found]:
        """JSON that something marks as a call, so that any name will do."""
        for value in json_values(text, self.budget):
            for action in self.from_data(value.value, marked=True):
                yield Found(value.start, value.end, self.checked(action, value.is_closed))

    def calls(self, text: str) -> Iterator[Found]:
        """`Search(...)` between marks, under any name for the first one."""
        return self.brackets(text, marked=True)

    def brackets(self, text: str, marked: bool = False) -> Iterator[Found]:
        """`Search(...)` and `Search[...]`; read, never run. A mere mention in a sentence is no call."""
        position = 0
        for match in BRACKET.finditer(text):
            if match.start() < position or self.scan < 0 or (match[3] == "[" and marked):
                continue
            name = self.spell(match[1])
            if name not in self.tools and not (marked and not position):
                continue
            call, end, exact = self.bracketed(name, text, match.end())
            if marked and not exact:
                continue
            if marked or self._is_made(text, match, end, call, exact):
                yield Found(match.start(), end, call)
                position = end

    def _is_made(self, text: str, match: re.Match[str], end: int, call: Action, exact: bool) -> bool:
        """Whether a call with an offered tool's name is meant as one."""
        before = text[max(0, match.start() - 12) : match.start()]
        line = _before(text, match.start())
        alone, given = self.is_alone(text, match.start(), end), call.positional or call.named or call.error
        if DEFINITION.search(before) or (text[end - 1 : end] in "([" and not given) or (match[2] and not (alone and (self.loose or exact))):
            return False
        if self.loose:
            rest = _after(text, end).strip(" \t*_`.")
            starts = not line.strip(" \t>*_#`-•") or SENTENCE_END.search(line) is not None
            return starts or not rest or (exact and match[3] == "(" and bool(given))
        if exact and given and match[3] == "(":
            return True
        values = [str(value) for value in (*call.positional, *call.named.values())]
        if not alone or (match[3] == "[" and not given):
            return False
        return not any(PLACEHOLDER.fullmatch(v) or (not exact and re.search(r"[(){}\[\]=\"']", v)) for v in values) and not (
            match[3] == "(" and values and set(values) <= self.parameters(call.name).keys()
        )

    # What a call holds

    def from_data(self, data: Any, marked: bool = False) -> list[Action]:
        """The calls in a JSON value, those in lists and inside other objects too."""
        if isinstance(data, list):
            return [action for entry in data for action in self.from_data(entry, marked)]
        if not isinstance(data, dict):
            return []
        action = self._named(data["function"] if isinstance(data.get("function"), dict) else data, marked)
        if action:
            return [action]
        names = [self.spell(key) for key in data]
        if data and set(names) <= self.tools.keys() and (marked or all(isinstance(v, dict) for v in data.values())):
            return [self.from_value(name, value) for name, value in zip(names, data.values(), strict=True)]
        return [action for value in data.values() for action in self.from_data(value)]

    def _named(self, entry: dict[str, Any], marked: bool) -> Action | None:
        """The call in an object that holds the tool's name under a key.

        Where nothing marks it as a call its form must leave no doubt: models answer in JSON, and describe tools in it.
        """
        keys = [key for key in NAME_KEYS if isinstance(entry.get(key), str) and entry[key].strip()]
        if not keys:
            return None
        key = next((key for key in keys if self.spell(entry[key]) in self.tools), keys[0])
        name = self.spell(entry[key])
        rest = {k: v for k, v in entry.items() if k != key and k not in OTHER_KEYS}
        given = next((k for k in ARGUMENT_KEYS if k in rest), None)
        if given and name == "Finish" and FINAL_NAME.fullmatch(entry[key]) and not isinstance(rest[given], dict):
            answer = "final_answer" if "final_answer" in self.parameters(name) else "answer"
            return Action(name, (), {answer: rest[given]})
        if marked:
            return self.from_value(name, rest[given] if given else rest)
        if name in self.tools:
            if given:
                value = rest[given]
                is_schema = isinstance(value, dict) and value.get("type") == "object" and "properties" in value
                return None if is_schema else self.from_value(name, value)
            return self.from_value(name, rest) if rest.keys() <= self.parameters(name).keys() else None
        if given and len(rest) == 1 and re.fullmatch(r"[A-Za-z_][\w.-]*", name) and not NONE_NAME.fullmatch(name):
            value = rest[given]
            if isinstance(value, dict) and value and (self.loose or key != "action"):
                return Action(name, (), value)
            if self.loose and given == "action_input":
                return Action(name, (value,))
        return None

    def from_value(self, name: str, value: Any) -> Action:
        """A call with arguments as a JSON value."""
        if isinstance(value, dict):
            return Action(name, (), value)
        if isinstance(value, str) and value:
            return self.from_text(name, value)
        only = self._only_parameter(name)
        if not value:
            return Action(name)
        return self.unreadable(name) if only is None or isinstance(value, list) else Action(name, (), {only: value})

    def from_text(self, name: str, text: str) -> Action:
        """A call with arguments as text: tagged parameters, JSON, `key="value"`, or the only parameter's bare value."""
        text = FENCE.sub("", text.strip()).strip("`").strip()
        tagged = self._tagged(name, text)
        if tagged or not text:
            return Action(name, (), tagged)
        if text[0] == "{":
            found = [v for v in itertools.islice(json_values(text, self.budget), 2) if isinstance(v.value, dict)]
            if not found or found[0].start:
                return self.unreadable(name)
            best = next((v for v in found if v.value), found[0])
            return self.checked(Action(name, (), best.value), best.is_closed)
        try:
            positional, named = _python_arguments(text)
            if named and not positional and named.keys() <= self.parameters(name).keys():
                return Action(name, (), named)
        except ValueError:
            positional = ()
        only = self._only_parameter(name)
        if only is None:
            return self.unreadable(name)
        text = positional[0] if len(positional) == 1 and isinstance(positional[0], str) else text
        return Action(name, (), {only: _typed(text, self.parameters(name)[only])})

    def bracketed(self, name: str, text: str, start: int) -> tuple[Action, int, bool]:
        """The call whose opening bracket stands before `start`, where it ends, and whether all of it is plain data."""
        self.scan -= 200
        opening = text[start - 1]
        inside, end, is_closed = self._inside(text, start, opening)
        parameters = list(self.parameters(name))
        plain = inside.strip()
        if len(parameters) == 1 and not re.search(r"[\"'{\[(=]", inside) and plain not in ("True", "False", "None"):
            return self.checked(Action(name, (plain,) if plain else ()), is_closed), end, not plain  # `Finish(1,200)`
        try:
            positional, named = _python_arguments(inside, is_closed)
            if len(positional) == 1 and isinstance(positional[0], dict) and not named:
                return self.checked(Action(name, (), positional[0]), is_closed), end, is_closed
            if opening == "(" or not positional or isinstance(positional[0], str):
                exact = is_closed or bool(named)
                return self.checked(Action(name, positional, named), is_closed), end, exact
        except ValueError:
            pass
        if plain.startswith("{"):
            value = next(iter(json_values(plain, self.budget)), None)
            if value and value.start == 0 and isinstance(value.value, dict):
                return self.checked(Action(name, (), value.value), is_closed), end, True
        for sign in "=:":
            named = _loose_arguments(plain, sign)
            if named and (named.keys() <= set(parameters) or (opening == "(" and sign == "=")):
                return self.checked(Action(name, (), named), is_closed), end, False
        return self.checked(Action(name, (plain,) if plain else ()), is_closed), end, False

    def _inside(self, text: str, start: int, opening: str) -> tuple[str, int, bool]:
        """The text up to the bracket that closes a call, where the call ends, and whether there is such a bracket.

        It is looked for on the first line, then on the others; where there is none, the first line is all.
        """
        line = _line_end(text, start)
        for stop in (line, len(text)):
            end = self._closing(text, start, stop, opening)
            if end >= 0:
                return text[start:end], end + 1, True
        last = text.rfind(CLOSING[opening], start, line)
        return (text[start:last], last + 1, True) if last >= 0 else (text[start:line], line, False)

    def _closing(self, text: str, start: int, stop: int, opening: str) -> int:
        """Where the bracket is closed that stands before `start`; -1 for nowhere."""
        depth, quote, missing = 1, "", set[str]()
        for match in NESTING[opening].finditer(text, start, stop):
            c, i = match[0], match.start()
            self.scan -= 4
            if self.scan < 0:
                break
            if quote:
                quote = "" if c == quote and text[i - 1] != "\\" else quote
            elif c in "\"'":
                if (i == start or text[i - 1] in "([{=:, \n") and c not in missing:
                    missing |= {c} if text.find(c, i + 1, stop) < 0 else set()
                    quote = c if c not in missing else ""
            else:
                depth += 1 if c == opening else -1
                if depth == 0:
                    return i
        return -1

    def _tagged(self, name: str, text: str) -> dict[str, Any]:
        """The arguments written as an element each, with the types that the tool's schema gives them."""
        found = list(PARAMETER.finditer(text))
        schemas = self.parameters(name)
        result: dict[str, Any] = {}
        for match, after in itertools.zip_longest(found, found[1:]):
            key = (match[1] or match[2]).strip()
            value = PARAMETER_END.split(text[match.end() : after.start() if after else len(text)], maxsplit=1)[0]
            value = value.strip("\r\n")
            result[key] = _typed(value if "\n" in value else value.strip(), schemas.get(key))
        return result

    def _only_parameter(self, name: str) -> str | None:
        """The parameter that a value without a name must be: the only one, or the only one that is required."""
        names = list(self.parameters(name))
        required = [n for n in names if n in (self.tools[name].parameters.get("required") or [])]
        return next((some[0] for some in (names, required) if len(some) == 1), None)

    def unreadable(self, name: str) -> Action:
        """A call that says why nothing can be done with it."""
        return Action(name, error=f"The arguments of {name} must be a JSON object. {HOW}" if name else UNREADABLE)

    def checked(self, action: Action, is_closed: bool) -> Action:
        """An action, unless the end of it was cut off with the reply's."""
        if is_closed or not self.cut or action.error:
            return action
        return Action(action.name, error=f"The call of {action.name} was cut off before its end. Send it again, shorter.")

    def _json_end(self, text: str, start: int) -> int:
        """Where sound JSON ends that begins here, so that marks in its texts are not taken for marks; else `start`."""
        start = BETWEEN.match(text, start).end()  # type: ignore[union-attr]  # it matches everywhere
        if text[start : start + 1] not in ("{", "["):
            return start
        try:
            return DECODER.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            return start

    def is_alone(self, text: str, start: int, end: int) -> bool:
        """Whether nothing else stands on the line or lines of a piece of text."""
        return not (_before(text, start) + _after(text, end)).strip(" `*_>-\t\r;.")


def _before(text: str, end: int) -> str:
    """The line's text before a place, as much of it as matters."""
    return text[max(0, end - 200) : end].rpartition("\n")[2]


def _after(text: str, start: int) -> str:
    return text[start : start + 200].partition("\n")[0]


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _is_mentioned(text: str, mark: re.Match[str], body: str, after: re.Match[str] | None) -> bool:
    """Whether a mark is only spoken of: in the middle of a line, in backticks or never closed, no bracket after it."""
    before = _before(text, mark.start()).strip()
    return bool(before) and (after is None or before[-1] == "`") and not re.search(r"[{\[(]", body)


def _quoted(text: str) -> str:
    """A text in which the texts that Gemma puts between marks of its own stand in quotes."""
    return GEMMA_TEXT.sub(lambda match: json.dumps(match[1], ensure_ascii=False), text)


def _python_arguments(inside: str, is_closed: bool = True) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments in Python's notation, as plain data.

    Raises:
        ValueError: They are not.
    """
    if len(inside) > 5_000:
        raise ValueError("too long")
    if not is_closed and inside.count('"') % 2:
        inside += '"'
    if '"' not in inside:
        inside = inside.replace("“", '"').replace("”", '"')
    try:
        with warnings.catch_warnings(action="ignore"):
            call = ast.parse(f"f({inside}\n)", mode="eval").body
        if not isinstance(call, ast.Call) or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError("no arguments")
        positional = plain_data([_literal(node) for node in call.args])
        return tuple(positional), plain_data({str(k.arg): _literal(k.value) for k in call.keywords})
    except (SyntaxError, MemoryError, RecursionError, TypeError):
        raise ValueError("no arguments") from None


def _literal(node: ast.expr) -> Any:
    return WORDS[node.id] if isinstance(node, ast.Name) and node.id in WORDS else ast.literal_eval(node)


def _loose_arguments(inside: str, sign: str) -> dict[str, Any]:
    """`name=Jane Roe, organization=Acme` without quotes."""
    parts = re.split(rf",\s*(?=[A-Za-z_]\w*\s*{sign})", inside)
    pairs = [part.split(sign, 1) for part in parts if sign in part]
    if len(pairs) != len(parts) or not all(key.strip().isidentifier() for key, _ in pairs):
        return {}
    return {key.strip(): value.strip().strip("\"'“”‘’") for key, value in pairs}


def _typed(text: str, schema: Any) -> Any:
    """A value written as bare text, as the type that a schema asks for; the text itself where it is none of that type."""
    kinds = _kinds(schema)
    if text.strip() in ("null", "None") and "null" in kinds:
        return None
    if not kinds or "string" in kinds:
        return text
    try:
        value = _python_arguments(text)[0][0]
    except (ValueError, IndexError):
        value = next((found.value for found in json_values(text) if found.start == 0), text)
    kind = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}.get(type(value))
    return value if kind in kinds or (kind == "integer" and "number" in kinds) else text


def _kinds(schema: Any) -> set[str]:
    """The JSON types that a schema allows; empty for any."""
    if not isinstance(schema, dict):
        return set()
    declared = schema.get("type") or ("object" if "$ref" in schema else [])
    kinds = {declared} if isinstance(declared, str) else {str(kind) for kind in declared}
    return kinds.union(*(_kinds(part) for key in ("anyOf", "oneOf") for part in schema.get(key) or []))


def _without(text: str, found: Iterable[Found]) -> str:
    """A text without its calls, their marks, and brackets and fences that held nothing else."""
    pieces: list[str] = []
    position = 0
    for start, end, _ in found:
        pieces.append(text[position:start])
        position = max(position, end)
    pieces.append(text[position:])
    bare = (MARK.sub("", piece[:MAX_TEXT]) + piece[MAX_TEXT:] for piece in pieces)
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
            calls = "\n".join(format_tool_call(call) for call in message.tool_calls)
            messages.append(Message("assistant", f"{message.content}\n{calls}".strip()))
        else:
            _add(messages, dataclasses.replace(message, tool_calls=()))
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
