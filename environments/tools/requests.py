"""The request of an operation: where its arguments go, and how they are written there.

Whatever a model writes as an argument stays an argument: it is percent-encoded, and a path segment that would lead
elsewhere is refused. Lists and objects are written as OpenAPI's styles have it; what no style can write is refused,
too.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from r_eval.environments.base import ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools.operations import Keys, Operation, Place

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
    path, query = operation.path, []
    sent: dict[str, dict[str, Any]] = {"header": {}, "cookie": {}, "body": {}, "whole": {}}
    for name, value in arguments.items():
        place = operation.places[name]
        try:
            if place.where == "path":
                path = path.replace("{" + place.name + "}", _segment(place, value))
            elif place.where in ("body", "whole"):
                sent[place.where][place.name] = value
            elif value is None:  # there is no way to write it, but to leave it out
                continue
            elif place.where == "query":
                query += _pairs(place, value)
            else:
                sent[place.where][place.name] = _line(place, value)
        except ValueError as error:
            why = f": {error}" if str(error) else ""
            raise ToolError(f"{operation.name}: argument '{name}' cannot be {clip(repr(value))}{why}.") from None
    headers = {name: key for (where, name), key in keys.items() if where == "header"} | sent["header"]
    query += [f"{_encoded(name)}={_encoded(key)}" for (where, name), key in keys.items() if where == "query"]
    data = None
    if sent["whole"] or any(place.where == "body" for place in operation.places.values()):
        data = json.dumps(sent["whole"].get("body", sent["body"]), ensure_ascii=False).encode()
        headers["Content-Type"] = "application/json" if operation.body == "*/*" else operation.body
    url = base.rstrip("/") + path + (f"?{'&'.join(query)}" if query else "")
    return Request(operation.method, url, headers, sent["cookie"], data)


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
    return ",".join(_members(place, value))


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
    if place.explode:
        return members if isinstance(value, dict) else [f"{name}={one}" for one in members]
    return [f"{name}={','.join(members)}"]


def _line(place: Place, value: Any) -> str:
    """The value of a header or a cookie."""
    text = json.dumps(value) if place.as_json else ",".join(_members(place, value, write=str))
    if place.where == "cookie" and not COOKIE.fullmatch(text):
        raise ValueError("a cookie cannot hold it")
    if not text.isprintable() or not text.isascii():
        raise ValueError("a header may only hold printable ASCII characters")
    return text
