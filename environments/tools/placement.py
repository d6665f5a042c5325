"""Where the arguments of an operation go in its request, and how they are written there.

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
from urllib.parse import quote

from r_eval.environments.base import ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools.operations import Operation, Place, is_json

DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|"}
COOKIE = re.compile(r"[!#-+\--:<-\[\]-~]*")


@dataclasses.dataclass
class Request:
    """A request.

    Attributes:
        base: The URL below which `path` is.
        query: Parameters, percent-encoded.
        form: Fields of a form, percent-encoded.
        withheld: (place, name) of the keys that it is sent without.
    """

    base: str
    path: str
    query: list[str] = dataclasses.field(default_factory=list)
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    cookies: dict[str, str] = dataclasses.field(default_factory=dict)
    body: Any = None
    form: list[str] | None = None
    kind: str = ""
    withheld: frozenset[tuple[str, str]] = frozenset()

    def content(self) -> bytes | None:
        """The body as it is sent."""
        if self.form is not None:
            return "&".join(self.form).encode()
        return None if self.body is None else json.dumps(self.body, ensure_ascii=False).encode()


def request_of(operation: Operation, arguments: Mapping[str, Any]) -> Request:
    """The request of a call.

    Args:
        arguments: By their declared names.

    Raises:
        ToolError: An argument cannot be sent where it has to go.
    """
    request = Request(operation.base, operation.path, kind=operation.body, withheld=operation.withheld)
    if operation.body and not is_json(operation.body):
        request.form = []
    elif any(place.where == "body" for place in operation.places.values()):
        request.body = {}
    for name, value in arguments.items():
        place = operation.places[name]
        try:
            _put(request, place, value)
        except ValueError as error:
            why = f": {error}" if str(error) else ""
            raise ToolError(f"{operation.spec.name}: argument '{name}' cannot be {clip(repr(value))}{why}.") from None
    return request


def _put(request: Request, place: Place, value: Any) -> None:
    """Put an argument in its place.

    Raises:
        ValueError: It cannot be there.
    """
    if place.where == "whole":
        request.body = value
    elif place.where == "body" and request.form is None:
        request.body[place.name] = value
    elif place.where == "path":
        request.path = request.path.replace("{" + place.name + "}", _segment(place, value))
    elif value is None:  # there is no way to write it, but to leave it out
        return
    elif place.where == "query":
        request.query += _pairs(place, value)
    elif place.where == "body" and request.form is not None:
        request.form += _pairs(place, value)
    elif place.where == "header":
        text = json.dumps(value) if place.as_json else ",".join(_members(place, value, write=str))
        if not text.isprintable() or not text.isascii():
            raise ValueError("a header may only hold printable ASCII characters")
        request.headers[place.name] = text
    else:
        text = json.dumps(value) if place.as_json else ",".join(_members(place, value, write=str))
        if not COOKIE.fullmatch(text):
            raise ValueError("a cookie cannot hold it")
        request.cookies[place.name] = text


def encode(text: str) -> str:
    """A text as it may stand anywhere in a URL."""
    return quote(text, safe="")


def _plain(value: Any) -> str:
    """A single value as text.

    Raises:
        ValueError: It is not single.
    """
    if isinstance(value, list | dict):
        raise ValueError("lists and objects inside a list or object have no form here")
    return value if isinstance(value, str) else json.dumps(value)


def _members(place: Place, value: Any, write: Callable[[str], str] = encode) -> list[str]:
    """The members of a value: the elements of a list, the names and values of an object, itself."""
    if isinstance(value, dict):
        pairs = [(write(str(key)), write(_plain(inner))) for key, inner in value.items()]
        return [f"{key}={inner}" for key, inner in pairs] if place.explode else [one for pair in pairs for one in pair]
    return [write(_plain(one)) for one in (value if isinstance(value, list) else [value])]


def _segment(place: Place, value: Any) -> str:
    """A part of a path, which cannot lead out of its place."""
    if place.as_json:
        return encode(json.dumps(value, ensure_ascii=False))
    singles = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    for part in ",".join(map(_plain, singles)).replace("\\", "/").split("/"):
        if part in (".", "..") or not part.strip():
            raise ValueError("")
    members = _members(place, value)
    if place.style == "label":
        return "." + ("." if place.explode else ",").join(members)
    if place.style == "matrix":
        name = encode(place.name)
        if not place.explode:
            return f";{name}={','.join(members)}"
        return "".join(f";{one}" if isinstance(value, dict) else f";{name}={one}" for one in members)
    return ",".join(members)


def _pairs(place: Place, value: Any) -> list[str]:
    """name=value, as OpenAPI's style has it."""
    name = encode(place.name)
    if place.as_json:
        return [f"{name}={encode(json.dumps(value, ensure_ascii=False))}"]
    if place.style == "deepObject":
        if not isinstance(value, dict):
            raise ValueError("it must be an object")
        return [f"{name}%5B{encode(str(key))}%5D={encode(_plain(inner))}" for key, inner in value.items()]
    if place.explode and isinstance(value, dict):
        if place.style != "form":
            raise ValueError("an object has no form here")
        return _members(place, value)
    members = _members(place, value)
    if place.explode:
        return [f"{name}={one}" for one in members]
    mark = DELIMITERS.get(place.style)
    if mark is None:
        return [f"{name}={','.join(members)}"]
    if any(encode(mark) in one for one in members):
        raise ValueError(f"its parts cannot hold {mark!r}, which stands between them")
    return [f"{name}={encode(mark).join(members)}"]
