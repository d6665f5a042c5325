"""The reader of tool calls in text; `tool_calls` has what others use of it.

Of the notations, the first that gives a call counts: marks of a chat format, `Action:` lines, JSON, `Search("...")` and
`Search[...]`. Nothing raises or is ever evaluated. The work that one text may cause is bounded, so that none holds the
event loop for more than about 50 ms.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from r_eval.llms.base import ToolCall, ToolSpec
from r_eval.llms.json_text import DECODER, FENCE, Budget, JSONTextError, first_object, json_values, plain_data

MAX_TEXT, MAX_CALLS = 20_000, 64
"""Characters of a reply in which calls are looked for, and calls that are read."""
RESPONSE = "<tool_response>"
HOW = 'Write a call as <tool_call>{"name": "<tool>", "arguments": {...}}</tool_call>.'
UNREADABLE = f"The call could not be read. {HOW}"

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action", "api")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs")
OTHER_KEYS = ("id", "type", "tool_call_id", "call_id")
PREFIX = re.compile(r"(?:(?:functions?|default_api|tools?|api)(?:\.|::?|/))+")
SUFFIX = re.compile(r"(?:<\|.*|:\d+|\(\)|\.call)\Z", re.DOTALL)
FINAL_NAME = re.compile(r"final[ _-]?answer", re.IGNORECASE)
NONE_NAME = re.compile(r"none|n/?a|nothing|null", re.IGNORECASE)

_P = r"(?:\w{1,20}:|｜\w{1,20}｜)?"
_TAG = rf"{_P}(?:tool_?calls?|function_?calls?)"
_IS = r"\s{0,9}=\s{0,9}[\"']?"
_NAME = r"[\w.:-]{1,100}"
_THEN = r"(?:<[|｜]tool[▁_](?:sep|call[▁_]argument[▁_]begin)[|｜]>|\[ARGS\]|\[CALL_ID\]\s?\w{0,20})"
MARK = re.compile(
    rf"<{_P}(?:function|invoke)(?:=|\s{{1,9}}name{_IS})[\"']?(?P<tag>{_NAME})[^<>\n]{{0,200}}>"  # Qwen, Llama, Claude
    rf"|(?:<{_TAG}(?:\s[^<>\n]{{0,100}}?\bname{_IS}(?P<attribute>{_NAME})[\"']?)?(?:\s[^<>\n]{{0,200}})?>"  # Hermes
    rf"|<\|{_TAG}\|>|\[TOOL_CALLS\]|<\|python_tag\|>"  # Granite, Mistral, Llama
    r"|<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_]begin[|｜]>)"  # DeepSeek, Kimi
    rf"(?:\s*+(?:function{_THEN})?+(?P<name>{_NAME}+)\s*+"
    rf"(?:{_THEN}++|(?=(?:```\w*+\s*+)?(?:\{{|<(?:{_P}parameter|arg_key)))))?"
    r"|(?:<\|start\|>assistant ?)?(?:<\|channel\|>)?"
    rf"(?:\b(?:assistant)?commentary\s)?\bto=(?P<to>functions\.{_NAME}|{_NAME}(?=[^<\n]{{0,9}}<\|))"
    r"(?:\s?(?:<\|(?:channel|constrain|message)\|>\w{0,20}|json\b|code\b|commentary\b))*+(?<=[>\w])\s?(?=\{)"  # Harmony
    rf"|(?P<close></{_P}(?:function|invoke)>|</{_TAG}>|<\|/{_TAG}\|>|<\|(?:eo[mt]_id|call)\|>"
    r"|<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_]end[|｜]>"
    r"|<\|start\|>assistant|<\|channel\|>(?:analysis|commentary|final)?|<\|(?:message|end)\|>)",
    re.IGNORECASE,
)
"""What opens a call in a chat format, with the tool's name where that stands outside the arguments, or closes it."""
BETWEEN = re.compile(r"[\s,;`]*+")
PARAMETER = re.compile(
    rf"(?:<{_P}parameter(?:=|\s{{1,9}}name{_IS})[\"']?(?P<name>[^\"'<>\s]{{1,100}})[\"']?[^<>]{{0,200}}>"
    r"|<arg_key>\s*+(?P<key>[^<>]*+)</arg_key>\s*+<arg_value>)"
    rf"[\r\n]*+(?P<value>.*?)(?:</{_P}(?:parameter|arg_value)>|(?=<{_P}parameter[=\s]|<arg_key>)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
LINE = r"^[ \t>*_#-]*+"
ACTION = re.compile(
    r"(?:^|(?<=[^\w]))Action[ \t]*+\d*+[ \t*_]*+[:：][\s*_`\"]*+(?:```\w*\s*+)?"
    r"(?P<name>Final Answer|[^\W\d][\w.-]{0,99}+)"
    r"(?:(?P<open>[\[(]| [\[(](?=[^\n]{0,200}[\])][*_`. \t]*$))|(?P<end>[*_`\". \t]*+$))?",
    re.IGNORECASE | re.MULTILINE,
)
INPUT = re.compile(r"\s*+[>*_ \t]*+(?:Action[ _]?)?Input(?:[ \t]*+\d+)?[ \t*_]*+[:：][ \t*_]*+", re.IGNORECASE)
NEXT_LINE = re.compile(rf"{LINE}(?:Thought|Observation|Final Answer)\b", re.IGNORECASE | re.MULTILINE)
INVENTED = re.compile(rf"{LINE}Observation\b|^[ \t]*+{RESPONSE}", re.IGNORECASE | re.MULTILINE)
BRACKET = re.compile(
    r"(?<![\w.])(?P<print>print\()?(?:(?:functions|default_api|tools|api)\.)?"
    r"(?P<name>[A-Za-z_][\w-]{0,99}+)(?:\.call)?(?P<space>[ \t]?)(?P<bracket>[\[(])"
)
DEFINITION = re.compile(r"\b(?:def|class|function|func|fn)\s{1,9}\Z")
DECORATION = re.compile(r"(?<![ \t>*_#-])[ \t>*_#-]*+\Z")
SENTENCE_END = re.compile(r"(?:\A|[.!?:;>`。！？：；])[ \t*_`]*\Z")
FORM = re.compile(r"[(){}\[\]=\"'…<>]|\.{3}")
"""What stands in a signature or an example, and in no value without quotes."""
NESTING = {
    opening: re.compile(rf"(?<=[(\[{{=:,\s])(?:\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+')|[{pair}]", re.DOTALL)
    for opening, pair in (("[", r"\[\]"), ("(", "()"))
}
QUOTES = ('""', "''", "“”", "‘’")
PAIR = re.compile(r"([A-Za-z_]\w*)\s*[=:]\s*(.*)", re.DOTALL)


class Found(NamedTuple):
    """A call and the piece of text that it stands in."""

    start: int
    end: int
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


class CallReader:
    """Reads the calls of some tools in one text.

    Args:
        loose: For ReAct, where an action is expected: only the first is read, and less doubt stands in its way.
    """

    def __init__(self, tools: Mapping[str, ToolSpec], loose: bool = False, cut: bool = False) -> None:
        self.tools, self.loose, self.cut = tools, loose, cut
        self.budget, self.scan = Budget(), MAX_TEXT
        self.names: dict[str, str] = {}

    def find(self, text: str) -> list[Found]:
        """The calls before an invented observation; in all of the text where there is none before it."""
        known = before_invented(text)
        for part in [known] if self.loose or known == text else [known, text]:
            for finder in (self.marked, self.actions, self.json, self.brackets):
                found = list(islice(finder(part), 1 if self.loose else MAX_CALLS))
                if found:
                    return found if part == text else [*found[:-1], found[-1]._replace(end=len(text))]
        return []

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

    def call(self, name: str, arguments: dict[str, Any] | None, is_closed: bool = True) -> ToolCall:
        """A call; one with an error where there are no arguments, or their end was cut off with the reply's."""
        if arguments is None:
            return ToolCall(
                "", name, {}, f"The arguments of {name} must be a JSON object. {HOW}" if name else UNREADABLE
            )
        if self.cut and not is_closed:
            return ToolCall("", name, {}, f"The call of {name} was cut off. Send it again, shorter.")
        return ToolCall("", name, arguments)

    # The notations

    def marked(self, text: str) -> Iterator[Found]:
        """Calls between the marks of a chat format."""
        marks = list(islice(MARK.finditer(text), 4 * MAX_CALLS))
        position = 0
        for i, mark in enumerate(marks):
            if mark.start() < position or mark["close"]:
                continue
            named = mark["tag"] or mark["attribute"] or mark["name"] or mark["to"]
            name, begin, position = self.spell(named) if named else "", mark.start(), _json_end(text, mark.end())
            after = next((other for other in marks[i + 1 :] if other.start() >= position), None)
            end = after.start() if after else len(text)
            body = text[mark.end() : end]
            if not body.strip() and after and not (name or after["close"]):
                continue  # a mark around others
            if not body.strip():
                found = [Found(0, 0, self.call(name, {}, is_closed=after is not None))] if name else []
            elif name:
                stop = position if text[position - 1] == "}" else end
                found, end = [Found(0, 0, self.from_text(name, body))], stop
            else:
                found = list(self.json(body, marked=True)) or list(self.brackets(body, marked=True))
                end = end if after or not found else mark.end() + found[-1].end
            yield from (Found(begin, end, entry.call) for entry in found)
            if not found and not (after and after["tag"]) and not _is_mentioned(text, begin, body, after):
                yield Found(begin, end, self.call("", None))

    def actions(self, text: str) -> Iterator[Found]:
        """`Action: Search` and `Action Input: ...` below it, or `Action: Search[...]`."""
        lines = list(islice(ACTION.finditer(text), MAX_CALLS))
        for match, after in zip_longest(lines, lines[1:]):
            if self.scan < 0:
                return
            before, name = _before(text, match.start()), self.spell(match["name"].rstrip("."))
            begin, end = match.start() - len(DECORATION.findall(before)[0]), after.start() if after else len(text)
            known = name in self.tools
            given = None if match["open"] else INPUT.match(text, match.end(), end)
            if match["open"] and (known or (self.loose and _starts(before))):
                call, stop, _ = self.bracketed(name, text, match.end())
                yield Found(begin, stop, call)
            elif given:
                following = NEXT_LINE.search(text, given.end(), end)
                end = following.start() if following else end
                call = self.from_text(name, text[given.end() : end])
                if not known and call.error and self.loose and not NONE_NAME.fullmatch(name):
                    call = self.call(name, {"input": text[given.end() : end].strip()})
                if known or call.arguments:
                    yield Found(begin, end, call)
            elif known and match["end"] is not None and _is_alone(text, match.start(), match.end()):
                yield Found(begin, match.end(), self.call(name, None if self.parameters(name) else {}))

    def json(self, text: str, marked: bool = False) -> Iterator[Found]:
        """Calls written as JSON, in fences or bare; where they are `marked` as calls any name will do."""
        for value in json_values(text, self.budget):
            for call in self.from_data(value.value, marked, value.is_closed):
                yield Found(value.start, value.end, call)

    def brackets(self, text: str, marked: bool = False) -> Iterator[Found]:
        """`Search(...)` and `Search[...]`. A mere mention in a sentence is no call."""
        position = 0
        for match in BRACKET.finditer(text):
            name = self.spell(match["name"])
            if match.start() < position or not (name in self.tools or (marked and not position)) or self.scan < 0:
                continue
            call, end, is_data = self.bracketed(name, text, match.end())
            if is_data if marked else self._is_made(text, match, end, call, is_data):
                end += bool(match["print"]) and text.startswith(")", end)
                yield Found(match.start(), end, call)
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
            return _starts(line) or not after
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
        found = self._named(data["function"] if isinstance(data.get("function"), dict) else data, marked)
        if found:
            yield self.call(*found, is_closed)
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
        given = next((k for k in ARGUMENT_KEYS if k in rest), "")
        value = rest[given] if given else rest
        if given and name == "Finish" and FINAL_NAME.fullmatch(entry[key]) and not isinstance(value, dict):
            return name, {"final_answer" if "final_answer" in self.parameters(name) else "answer": value}
        if not marked and name not in self.tools:
            if len(rest) != 1 or not given or NONE_NAME.fullmatch(name) or not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
                return None
            if self.loose and given == "action_input" and not isinstance(value, dict):
                return name, {"input": value}
            return (name, value) if isinstance(value, dict) and value and (self.loose or key != "action") else None
        if not marked:
            is_schema = isinstance(value, dict) and value.get("type") == "object" and "properties" in value
            if is_schema or not (given or rest.keys() <= self.parameters(name).keys()):
                return None
        return name, self.from_value(name, value)

    def from_value(self, name: str, value: Any) -> dict[str, Any] | None:
        """Arguments given as a JSON value; None where they cannot be read."""
        if isinstance(value, dict) or not value:
            return value or {}
        if isinstance(value, str):
            call = self.from_text(name, value)
            return None if call.error else call.arguments
        only = self._only_parameter(name)
        return {only: value} if only and not isinstance(value, list) else None

    def from_text(self, name: str, text: str) -> ToolCall:
        """A call with arguments as text: tagged parameters, JSON, `key="value"`, or the only parameter's bare value."""
        text = FENCE.sub("", text.strip()).strip("`").strip()
        tagged = self._tagged(name, text)
        if tagged or not text:
            return self.call(name, tagged, not tagged or text.endswith(">"))
        if text[0] == "{":
            try:
                found = first_object(text, self.budget)
            except JSONTextError:
                return self.call(name, None)
            return self.call(name, found.value, found.is_closed)
        positional, named = _python_arguments(text) or ((), {})
        if named and not positional and named.keys() <= self.parameters(name).keys():
            return self.call(name, named)
        only = self._only_parameter(name)
        if only is None:
            return self.call(name, None)
        text = positional[0] if len(positional) == 1 and isinstance(positional[0], str) else text
        return self.call(name, {only: self._typed(text, self.parameters(name)[only])})

    def bracketed(self, name: str, text: str, start: int) -> tuple[ToolCall, int, bool]:
        """The call whose opening bracket stands before `start`, where it ends, and whether all of it is plain data."""
        self.scan -= 200
        opening, names = text[start - 1], list(self.parameters(name))
        inside, end, is_closed = self._inside(text, start, opening)
        plain = inside.strip()
        if not is_closed and (not plain or plain[-1] in "=:,"):
            return self.call(name, None), end, False
        arguments, is_data = _given(plain, names, opening, is_closed)
        if arguments is None:
            arguments = {names[0] if names else "input": plain}
        return self.call(name, arguments, is_closed), end, is_data

    def _inside(self, text: str, start: int, opening: str) -> tuple[str, int, bool]:
        """The text up to the bracket that closes a call, where the call ends, and whether there is such a bracket.

        It is looked for on the first line, then on the others; where there is none, the first line is all.
        """
        line = start + len(text[start:].partition("\n")[0])
        for stop in (line, len(text)):
            depth = 1
            for match in NESTING[opening].finditer(text, start, stop):
                self.scan -= 4
                depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(match[0], 0)
                if depth == 0:
                    return text[start : match.start()], match.end(), True
                if self.scan < 0:
                    break
        last = text.rfind("]" if opening == "[" else ")", start, line)
        return (text[start:last], last + 1, True) if last >= 0 else (text[start:line], line, False)

    def _tagged(self, name: str, text: str) -> dict[str, Any]:
        """The arguments written as an element each, with the types that the tool's schema gives them."""
        result: dict[str, Any] = {}
        for match in islice(PARAMETER.finditer(text), MAX_CALLS):
            key, value = (match["name"] or match["key"]).strip(), match["value"].rstrip("\r\n")
            value = value if "\n" in value else value.strip()
            result[key] = self._typed(value, self.parameters(name).get(key))
        return result

    def _typed(self, text: str, schema: Any) -> Any:
        """A value written as bare text, as the type that a schema asks for; the text itself where it is of none."""
        kinds = _kinds(schema)
        if text.strip() in ("null", "None") and "null" in kinds:
            return None
        if not kinds or "string" in kinds:
            return text
        found = next(json_values(f"[{text}]", self.budget), None)
        value = found.value[0] if found and isinstance(found.value, list) and len(found.value) == 1 else text
        kind = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}.get(type(value))
        return value if kind in kinds or (kind == "integer" and "number" in kinds) else text

    def _only_parameter(self, name: str) -> str | None:
        """The parameter that a value without a name must be: the only one, or the only one that is required."""
        names = list(self.parameters(name))
        required = [n for n in names if n in (self.tools[name].parameters.get("required") or [])]
        return next((some[0] for some in (names, required) if len(some) == 1), None)


def before_invented(text: str) -> str:
    """A text up to the first observation or tool result that it makes up."""
    invented = INVENTED.search(text)
    return text[: invented.start()] if invented else text


def _json_end(text: str, start: int) -> int:
    """Where sound JSON ends that begins here, so that marks in its texts are not taken for marks; else `start`."""
    start = BETWEEN.match(text, start).end()  # type: ignore[union-attr]  # it matches everywhere
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
    """Whether nothing else stands on the line or lines of a piece of text."""
    return not (_before(text, start) + _after(text, end)).strip(" `*_>-•\t\r;.")


def _starts(line: str) -> bool:
    """Whether a line or a sentence begins after this."""
    return not line.strip(" \t>*_#`-•") or SENTENCE_END.search(line) is not None


def _is_mentioned(text: str, begin: int, body: str, after: re.Match[str] | None) -> bool:
    """Whether a mark is only spoken of: in the middle of a line, in backticks or never closed, no bracket after it."""
    before = _before(text, begin).strip()
    return bool(before) and (after is None or before[-1] == "`") and not re.search(r"[{\[(]", body)


def _given(plain: str, names: list[str], opening: str, is_closed: bool) -> tuple[dict[str, Any] | None, bool]:
    """The arguments in the brackets after a tool's name, and whether they are plain data; None for a bare value."""
    if not plain:
        return {}, True
    if len(names) == 1 and not re.search(r"[\"'{\[(=“]", plain) and plain not in ("True", "False", "None"):
        return None, False
    python = _python_arguments(plain, is_closed)
    if python and (opening == "(" or not python[0] or isinstance(python[0][0], str | dict)):
        positional, named = python
        if len(positional) == 1 and isinstance(positional[0], dict) and not named:
            return positional[0], is_closed
        names = [*names, *(f"argument {i + 1}" for i in range(len(names), len(positional)))]
        return dict(zip(names, positional, strict=False)) | named, is_closed or bool(named)
    if python:
        return None, False
    if len(names) == 1 and len(plain) > 1 and plain[0] + plain[-1] in QUOTES:
        return {names[0]: plain[1:-1]}, is_closed
    parts = re.split(r",\s*(?=[A-Za-z_]\w*\s*[=:])", plain.removesuffix(",") if opening == "(" else plain)
    pairs = {match[1]: match[2].strip() for match in map(PAIR.fullmatch, parts) if match}
    if len(pairs) < len(parts) or not (pairs.keys() <= set(names) or (opening == "(" and "=" in plain)):
        return None, False
    is_quoted = all(value[:1] + value[-1:] in QUOTES for value in pairs.values())
    return {key: value.strip("\"'“”‘’") for key, value in pairs.items()}, is_quoted


def _python_arguments(inside: str, is_closed: bool = True) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Arguments in Python's notation, without and with names; None where they are not all plain data."""
    if len(inside) > MAX_TEXT // 4:
        return None
    inside += '"' if not is_closed and inside.count('"') % 2 else ""
    try:
        with warnings.catch_warnings(action="ignore"):
            call = ast.parse(f"f({inside}\n)", mode="eval").body
        if not isinstance(call, ast.Call) or any(keyword.arg is None for keyword in call.keywords):
            return None
        positional = plain_data([ast.literal_eval(node) for node in call.args])
        return tuple(positional), plain_data({str(k.arg): ast.literal_eval(k.value) for k in call.keywords})
    except (SyntaxError, ValueError, MemoryError, RecursionError, TypeError):
        return None


def _kinds(schema: Any) -> set[str]:
    """The JSON types that a schema allows; empty for any."""
    if not isinstance(schema, dict):
        return set()
    declared = schema.get("type") or ("object" if "$ref" in schema else [])
    kinds = {declared} if isinstance(declared, str) else {str(kind) for kind in declared}
    return kinds.union(*(_kinds(part) for key in ("anyOf", "oneOf") for part in schema.get(key) or []))
