"""The reader of a call's arguments, however they are written: JSON, Python's notation, tags, bare text.

Nothing raises or is ever evaluated. A value without quotes stays a text: a session gives it the type that its query API
wants.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from itertools import islice
from typing import Any

from r_eval.llms.base import ToolCall, ToolSpec
from r_eval.llms.json_text import CLOSING, FENCE, Budget, JSONTextError, extent, first_object, json_values, plain_data

MAX_TEXT, MAX_CALLS = 20_000, 64
"""Characters of a reply in which calls are looked for, and calls that are read."""
HOW = 'Write a call as <tool_call>{"name": "<tool>", "arguments": {...}}</tool_call>.'
UNREADABLE = f"The call could not be read. {HOW}"

PREFIXED = r"(?:\w{1,20}[:_]|｜\w{1,20}｜)?"
IS = r"\s{0,9}=\s{0,9}[\"']?"
PARAMETER = re.compile(
    rf"(?:<{PREFIXED}parameter(?:=|\s{{1,9}}name{IS})[\"']?(?P<name>[^\"'<>\s]{{1,100}})[\"']?[^<>]{{0,200}}>"
    rf"|<{PREFIXED}arg_key>\s*+(?P<key>[^<>]*+)</{PREFIXED}arg_key>\s*+<{PREFIXED}arg_value>)"
    rf"[\r\n]*+(?P<value>.*?)(?:</{PREFIXED}(?:parameter|arg_value)>|(?=<{PREFIXED}(?:parameter[=\s]|arg_key>))|\Z)",
    re.IGNORECASE | re.DOTALL,
)
PAIR = re.compile(r"([A-Za-z_]\w*)\s*[=:]\s*(.*)", re.DOTALL)
VALUE = re.compile(r"[\"'{\[(=“‘]|\A(?:[Tt]rue|[Ff]alse|None|null)\Z")
"""What distinguishes a value in Python's notation from bare text."""
BROKEN = re.compile(r"[{}<>]|[\"'’”]\s*+:")
"""Signs of damaged JSON or tags, rare in bare text."""
QUOTE_MARK = re.compile(r"<escape>|<\|\"\|>")
"""What Gemma writes around a text."""
QUOTES, STRAIGHT = "\"'“”‘’", str.maketrans("“”", '""')
WORDS = {"true": True, "false": False, "null": None}


class ArgumentReader:
    """Reads the arguments of calls of some tools in one text.

    Args:
        cut: The text ended at the limit on tokens, so that arguments without their end are not to be trusted.
    """

    def __init__(self, tools: Mapping[str, ToolSpec], cut: bool = False) -> None:
        self.tools, self.cut, self.budget = tools, cut, Budget()

    def parameters(self, name: str) -> dict[str, Any]:
        """The schemas of a tool's parameters."""
        properties = self.tools[name].parameters.get("properties") if name in self.tools else None
        return properties if isinstance(properties, dict) else {}

    def call(self, name: str, arguments: dict[str, Any] | None, is_closed: bool = True) -> ToolCall:
        """A call; one with an error where there are no arguments, or their end was cut off with the reply's."""
        error = None
        if arguments is None:
            error = f"The arguments of {name} must be a JSON object. {HOW}" if name else UNREADABLE
        elif self.cut and not is_closed:
            error = f"The call of {name} was cut off. Send it again, shorter."
        return ToolCall("", name, {} if error else arguments or {}, error)

    def from_value(self, name: str, value: Any) -> dict[str, Any] | None:
        """Arguments given as a JSON value; None if they cannot be read."""
        if isinstance(value, str):
            call = self.from_text(name, value)
            return None if call.error else call.arguments
        if value and not isinstance(value, dict):
            is_argument = name == "Finish" or not isinstance(value, list)
            return {self._main_parameter(name): value} if is_argument else None
        return value or {}

    def from_text(self, name: str, text: str) -> ToolCall:
        """A call with arguments as text: tagged parameters, JSON, `key="value"`, or the main parameter's bare value."""
        text = FENCE.sub("", QUOTE_MARK.sub('"', text).strip()).strip("`").strip()
        if tagged := self._tagged(name, text):
            return self.call(name, tagged, text.endswith(">"))
        if not text.startswith("{"):
            arguments, is_data = self._in_brackets(name, text, "[", True)
            is_value = is_data or len(self.parameters(name)) == 1 or not BROKEN.search(text)
            return self.call(name, arguments if is_value else None)
        try:
            first = first_object(text, self.budget)
        except JSONTextError:
            return self.call(name, None)
        return self.call(name, first.value, first.is_closed)

    def bracketed(self, name: str, text: str, start: int) -> tuple[ToolCall, int, bool]:
        """The call whose opening bracket is before `start`, where it ends, and whether all of it is plain data."""
        self.budget.pieces -= 25
        inside, end, is_closed = self._inside(text, start)
        plain = inside.strip()
        if not is_closed and (not plain or plain[-1] in "=:,"):
            return self.call(name, None), end, False
        arguments, is_data = self._in_brackets(name, plain, text[start - 1], is_closed)
        return self.call(name, arguments, is_closed), end, is_data

    def _in_brackets(self, name: str, plain: str, opening: str, is_closed: bool) -> tuple[dict[str, Any], bool]:
        """The arguments in the brackets after a tool's name, and whether they are plain data."""
        if not plain:
            return {}, True
        names = list(self.parameters(name))
        is_bare = len(names) == 1 and not VALUE.search(plain)
        python = None if is_bare else self._python(name, plain)
        if python:
            arguments, places = python
            first = next(iter(arguments.values()), None)
            if len(arguments) == places == 1 and isinstance(first, dict):
                return first, is_closed
            if opening == "(" or not places or isinstance(first, str):
                return arguments, is_closed or len(arguments) > places
        parts = re.split(r",\s*(?=[A-Za-z_]\w*\s*[=:])", plain.removesuffix(",") if opening == "(" else plain)
        pairs = {match[1]: match[2].strip() for match in map(PAIR.fullmatch, parts) if match}
        is_named = pairs.keys() <= set(names) or (opening == "(" and "=" in plain)
        if python or len(pairs) < len(parts) or not is_named:
            pairs = {self._main_parameter(name): plain}
            is_data = False
        else:
            is_data = all(value[:1] in QUOTES and (is_closed or value.count(value[0]) == 1) for value in pairs.values())
        bare = {key: value.strip(QUOTES) if value[:1] in QUOTES else value for key, value in pairs.items()}
        return {key: self._value(value, name, key) for key, value in bare.items()}, is_data

    def _python(self, name: str, inside: str) -> tuple[dict[str, Any], int] | None:
        """Arguments in Python's or JSON's notation, and how many of them had no name; None if not all are data."""
        if len(inside) > MAX_TEXT // 4:
            return None
        for text in dict.fromkeys((inside, inside.translate(STRAIGHT))):
            source = f"f({text}\n)"
            try:
                with warnings.catch_warnings(action="ignore"):
                    call = ast.parse(source, mode="eval").body
                if not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) > MAX_CALLS:
                    return None
                places = list(self.parameters(name))
                places += [f"argument {i + 1}" for i in range(len(places), len(call.args))]
                nodes = dict(zip(places, call.args, strict=False)) | {str(k.arg): k.value for k in call.keywords}
                values = {key: self._literal(source, node, name, key) for key, node in nodes.items()}
                return plain_data(values), len(call.args)
            except (SyntaxError, ValueError, MemoryError, RecursionError, TypeError):
                continue
        return None

    def _literal(self, source: str, node: ast.expr, name: str, key: str) -> Any:
        """A value in Python's or JSON's notation, as it is written where the tool wants a text."""
        value = ast.literal_eval(JSONWords().visit(node))
        if name == "Finish" and isinstance(value, bool | None):
            return "None" if value is None else value  # an answer: none, yes or no
        is_text = isinstance(value, int | float) and wants_text(self.parameters(name).get(key))
        return ast.get_source_segment(source, node) if is_text else value

    def _inside(self, text: str, start: int) -> tuple[str, int, bool]:
        """The text in the bracket before `start`, where the call ends, and whether the bracket closes.

        The closing bracket is on the first line, or else on another; without one, the first line is all.
        """
        line = start + len(text[start:].partition("\n")[0])
        for stop in (line, len(text)):
            end, is_closed = extent(text, start - 1, self.budget, stop)
            if is_closed:
                return text[start : end - 1], end, True
        last = text.rfind(CLOSING[text[start - 1]], start, line)
        return (text[start:last], last + 1, True) if last >= 0 else (text[start:line], line, False)

    def _tagged(self, name: str, text: str) -> dict[str, Any]:
        """The arguments written as an element each, with the types that the tool's schema gives them."""
        result: dict[str, Any] = {}
        for match in islice(PARAMETER.finditer(text), MAX_CALLS):
            key, value = (match["name"] or match["key"]).strip(), match["value"].rstrip()
            result[key] = self._value(value if "\n" in value else value.strip(), name, key)
        return result

    def _value(self, text: str, name: str, key: str) -> Any:
        """A value written as bare text; a list or an object in it is read unless the tool wants a text."""
        if text[:1] not in ("[", "{") or wants_text(self.parameters(name).get(key)):
            return text
        value = next(json_values(text, self.budget), None)
        return value.value if value and value.end >= len(text.rstrip()) else text

    def _main_parameter(self, name: str) -> str:
        """The parameter that a value without a name is for: the first that is required, or the first."""
        names = list(self.parameters(name)) or ["input"]
        required = self.tools[name].parameters.get("required") if name in self.tools else None
        return next((one for one in names if one in (required or names)), names[0])


class JSONWords(ast.NodeTransformer):
    """Puts values in the place of JSON's names for them."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(WORDS[node.id]) if node.id in WORDS else node


def wants_text(schema: Any) -> bool:
    """Whether a parameter may be a text, so that a number or a word of Python's for it is taken as it is written."""
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "string" or any(map(wants_text, schema.get("anyOf") or ()))
