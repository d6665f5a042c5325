"""The request of an operation: where its arguments go, and how they are written there.

Whatever a model writes as an argument stays an argument: it is percent-encoded, and a path segment that would lead
elsewhere is refused. Lists and objects are written as OpenAPI's styles have it (as RFC 6570 does); what no style can
write is refused, too.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from r_eval.environments.base import ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools.openapi_document import is_json
from r_eval.environments.tools.operations import Keys, Operation, Place

DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
COOKIE = re.compile(r"[!#-+\--:<-\[\]-~]*")


@dataclasses.dataclass(frozen=True)
class Request:
    """A request; its URL is percent-encoded."""

    method: str
    url: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cookies: Mapping[str, str] = dataclasses.field(default_factory=dict)
    data: bytes | None = None


def request_of(operation: Operation, base: str, keys: Keys, arguments: Mapping[str, Any]) -> Request:
    """The request of a call.

    Args:
        arguments: By their declared names.

    Raises:
        ToolError: An argument cannot be sent where it has to go.
    """
    is_form = bool(operation.body) and not is_json(operation.body)
    path, body = operation.path, None
    fields: dict[str, Any] = {}
    parts: dict[str, Any] = {"query": [], "header": {}, "cookie": {}, "body": []}
    for name, value in arguments.items():
        place = operation.places[name]
        try:
            if place.where == "path":
                path = path.replace("{" + place.name + "}", _segment(place, value))
            elif place.where == "whole":
                body = value
            elif place.where == "body" and not is_form:
                fields[place.name] = value
            elif value is None:  # there is no way to write it, but to leave it out
                continue
            elif place.where in ("query", "body"):
                parts[place.where] += _pairs(place, value)
            else:
                parts[place.where][place.name] = _line(place, value)
        except ValueError as error:
            why = f": {error}" if str(error) else ""
            raise ToolError(f"{operation.name}: argument '{name}' cannot be {clip(repr(value))}{why}.") from None
    if any(place.where == "body" for place in operation.places.values()):
        body = fields
    data = None if body is None else json.dumps(body, ensure_ascii=False)
    if is_form:
        data = "&".join(parts["body"])
    headers = {name: key for (where, name), key in keys.items() if where == "header"} | parts["header"]
    if data is not None:
        headers["Content-Type"] = "application/json" if operation.body in ("", "*/*") else operation.body
    query = [
        *parts["query"],
        *(f"{_encoded(n)}={_encoded(key)}" for (where, n), key in keys.items() if where == "query"),
    ]
    url = base.rstrip("/") + path + (f"?{'&'.join(query)}" if query else "")
    return Request(operation.method, url, headers, parts["cookie"], None if data is None else data.encode())


def _encoded(text: str) -> str:
    """A text as it may stand anywhere in a URL."""
    return quote(text, safe="")


def _plain(value: Any) -> str:
    """A single value as text.

    Raises:
        ValueError: It is not single.
    """
    if isinstance(value, list | dict):
        raise ValueError("lists and objects inside a list or object have no form here")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _members(place: Place, value: Any, write: Callable[[str], str] = _encoded) -> list[str]:
    """The members of a value: the elements of a list, the names and values of an object, itself."""
    if isinstance(value, dict):
        pairs = [(write(str(key)), write(_plain(inner))) for key, inner in value.items()]
        return [f"{key}={inner}" for key, inner in pairs] if place.explode else [one for pair in pairs for one in pair]
    return [write(_plain(one)) for one in (value if isinstance(value, list) else [value])]


def _segment(place: Place, value: Any) -> str:
    """A part of a path, which cannot lead out of its place."""
    if place.as_json:
        return _encoded(json.dumps(value, ensure_ascii=False))
    singles = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    for part in ",".join(map(_plain, singles)).replace("\\", "/").split("/"):
        if part in (".", "..") or not part.strip():
            raise ValueError
    members = _members(place, value)
    if place.style == "label":
        return "." + ("." if place.explode else ",").join(members)
    if place.style == "matrix":
        name = _encoded(place.name)
        if not place.explode:
            return f";{name}={','.join(members)}"
        return "".join(f";{one}" if isinstance(value, dict) else f";{name}={one}" for one in members)
    return ",".join(members)


def _pairs(place: Place, value: Any) -> list[str]:
    """name=value, as OpenAPI's style has it."""
    name = _encoded(place.name)
    if place.as_json:
        return [f"{name}={_encoded(json.dumps(value, ensure_ascii=False))}"]
    if place.style == "deepObject":
        if not isinstance(value, dict):
            raise ValueError("it must be an object")
        return [f"{name}%5B{_encoded(str(key))}%5D={_encoded(_plain(inner))}" for key, inner in value.items()]
    members = _members(place, value)
    if place.explode and isinstance(value, dict):
        if place.style != "form":
            raise ValueError("an object has no form here")
        return members
    if place.explode:
        return [f"{name}={one}" for one in members]
    mark = DELIMITERS.get(place.style, ",")
    if any(mark in one for one in members):
        raise ValueError(f"its parts cannot hold {unquote(mark)!r}, which stands between them")
    return [f"{name}={mark.join(members)}"]


def _line(place: Place, value: Any) -> str:
    """The value of a header or a cookie."""
    text = json.dumps(value) if place.as_json else ",".join(_members(place, value, write=str))
    if place.where == "cookie" and not COOKIE.fullmatch(text):
        raise ValueError("a cookie cannot hold it")
    if not text.isprintable() or not text.isascii():
        raise ValueError("a header may only hold printable ASCII characters")
    return text
