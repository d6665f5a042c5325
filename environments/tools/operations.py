"""The operations of an OpenAPI document: the arguments of each, where every argument goes, and how it is written there.

Whatever a model writes as an argument stays an argument: it is percent-encoded, and a path segment that would lead
elsewhere is refused. Lists and objects are written as OpenAPI's styles have it; what no style can write is refused,
too.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import quote

from r_eval.environments.base import ToolError
from r_eval.environments.jsonschemas import ALTERNATIVES, inlined, merged
from r_eval.environments.schema import clip
from r_eval.environments.tools.openapi_document import address_of, is_json, mapping, resolved, sequence

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
READING = frozenset({"get", "head", "options", "trace"})
STYLES = {
    "path": ("simple",),
    "query": ("form", "deepObject", "pipeDelimited", "spaceDelimited"),
    "header": ("simple",),
}
"""The styles in which arguments are written, the default of each place first."""
SEPARATORS = {"pipeDelimited": "%7C", "spaceDelimited": "%20"}
"""What stands between the elements of a list, by style, where that is no comma."""
NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
"""Headers of which OpenAPI says that a parameter of this name is ignored."""

Keys = Mapping[tuple[str, str], str]
"""What is sent with every request and is no argument, by its place (header or query) and name."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an argument goes.

    Attributes:
        where: path, query, header, body (a property of it) or whole (it is the body).
        name: Its name there.
        style: How a list or dict is written, as OpenAPI names it.
        explode: Whether each element of a list or dict is an entry of its own.
        as_json: Whether it is written as JSON text.
    """

    where: str
    name: str
    style: str = "form"
    explode: bool = True
    as_json: bool = False


class HttpRequest(NamedTuple):
    """A request; its URL is percent-encoded."""

    method: str
    url: str
    headers: Mapping[str, str] = {}
    data: bytes | None = None


def key_place(where: str, name: str) -> tuple[str, str]:
    """A place and a name as `Keys` have them: names of headers in lower case."""
    return where, name.lower() if where == "header" else name


def choose_operations(
    document: Mapping[str, Any], patterns: Sequence[str] | None, keys: Keys, source: str
) -> list[Operation]:
    """The chosen operations of a document.

    Args:
        patterns: operationIds, or `METHOD /path`, or globs of either; None for all.
        source: The document's URL; "" for a file.

    Raises:
        ValueError: A pattern fits nothing, or there are no operations.
    """
    every = []
    for path, entry in mapping(document.get("paths")).items():
        item = resolved(document, entry) or mapping(entry)
        methods = [method for method in METHODS if isinstance(item.get(method), Mapping)] or [""] * ("$ref" in item)
        every += [Operation(document, str(path), item, method, keys, source) for method in methods]
    for pattern in patterns or []:
        if not any(one.fits(pattern) for one in every):
            there = ", ".join(one.name for one in every[:40])
            raise ValueError(f"no operation is named {pattern}; there are: {there or 'none'}")
    if not every:
        raise ValueError("the document has no operations")
    return [one for one in every if patterns is None or any(map(one.fits, patterns))]


class Operation:
    """One operation; `read` finds its arguments.

    Args:
        method: The key in `item`; "" where nothing is known of it, since the item itself is not in the document.

    Attributes:
        base: The URL below which its path is.
        places: Where each argument goes.
        body: The media type of its body; "" where it has none.
    """

    def __init__(
        self, document: Mapping[str, Any], path: str, item: Mapping[str, Any], method: str, keys: Keys, source: str
    ) -> None:
        about = resolved(document, item.get(method))
        self._lost = "" if about else mapping(item.get(method, item)).get("$ref", "")
        self.method, self.path = method, path
        self.name = str(about.get("operationId") or f"{method}{path}")
        self.base = address_of([about, item, document], source)
        self.places: dict[str, Place] = {}
        self.body = ""
        self._document, self._item, self._about, self._keys = document, item, about, keys
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._notes: list[str] = []

    def fits(self, pattern: str) -> bool:
        """Whether a glob names it."""
        return fnmatchcase(self.name, pattern) or fnmatchcase(f"{self.method.upper()} {self.path}", pattern)

    def read(self, notes: list[str]) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
        """Its description, its arguments as an object schema, and the schema of its result.

        Raises:
            ValueError: It cannot be offered.
        """
        if self._lost:
            raise ValueError(f"{self._lost} is not in the document")
        self._notes = notes
        both = [*sequence(self._item.get("parameters")), *sequence(self._about.get("parameters"))]
        parameters = [one for one in (self._resolved("parameter", one) for one in both) if one]
        for (where, name), parameter in {(str(one.get("in")), str(one.get("name"))): one for one in parameters}.items():
            self._read_parameter(where, name, parameter)
        there = {place.name for place in self.places.values() if place.where == "path"}
        if lost := set(re.findall(r"\{([^{}]+)\}", self.path)) - there:
            raise ValueError(f"{self.path} has no parameter '{min(lost)}'")
        self._read_body(self._resolved("body", self._about.get("requestBody")))
        text = "\n\n".join(str(self._about[key]) for key in ("summary", "description") if self._about.get(key))
        schema = {"type": "object", "properties": self._properties, "required": self._required}
        return text or f"{self.method.upper()} {self.path}", schema, self._returns()

    def _resolved(self, what: str, entry: Any) -> Mapping[str, Any]:
        found = resolved(self._document, entry)
        if not found and "$ref" in mapping(entry):
            self._notes.append(f"its {what} {str(entry['$ref'])[:80]} is not in the document")
        return found

    def _read_parameter(self, where: str, name: str, about: Mapping[str, Any]) -> None:
        if key_place(where, name) in self._keys or (where == "header" and name.lower() in NOT_PARAMETERS):
            return
        is_required = about.get("required") is True or where == "path"
        styles, content = STYLES.get(where, ("",)), mapping(about.get("content"))
        style, kind = str(about.get("style") or styles[0]), next(iter(content), "")
        problem = ""
        if where not in STYLES:
            problem = f"its parameter '{name}' is in '{where[:40]}', which cannot be sent"
        elif style not in styles:
            problem = f"the style '{style[:40]}' of its {where} parameter '{name}' cannot be written"
        elif content and not is_json(kind):
            problem = f"its parameter '{name}' is of the type {kind}; only JSON can be sent"
        if problem and is_required:
            raise ValueError(problem)
        if problem:
            self._notes.append(problem)
            return
        schema = mapping(content[kind]).get("schema") if content else about.get("schema")
        place = Place(where, name, style, about.get("explode", style == "form") is True, bool(content))
        self._add(name, schema, place, is_required, about)

    def _read_body(self, about: Mapping[str, Any]) -> None:
        content = mapping(about.get("content"))
        is_needed = about.get("required") is True
        self.body = next(filter(is_json, content), "")
        if not self.body:
            types = ", ".join(content)[:80]
            if content and is_needed:
                raise ValueError(f"it needs a body of the type {types}; only JSON can be sent")
            if content:
                self._notes.append(f"its optional body of the type {types} cannot be sent")
            return
        schema = merged(inlined(mapping(content[self.body]).get("schema") or {}, self._document, self._notes))
        properties = mapping(schema.get("properties"))
        if not properties or any(schema.get(key) for key in ALTERNATIVES):
            self._add("body", schema, Place("whole", "body"), is_needed, about)
            return
        for name, inner in properties.items():
            if not inner.get("readOnly"):
                needed = is_needed and name in sequence(schema.get("required"))
                self._add(str(name), inner, Place("body", str(name)), needed, {})

    def _add(self, name: str, schema: Any, place: Place, is_required: bool, about: Mapping[str, Any]) -> None:
        called = name if name not in self.places else f"{name}_{place.where}"
        inner = inlined(schema or {}, self._document, self._notes)
        if about.get("description"):
            inner["description"] = str(about["description"])
        self._properties[called], self.places[called] = inner, place
        if is_required:
            self._required.append(called)

    def _returns(self) -> dict[str, Any] | None:
        answers = mapping(self._about.get("responses"))
        good = next((answers[status] for status in sorted(answers) if status.startswith("2")), answers.get("default"))
        content = mapping(resolved(self._document, good).get("content"))
        kind = next(filter(is_json, content), None)
        try:
            return inlined(mapping(content[kind]).get("schema") or {}, self._document) if kind else None
        except ValueError:  # too large to be shown
            return None

    def request(self, base: str, keys: Keys, arguments: Mapping[str, Any]) -> HttpRequest:
        """The request of a call.

        Args:
            base: The URL below which its path is.
            arguments: By their declared names.

        Raises:
            ToolError: An argument cannot be sent where it has to go.
        """
        path, query = "/" + self.path.partition("#")[0].lstrip("/"), []
        sent: dict[str, dict[str, Any]] = {"header": {}, "body": {}, "whole": {}}
        for name, value in arguments.items():
            place = self.places[name]
            if place.as_json:
                value = json.dumps(value, ensure_ascii=place.where == "header")
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
                raise ToolError(f"{self.name}: argument '{name}' cannot be {clip(repr(value))}{why}.") from None
        headers = {name: key for (where, name), key in keys.items() if where == "header"} | sent["header"]
        query += [f"{_encoded(name)}={_encoded(key)}" for (where, name), key in keys.items() if where == "query"]
        data = None
        if sent["whole"] or any(place.where == "body" for place in self.places.values()):
            data = json.dumps(sent["whole"].get("body", sent["body"]), ensure_ascii=False).encode()
            headers["Content-Type"] = "application/json" if self.body == "*/*" else self.body
        base, _, fixed = base.partition("#")[0].partition("?")
        path, _, own = path.partition("?")
        pairs = "&".join(filter(None, [fixed, own, *query]))
        url = base.rstrip("/") + path + "?" * bool(pairs) + pairs
        return HttpRequest(self.method, url, headers, data)


def _encoded(text: str) -> str:
    """A text percent-encoded for any place in a URL."""
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
    singles = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    for part in ",".join(map(_plain, singles)).replace("\\", "/").split("/"):
        if part in (".", "..") or not part.strip():
            raise ValueError
    return ",".join(_members(place, value))


def _pairs(place: Place, value: Any) -> list[str]:
    """name=value, as OpenAPI's style has it."""
    name = _encoded(place.name)
    if place.style == "deepObject":
        return _deep(name, value)
    members = _members(place, value)
    if place.explode:
        return members if isinstance(value, dict) else [f"{name}={one}" for one in members]
    return [f"{name}={SEPARATORS.get(place.style, ',').join(members)}"]


def _deep(name: str, value: Any) -> list[str]:
    """name[key]=value, to any depth. OpenAPI leaves lists and depth open: this is what Stripe, PHP, Rails and qs read,
    name[]=value for the elements of a list, or where some of these are no single values name[0]...=value.
    """
    if isinstance(value, list):
        is_flat = not any(isinstance(one, list | dict) for one in value)
        members = [("" if is_flat else str(number), one) for number, one in enumerate(value)]
    elif isinstance(value, dict):
        members = [(str(key), inner) for key, inner in value.items() if inner is not None]
    else:
        return [f"{name}={_encoded(_plain(value))}"]
    return [pair for key, inner in members for pair in _deep(f"{name}%5B{_encoded(key)}%5D", inner)]


def _line(place: Place, value: Any) -> str:
    """The value of a header."""
    text = ",".join(_members(place, value, write=str))
    if not text.isprintable() or not text.isascii():
        raise ValueError("a header may only hold printable ASCII characters")
    return text
