"""From what a model wrote to a `ToolCall`: which JSON is a call, which tool is meant, which type an argument has.

JSON that nothing marks as a call is one only where its form leaves no doubt: models answer questions in JSON, and
describe tools in it, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from r_eval.llms.base import ToolCall, ToolSpec
from r_eval.llms.lenient import Arguments, Unreadable, arguments, value_at, values

HOW = 'Write a call as <tool_call>{"name": "<tool>", "arguments": {...}}</tool_call>.'

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action", "api")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params", "kwargs")
OTHER_KEYS = ("id", "type", "tool_call_id", "call_id")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
AROUND_NAME = re.compile(r"^(?:functions|default_api|tools|api)\.|(?::\d+|\(\))$")
PARAMETER = re.compile(
    r"<(?:\w{1,20}:|｜\w{1,20}｜)?parameter(?:=|\s{1,9}name\s{0,9}=\s{0,9})[\"']?([^\"'<>\s]{1,100})[\"']?[^<>]{0,200}>"
    r"|<arg_key>([^<>]*)</arg_key>\s*<arg_value>",
    re.IGNORECASE,
)
PARAMETER_END = re.compile(r"</(?:\w{1,20}:|｜\w{1,20}｜)?(?:parameter|arg_value)>", re.IGNORECASE)
FENCE = re.compile(r"^```\w*\s*|\s*```$")


def unreadable(name: str = "") -> ToolCall:
    """A call that says why nothing can be done with it."""
    if name:
        return ToolCall("", name, {}, f"The arguments of {name} must be a JSON object. {HOW}")
    return ToolCall("", "", {}, f"The call could not be read. {HOW}")


def spelt(name: str, offered: Mapping[str, ToolSpec]) -> str:
    """The offered tool that a name means, without regard to case, `functions.` before it or a number after it."""
    name = name.strip().strip("`*\"'")
    if name in offered:
        return name
    name = AROUND_NAME.sub("", name)
    return next((known for known in offered if known.lower() == name.lower()), name)


def from_data(data: Any, offered: Mapping[str, ToolSpec], marked: bool = False) -> list[ToolCall]:
    """The calls in a JSON value, those in lists and inside other objects too.

    Where something `marked` the value as a call, any name will do, so that the model can be told that it is wrong.
    """
    if isinstance(data, list):
        return [call for entry in data for call in from_data(entry, offered, marked)]
    if not isinstance(data, dict):
        return []
    entry = data["function"] if isinstance(data.get("function"), dict) else data
    call = _named(entry, offered, marked)
    if call:
        return [call]
    names = [spelt(key, offered) for key in data]
    if data and all(n in offered for n in names) and (marked or all(isinstance(v, dict) for v in data.values())):
        return [from_value(name, value, offered) for name, value in zip(names, data.values(), strict=True)]
    return [call for value in data.values() for call in from_data(value, offered)]


def _named(entry: dict[str, Any], offered: Mapping[str, ToolSpec], marked: bool) -> ToolCall | None:
    """The call in an object that holds the tool's name under a key."""
    keys = [key for key in NAME_KEYS if isinstance(entry.get(key), str) and entry[key].strip()]
    if not keys:
        return None
    key = next((key for key in keys if spelt(entry[key], offered) in offered), keys[0])
    name = spelt(entry[key], offered)
    rest = {k: v for k, v in entry.items() if k != key and k not in OTHER_KEYS}
    given = next((k for k in ARGUMENT_KEYS if k in rest), None)
    if marked:
        return from_value(name, rest[given] if given else rest, offered)
    if name not in offered:
        call = from_value(name, rest[given], offered) if given and len(rest) == 1 and key != "action" else None
        return call if call and call.arguments and IDENTIFIER.fullmatch(name) else None
    if given:
        return None if _is_schema(rest[given]) else from_value(name, rest[given], offered)
    return from_value(name, rest, offered) if rest.keys() <= _parameters(name, offered).keys() else None


def _is_schema(value: Any) -> bool:
    """Whether this describes a tool's parameters instead of giving them."""
    return isinstance(value, dict) and value.get("type") == "object" and "properties" in value


def from_value(name: str, value: Any, offered: Mapping[str, ToolSpec]) -> ToolCall:
    """A call with arguments as a JSON value."""
    if isinstance(value, dict):
        return ToolCall("", name, value)
    if not value:
        return ToolCall("", name, {})
    if isinstance(value, str):
        return from_text(name, value, offered)
    only = _only_parameter(name, offered)
    return unreadable(name) if only is None or isinstance(value, list) else ToolCall("", name, {only: value})


def from_text(name: str, text: str, offered: Mapping[str, ToolSpec]) -> ToolCall:
    """A call with arguments as text: tagged parameters, JSON, `key="value"`, or the only parameter's bare value."""
    text = FENCE.sub("", text.strip()).strip("`").strip()
    tagged = _tagged(name, text, offered)
    if tagged or not text:
        return ToolCall("", name, tagged)
    if text[0] in "{[":
        first = next(values(text), None)
        data = first[2] if first and first[0] == 0 else None
        return ToolCall("", name, data) if isinstance(data, dict) else unreadable(name)
    try:
        given = arguments(f"{text})", 0)
        if given.named and not given.positional and given.named.keys() <= _parameters(name, offered).keys():
            return ToolCall("", name, given.named)
    except Unreadable:
        pass
    only = _only_parameter(name, offered)
    if only is None:
        return unreadable(name)
    return ToolCall("", name, {only: typed(_unquoted(text), _parameters(name, offered)[only])})


def from_python(name: str, given: Arguments, offered: Mapping[str, ToolSpec]) -> ToolCall:
    """A call with arguments in Python's notation; those without a name are the tool's parameters in their order."""
    names = list(_parameters(name, offered))
    if len(given.positional) == 1 and isinstance(given.positional[0], dict) and not given.named:
        return ToolCall("", name, given.positional[0])
    if len(given.positional) > len(names) and name in offered:
        takes = ", ".join(names) or "no arguments"
        return ToolCall("", name, {}, f"{name} was given {len(given.positional)} arguments and takes: {takes}. {HOW}")
    return ToolCall("", name, dict(zip(names, given.positional, strict=False)) | given.named)


def _tagged(name: str, text: str, offered: Mapping[str, ToolSpec]) -> dict[str, Any]:
    """The arguments written as an element each, with the types that the tool's schema gives them."""
    found = list(PARAMETER.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    schemas = _parameters(name, offered)
    result: dict[str, Any] = {}
    for match, end in zip(found, ends, strict=False):
        key = (match[1] or match[2]).strip()
        value = PARAMETER_END.split(text[match.end() : end], maxsplit=1)[0].strip("\r\n")
        result[key] = typed(value if "\n" in value else value.strip(), schemas.get(key))
    return result


def typed(text: str, schema: Any) -> Any:
    """A value written as bare text, as the type that a schema asks for; the text itself where it is none of that type.

    >>> typed("3", {"type": "integer"}), typed("3", {"type": "string"})
    (3, '3')
    """
    kinds = _kinds(schema)
    if text.strip() in ("null", "None") and "null" in kinds:
        return None
    if not kinds or "string" in kinds:
        return text
    try:
        value, end = value_at(text, 0)
    except Unreadable:
        return text
    return value if not text[end:].strip() and _kind(value) & kinds else text


def _kinds(schema: Any) -> set[str]:
    """The JSON types that a schema allows; empty for any."""
    if not isinstance(schema, dict):
        return set()
    declared = schema.get("type") or ("object" if "$ref" in schema else [])
    kinds = {declared} if isinstance(declared, str) else {str(kind) for kind in declared}
    return kinds.union(*(_kinds(part) for key in ("anyOf", "oneOf") for part in schema.get(key) or []))


def _kind(value: Any) -> set[str]:
    if isinstance(value, bool) or value is None:
        return {"null" if value is None else "boolean"}
    if isinstance(value, int | float):
        return {"number", "integer"} if isinstance(value, int) else {"number"}
    return {"array" if isinstance(value, list) else "object" if isinstance(value, dict) else "string"}


def _unquoted(text: str) -> str:
    """A text without the quotes around the whole of it."""
    try:
        value, end = value_at(text, 0)
    except Unreadable:
        return text
    return value if isinstance(value, str) and end == len(text) else text


def _parameters(name: str, offered: Mapping[str, ToolSpec]) -> dict[str, Any]:
    properties = offered[name].parameters.get("properties") if name in offered else None
    return properties if isinstance(properties, dict) else {}


def _only_parameter(name: str, offered: Mapping[str, ToolSpec]) -> str | None:
    """The parameter that a value without a name must be: the only one, or the only one that is required."""
    names = list(_parameters(name, offered))
    required = [n for n in names if n in (offered[name].parameters.get("required") or [])]
    return next((some[0] for some in (names, required) if len(some) == 1), None)
