"""The reader of tool calls in text; `tool_calls` has what others use of it.

Of the notations, the first that gives a call counts: marks of a chat format, `Action:` lines, JSON, `Search("...")` and
`Search[...]`. Nothing raises or is ever evaluated. The work that one text may cause is bounded, so that none holds the
event loop for more than about 50 ms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from r_eval.llms.base import ToolCall, ToolSpec
from r_eval.llms.call_arguments import MAX_CALLS, PREFIXED, ArgumentReader
from r_eval.llms.json_text import DECODER, json_values

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action", "api")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs")
OTHER_KEYS = ("id", "type", "tool_call_id", "call_id")
PREFIX = re.compile(r"(?:(?:functions?|default_api|tools?|api)(?:\.|::?|/))+")
SUFFIX = re.compile(r"(?:<\|.*|:\d+|\(\)|\.call)\Z", re.DOTALL)
FINAL_NAME = re.compile(r"final[ _-]?answer", re.IGNORECASE)
NONE_NAME = re.compile(r"none|n/?a|nothing|null", re.IGNORECASE)

_CALL = r"(?:tool|function)[_▁]?calls?"
OPENING = re.compile(
    rf"<(?:{PREFIXED}(?:{_CALL}|function|invoke)(?=[\s=>])|start_function_call>"
    rf"|[|｜](?:{_CALL}(?:[_▁]section)?(?:[_▁](?:begin|start))?|python_tag)[|｜]?>)|\[TOOL_CALLS\]"
    r"|(?:<\|start\|>assistant ?)?(?:<\|channel\|>)?(?:\b(?:assistant)?commentary\s)?"
    r"\bto=(?=(?:functions\.)?[\w.-]{1,100} ?(?:<\||(?:code|json)\b|\{))",
    re.IGNORECASE,
)
"""What opens a call, or a group of calls, in a chat format; the last two lines are gpt-oss's."""
CLOSING = re.compile(
    rf"</{PREFIXED}(?:{_CALL}|function|invoke)>|<[|｜](?:/?{_CALL}|{_CALL}(?:[_▁]section)?[_▁]end)[|｜]>"
    r"|<\|(?:call|message|end|start|channel|eo[mt]_id)\|>|<(?:end_function_call|tool_call\|)>",
    re.IGNORECASE,
)
ARGUMENTS = re.compile(rf"\{{|<{PREFIXED}(?:parameter\b|arg_key>)", re.IGNORECASE)
"""What the arguments of a call begin with, behind its name."""
NOISE = re.compile(r"<[^<>\n]{0,60}>|\[ARGS\]|\[CALL_ID\]\s?\w{0,20}|```\w{0,20}|[^\w.:/<\[`-]+|[<\[`]")
"""What may be around a name between what opens a call and its arguments."""
NO_NAMES = frozenset(("function", "name", "json", "code", "analysis", "commentary", ">", "/"))
LINE = r"^[ \t>*_#-]*+"
ACTION = re.compile(
    r"(?:(?P<label>(?:^|(?<=[^\w]))(?:Action|行动|动作)[ \t]*+\d*+[ \t*_]*+[:：])"
    r"[\s*_`\"]*+(?:```\w*\s*+)?|^(?=[\w.-]{1,99}\n\{))"
    r"(?P<name>Final Answer|[^\W\d][\w.-]{0,99}+)"
    r"(?:(?P<open>[\[(]| [\[(](?=[^\n]{0,200}[\])][*_`. \t]*$))|[*_`\".:： \t]*+$"
    r"|[*_`\"]{0,3}[:：][*_]{0,2}(?:[ \t]++(?=[^\s{])|(?<=：))(?P<value>[^\n]++))?",
    re.IGNORECASE | re.MULTILINE,
)
INPUT = re.compile(
    r"[,;]?\s*+[>*_# \t-]*+(?:Action[ _]?|行动|动作)?(?:Input|Arguments|Parameters|输入|参数)"
    r"(?:[ \t]*+\d+)?[ \t*_]*+[:：][ \t*_]*+"
    r"|:?\s*+(?=\{)",
    re.IGNORECASE,
)
"""What the input of an action is behind; JSON may follow its name at once."""
NEXT_LINE = re.compile(rf"{LINE}(?:Thought|Observation|Final Answer)\b", re.IGNORECASE | re.MULTILINE)
BRACKET = re.compile(
    r"(?<![\w.])(?P<print>print\()?(?:(?:functions|default_api|tools|api)\.)?"
    r"(?P<name>[A-Za-z_][\w-]{0,99}+)(?:\.call)?(?P<space>[ \t]?)(?P<bracket>[\[(])"
)
DEFINITION = re.compile(r"\b(?:def|class|function|func|fn)\s{1,9}\Z")
DECORATION = re.compile(r"(?<![ \t>*_#-])[ \t>*_#-]*+\Z")
BEGINNING = re.compile(r"(?:\A|[.!?:;>`。！？：；])[ \t>*_#`•-]*\Z")
"""What is before a line or a sentence that begins."""
FORM = re.compile(r"[(){}\[\]=\"'…<>]|\.{3}")
"""Signs of a signature or an example, which no value without quotes has."""


class Found(NamedTuple):
    """A call, and where it begins in a text."""

    start: int
    call: ToolCall


def canonical_name(name: str, tools: Collection[str]) -> str:
    """The offered tool that a name means, however it is spelled; the bare name where that is none, or several.

    >>> canonical_name("functions.search-person:0", ["Search", "searchPerson"])
    'searchPerson'
    """
    if name in tools:
        return name
    bare = SUFFIX.sub("", PREFIX.sub("", name.strip(" \t\r\n`*\"'"), count=1)).strip()
    for candidate in (bare[:200], re.split(r"[.:/]", bare[:200])[-1]):
        same = [known for known in tools if _fold(known) == _fold(candidate)]
        if len(same) == 1:
            return same[0]
    return bare


def _fold(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


class CallReader(ArgumentReader):
    """Reads the calls of some tools in one text.

    Args:
        loose: For ReAct, where an action is expected: only the first is read, with fewer doubts.
    """

    def __init__(self, tools: Mapping[str, ToolSpec], loose: bool = False, cut: bool = False) -> None:
        super().__init__(tools, cut)
        self.loose = loose
        self.names: dict[str, str] = {}

    def find(self, text: str) -> list[Found]:
        """The calls in a text, those of the first notation that gives any."""
        for finder in (self.marked, self.actions, self.json, self.brackets):
            calls = list(islice(finder(text), 1 if self.loose else MAX_CALLS))
            if calls:
                return calls
        return []

    def spell(self, name: str) -> str:
        """The tool that a name in a text means."""
        if name not in self.names:
            known = canonical_name(name, self.tools)
            is_final = known not in self.tools and FINAL_NAME.fullmatch(known) and "Finish" in self.tools
            self.names[name] = "Finish" if is_final else known
        return self.names[name]

    # The notations

    def marked(self, text: str) -> Iterator[Found]:
        """Calls between the marks of a chat format."""
        marks = list(islice(OPENING.finditer(text), 4 * MAX_CALLS))
        starts = [*(mark.start() for mark in marks), len(text)]
        begin, position = -1, 0
        for i, mark in enumerate(marks):
            if mark.start() < position:
                continue  # inside the texts of a call's arguments
            first = ARGUMENTS.search(text, mark.end(), starts[i + 1])
            start = first.start() if first else starts[i + 1]
            position = max(mark.end(), _json_end(text, start) if first else 0)
            end = next(after for after in starts[i + 1 :] if after >= position)
            closing = CLOSING.search(text, position if first else mark.end(), end)
            end = closing.start() if closing else end
            head, body = text[mark.end() : min(start, end)], text[start:end]
            begin = mark.start() if begin < 0 else begin
            words = [word for word in NOISE.sub(" ", head).split() if word.lower() not in NO_NAMES]
            name = self.spell(words[0]) if len(words) == 1 else ""
            if not body and not closing and end < len(text) and name not in self.tools:
                continue  # a mark around others
            if name and body:
                calls = [self.from_text(name, body)]
            elif name in self.tools:
                calls = [self.call(name, {}, closing is not None)]
            else:
                inside = text[mark.end() : end]
                found = list(self.json(inside, marked=True)) or list(self.brackets(inside, marked=True))
                calls = [entry.call for entry in found]
            if not calls and not _is_mentioned(text, begin, text[mark.end() : end], closing):
                known = self.spell(words[0]) if words else ""
                calls = [self.call(known if known in self.tools else "", None)]
            yield from (Found(begin, call) for call in calls)
            begin = -1

    def actions(self, text: str) -> Iterator[Found]:
        """`Action: Search` with `Action Input: ...`, `: ...` or `[...]` after it; a tool's name and JSON (GLM-4)."""
        lines = list(islice(ACTION.finditer(text), MAX_CALLS))
        begins = [m.start() - len(DECORATION.findall(_before(text, m.start()))[0]) for m in lines]
        for match, begin, end in zip(lines, begins, [*begins, len(text)][1:], strict=True):
            if self.budget.pieces < 0:
                return
            before, name = _before(text, match.start()), self.spell(match["name"].rstrip("."))
            is_known = name in self.tools
            argument = INPUT.match(text, match.end(), end)
            if match["open"] and (is_known or (self.loose and BEGINNING.search(before))):
                yield Found(begin, self.bracketed(name, text, match.end())[0])
            elif match["value"]:
                if is_known and match["label"] and BEGINNING.search(before):
                    yield Found(begin, self.from_text(name, match["value"]))
            elif argument:
                following = NEXT_LINE.search(text, argument.end(), end)
                end = following.start() if following else end
                call = self.from_text(name, text[argument.end() : end])
                is_named = call.arguments and "input" not in call.arguments
                is_other = match["label"] and not NONE_NAME.fullmatch(name) and (is_named or self.loose)
                if is_known or is_other:
                    yield Found(begin, call)
            elif is_known and _is_alone(text, match.start(), match.end()):
                yield Found(begin, self.call(name, None if self.parameters(name) else {}))

    def json(self, text: str, marked: bool = False) -> Iterator[Found]:
        """Calls written as JSON, in fences or bare; where they are `marked` as calls any name will do."""
        for value in json_values(text, self.budget):
            for call in self.from_data(value.value, marked, value.is_closed):
                yield Found(value.start, call)

    def brackets(self, text: str, marked: bool = False) -> Iterator[Found]:
        """`Search(...)` and `Search[...]`. A mere mention in a sentence is no call."""
        position = 0
        for match in BRACKET.finditer(text):
            name = self.spell(match["name"])
            is_offered = name in self.tools or (marked and not position)
            if match.start() < position or not is_offered or self.budget.pieces < 0:
                continue
            call, end, is_data = self.bracketed(name, text, match.end())
            if is_data if marked else self._is_made(text, match, end, call, is_data):
                yield Found(match.start(), call)
                position = end

    def _is_made(self, text: str, match: re.Match[str], end: int, call: ToolCall, is_data: bool) -> bool:
        """Whether brackets after an offered tool's name are a call of it."""
        line, after = _before(text, match.start()), _after(text, end).strip(" \t*_`.")
        is_alone, is_square = _is_alone(text, match.start(), end), match["bracket"] == "["
        if DEFINITION.search(line) or (text[end - 1 : end] in "([" and not call.arguments):
            return False
        if match["space"] and not (is_alone and (self.loose or is_data or is_square)):
            return False
        if is_data and not is_square and (call.arguments or call.error):
            return True
        if self.loose:
            return BEGINNING.search(line) is not None or not after
        values = {str(value) for value in call.arguments.values()}
        is_form = values <= self.parameters(call.name).keys() or any(map(FORM.search, values))
        return is_alone and (is_data or is_square or not is_form)

    # What a call holds

    def from_data(self, data: Any, marked: bool = False, is_closed: bool = True) -> Iterator[ToolCall]:
        """The calls in a JSON value, those in lists and inside other objects too."""
        if isinstance(data, list):
            for entry in data:
                yield from self.from_data(entry, marked, is_closed)
        if not isinstance(data, dict) or not data:
            return
        if named := self._named(data, marked):
            yield self.call(*named, is_closed)
        elif all(self.spell(key) in self.tools and (marked or isinstance(data[key], dict)) for key in data):
            for name, value in data.items():
                yield self.call(self.spell(name), self.from_value(self.spell(name), value), is_closed)
        else:
            yield from self.from_data(list(data.values()), False, is_closed)

    def _named(self, entry: dict[str, Any], marked: bool) -> tuple[str, dict[str, Any] | None] | None:
        """Name and arguments of the call in an object that holds the tool's name under a key.

        Where nothing marks it as a call its form must leave no doubt: models answer in JSON, and describe tools in it.
        """
        keys = [key for key in NAME_KEYS if isinstance(entry.get(key), str) and entry[key].strip()]
        if not keys:
            return None
        key = next((key for key in keys if self.spell(entry[key]) in self.tools), keys[0])
        name = self.spell(entry[key])
        rest = {k: v for k, v in entry.items() if k != key and k not in OTHER_KEYS}
        field = next((k for k in ARGUMENT_KEYS if k in rest), "")
        value = rest[field] if field else rest
        if not marked and name not in self.tools:
            if len(rest) != 1 or not field or NONE_NAME.fullmatch(name) or not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
                return None
            return (name, value) if isinstance(value, dict) and value and (self.loose or key != "action") else None
        if not marked:
            is_schema = isinstance(value, dict) and {"type", "properties"} <= value.keys()
            if is_schema or not (field or rest.keys() <= self.parameters(name).keys()):
                return None
        return name, self.from_value(name, value)


def _json_end(text: str, start: int) -> int:
    """Where sound JSON ends that begins here, so that marks in its texts are not taken for marks; else `start`."""
    try:
        return DECODER.raw_decode(text, start)[1] if text[start : start + 1] in ("{", "[") else start
    except (ValueError, RecursionError):
        return start


def _before(text: str, end: int) -> str:
    """The line's text before a place, as much of it as matters."""
    return text[max(0, end - 200) : end].rpartition("\n")[2]


def _after(text: str, start: int) -> str:
    return text[start : start + 200].partition("\n")[0]


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether nothing else is on the line or lines of a piece of text."""
    return not (_before(text, start) + _after(text, end)).strip(" `*_>-•\t\r;.")


def _is_mentioned(text: str, begin: int, body: str, after: re.Match[str] | None) -> bool:
    """Whether a mark is only mentioned: in the middle of a line, in backticks or never closed, no bracket after it."""
    before = _before(text, begin).strip()
    return bool(before) and (after is None or before[-1] == "`") and not re.search(r"[{\[(]", body)
