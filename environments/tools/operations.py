"""What an OpenAPI 3 document says: its operations, each with a spec and the place of every argument in the request."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urljoin

import yaml

from r_eval.environments.jsonschemas import at_pointer, inlined, merged
from r_eval.environments.tools.base import MOST_TOOLS, Offer, too_many
from r_eval.environments.tools.declared import DeclaredSpec, declare
from r_eval.files import read_yaml

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
READING = frozenset({"get", "head", "options", "trace"})
FORM = "application/x-www-form-urlencoded"
STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles that each place knows, the default first."""
NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
"""Headers of which OpenAPI says that a parameter of this name is ignored."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an argument goes.

    Attributes:
        where: path, query, header, cookie, body (a property of it) or whole (it is the body).
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


@dataclasses.dataclass(frozen=True)
class Keys:
    """What is sent with every request that does not refuse it.

    Attributes:
        headers: Names of headers, in lower case.
        query: Names of query parameters.
    """

    headers: frozenset[str] = frozenset()
    query: frozenset[str] = frozenset()

    def has(self, where: str, name: str) -> bool:
        return name in self.query if where == "query" else where == "header" and name.lower() in self.headers


@dataclasses.dataclass(frozen=True)
class Operation:
    """One operation: a query API, and how its request is made.

    Attributes:
        base: The URL below which its path is.
        body: The media type of its body; "" where it has none.
        withheld: (place, name) of the keys that its security does not want.
    """

    spec: DeclaredSpec
    method: str
    base: str
    path: str
    places: Mapping[str, Place]
    body: str
    withheld: frozenset[tuple[str, str]]


class _Int(int):
    """A number that remembers how it was written, for where it stands for text: `012`."""

    text: str

    def __new__(cls, text: str) -> _Int:
        made = super().__new__(cls, text)
        made.text = str(text)
        return made

    def __str__(self) -> str:
        return self.text


class _Float(float):
    """The same for numbers such as `1.10`."""

    text: str

    def __new__(cls, text: str) -> _Float:
        made = super().__new__(cls, text)
        made.text = str(text)
        return made

    def __str__(self) -> str:
        return self.text


class _Loader(yaml.SafeLoader):
    """YAML as JSON reads it: dates, `no`, `on` and `12:30` are text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors = dict(yaml.SafeLoader.yaml_constructors)


_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile("^<<$"), ["<"])
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("^[-+]?[0-9]+$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: _Int(str(node.value)))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: _Float(str(node.value)))


def parse(text: str, source: str) -> dict[str, Any]:
    """An OpenAPI document in JSON or YAML, with texts as all keys.

    Raises:
        ValueError: It is none, or of another version.
    """
    try:
        if text.lstrip("\ufeff \t\r\n").startswith("{"):
            document = json.loads(text.lstrip("\ufeff"), parse_int=_Int, parse_float=_Float)
        else:
            document = _with_text_keys(read_yaml(text, _Loader))
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{source} is neither JSON nor YAML: {error}") from None
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise ValueError(f"{source} is not an OpenAPI 3 document (there is no openapi: 3.x in it)")
    return document


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _with_text_keys(inner) for key, inner in value.items()}
    return [_with_text_keys(inner) for inner in value] if isinstance(value, list) else value


def operations(
    document: Mapping[str, Any],
    patterns: Sequence[str] | None,
    base: str | None,
    source: str,
    keys: Keys,
    offer: Offer,
) -> dict[str, Operation]:
    """The chosen operations, by the names of their query APIs.

    Args:
        patterns: operationIds, or `METHOD /path`, or globs of either; None for all.
        base: The API's address, in place of the document's.
        source: The document's URL, to which addresses in it are relative; "" for a file.
        keys: What is sent besides the arguments.
        offer: Receives those that can be offered, and the reasons of those that cannot.

    Raises:
        ValueError: A pattern fits nothing, or there are no operations, or too many.
    """
    every = list(_listed(document))
    unused = [p for p in patterns or [] if not any(_fits(p, one) for one in every)]
    if unused:
        there = ", ".join(one.name for one in every[:40])
        raise ValueError(f"no operation is named {unused[0]}; there are: {there or 'none'}")
    chosen = [one for one in every if patterns is None or any(_fits(p, one) for p in patterns)]
    if not chosen:
        raise ValueError("the document has no operations")
    if len(chosen) > MOST_TOOLS:
        raise too_many(len(chosen), "operations")
    found: dict[str, Operation] = {}
    for listed in chosen:
        reader = _Reader(document, listed, keys)
        spec = offer.add(listed.name, listed.method in READING, lambda notes, r=reader: r.spec(offer.specs, notes))  # type: ignore[misc]
        if spec:
            address = base or address_of([listed.about, listed.item, document], source)
            path, withheld = listed.path, frozenset(reader.withheld)
            found[spec.name] = Operation(spec, listed.method, address, path, reader.places, reader.body, withheld)
    return found


def address_of(levels: Sequence[Mapping[str, Any]], source: str) -> str:
    """The address of an API: that of the first server of the first level that has one, its variables replaced by their
    defaults.
    """
    servers = next((one for level in levels if (one := _list(level.get("servers")))), [])
    first = _mapping(servers[0]) if servers else {}
    variables = _mapping(first.get("variables"))

    def default(match: re.Match[str]) -> str:
        return str(_mapping(variables.get(match.group(1))).get("default", ""))

    url = re.sub(r"\{([^{}]+)\}", default, str(first.get("url") or "/"))
    return urljoin(source, url) if source else url


@dataclasses.dataclass(frozen=True)
class _Listed:
    name: str
    method: str
    path: str
    about: Mapping[str, Any]
    item: Mapping[str, Any]


def _listed(document: Mapping[str, Any]) -> Iterator[_Listed]:
    for path, entry in _mapping(document.get("paths")).items():
        item = _mapping(_resolved(document, entry))
        for method in METHODS:
            if isinstance(item.get(method), Mapping):
                name = str(item[method].get("operationId") or f"{method}{path}")
                yield _Listed(name, method, str(path), item[method], item)


def _fits(pattern: str, one: _Listed) -> bool:
    return fnmatchcase(one.name, pattern) or fnmatchcase(f"{one.method.upper()} {one.path}", pattern)


class _Reader:
    """Reads one operation: collects its arguments as an object schema, and where each goes."""

    def __init__(self, document: Mapping[str, Any], listed: _Listed, keys: Keys) -> None:
        self.document, self.listed, self.keys = document, listed, keys
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.places: dict[str, Place] = {}
        self.body = ""
        self.withheld: set[tuple[str, str]] = set()
        self.notes: list[str] = []

    def spec(self, taken: Collection[str], notes: list[str]) -> DeclaredSpec:
        """The operation's spec.

        Raises:
            ValueError: It cannot be offered.
        """
        self.notes = notes
        path, about = self.listed.path, self.listed.about
        self._security()
        both = [*_list(self.listed.item.get("parameters")), *_list(about.get("parameters"))]
        resolved = (_mapping(_resolved(self.document, one)) for one in both)
        parameters = {(str(one.get("in")), str(one.get("name"))): one for one in resolved if one}
        for (where, name), parameter in parameters.items():
            self._parameter(where, name, parameter)
        there = {place.name for place in self.places.values() if place.where == "path"}
        lost = set(re.findall(r"\{([^{}]+)\}", path)) - there
        if lost:
            raise ValueError(f"{path} has no parameter '{sorted(lost)[0]}'")
        self._body(_mapping(_resolved(self.document, about.get("requestBody"))))
        schema = {"type": "object", "properties": self.properties, "required": self.required}
        text = "\n\n".join(str(about[key]) for key in ("summary", "description") if about.get(key))
        return declare(self.listed.name, text, schema, self._returns(), taken, notes)

    def _security(self) -> None:
        """Find the keys that the operation wants; the others that belong to a security scheme are not sent to it."""
        declared = self.listed.about.get("security", self.document.get("security"))
        if not isinstance(declared, list):
            return
        schemes = _mapping(_mapping(self.document.get("components")).get("securitySchemes"))
        places = {name: _place_of_key(_mapping(_resolved(self.document, one))) for name, one in schemes.items()}
        ways = [{places[name] for name in _mapping(one) if name in places} for one in declared] or [set()]
        open_ways = [way for way in ways if all(self.keys.has(*place) for place in way)]
        if not open_ways:
            wanted = " and ".join(f"the {where} '{name}'" for where, name in sorted(ways[0]))
            raise ValueError(f"it needs {wanted} for its security; give it with headers_env: or query_env:")
        self.withheld = {(where, name.lower() if where == "header" else name) for where, name in places.values()}
        self.withheld -= {(w, n.lower() if w == "header" else n) for w, n in max(open_ways, key=len)}

    def _parameter(self, where: str, name: str, about: Mapping[str, Any]) -> None:
        required = about.get("required") is True or where == "path"
        if self.keys.has(where, name) or (where == "header" and name.lower() in NOT_PARAMETERS):
            return
        if where not in STYLES:
            raise ValueError(f"its parameter '{name}' is in '{where[:40]}', which is not known")
        content = _mapping(about.get("content"))
        if content and not is_json(next(iter(content))):
            raise ValueError(f"its parameter '{name}' is of the type {next(iter(content))}; only JSON can be sent")
        schema = _mapping(next(iter(content.values()))).get("schema") if content else about.get("schema")
        style = str(about.get("style") or STYLES[where][0])
        if style not in STYLES[where]:
            raise ValueError(f"the style '{style[:40]}' of its {where} parameter '{name}' is not known")
        explode = about.get("explode", style == "form") is True
        self._argument(name, schema, Place(where, name, style, explode, bool(content)), required, about)

    def _body(self, about: Mapping[str, Any]) -> None:
        content = _mapping(about.get("content"))
        needed = about.get("required") is True
        self.body = next((k for k in content if is_json(k)), next((k for k in content if k.startswith(FORM)), ""))
        if not self.body:
            types = ", ".join(content)[:80]
            if content and needed:
                raise ValueError(f"it needs a body of the type {types}; only JSON and forms can be sent")
            if content:
                self.notes.append(f"its optional body of the type {types} cannot be sent")
            return
        media = _mapping(content[self.body])
        schema = merged(inlined(media.get("schema") or {}, self.document, self.notes))
        properties = _mapping(schema.get("properties"))
        if not properties or schema.get("anyOf") or schema.get("oneOf"):
            if not is_json(self.body):
                raise ValueError("the fields of its form are not named")
            self._argument("body", schema, Place("whole", "body"), needed, about)
            return
        for name, inner in properties.items():
            if not inner.get("readOnly"):
                required = needed and name in _list(schema.get("required"))
                place = self._field(name, inner, _mapping(_mapping(media.get("encoding")).get(name)))
                self._argument(str(name), inner, place, required, {})

    def _field(self, name: str, schema: Mapping[str, Any], encoding: Mapping[str, Any]) -> Place:
        """The place of a body's property; in a form, objects are JSON unless its encoding names a style."""
        style = str(encoding.get("style") or "form")
        if style not in STYLES["query"]:
            raise ValueError(f"the style '{style[:40]}' of its form's field '{name}' is not known")
        explode = encoding.get("explode", style == "form") is True
        kinds = (schema.get("type"), _mapping(schema.get("items")).get("type"))
        as_json = is_json(str(encoding.get("contentType", ""))) or ("object" in kinds and "style" not in encoding)
        return Place("body", str(name), style, explode, as_json)

    def _argument(self, name: str, schema: Any, place: Place, required: bool, about: Mapping[str, Any]) -> None:
        called = name if name not in self.places else f"{name}_{place.where}"
        inner = inlined(schema or {}, self.document, self.notes)
        if about.get("description"):
            inner["description"] = str(about["description"])
        self.properties[called] = inner
        self.places[called] = place
        if required:
            self.required.append(called)

    def _returns(self) -> dict[str, Any] | None:
        answers = _mapping(self.listed.about.get("responses"))
        good = next((answers[status] for status in sorted(answers) if status.startswith("2")), answers.get("default"))
        content = _mapping(_mapping(_resolved(self.document, good)).get("content"))
        kind = next((k for k in content if is_json(k)), None)
        try:
            return inlined(_mapping(content[kind]).get("schema") or {}, self.document) if kind else None
        except ValueError:  # too large to be shown
            return None


def _place_of_key(scheme: Mapping[str, Any]) -> tuple[str, str]:
    """Where a security scheme wants its key: place and name."""
    if scheme.get("type") == "apiKey":
        return str(scheme.get("in")), str(scheme.get("name"))
    return ("certificate", "mutualTLS") if scheme.get("type") == "mutualTLS" else ("header", "Authorization")


def _resolved(document: Mapping[str, Any], entry: Any) -> Any:
    for _ in range(20):
        if not (isinstance(entry, Mapping) and isinstance(entry.get("$ref"), str)):
            return entry
        entry = at_pointer(document, entry["$ref"])
    return None


def is_json(kind: str) -> bool:
    """Whether a media type is JSON, or any."""
    plain = kind.partition(";")[0].strip().lower()
    return plain in ("application/json", "*/*") or (plain.startswith("application/") and plain.endswith("+json"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
