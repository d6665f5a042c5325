"""What an OpenAPI 3 document says: its operations, each with a spec and the place of every argument in the request."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import yaml

from r_eval.environments.jsonschemas import at_pointer, inlined, merged
from r_eval.environments.tools.declared import DeclaredSpec, declare
from r_eval.files import read_yaml

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
FORM = "application/x-www-form-urlencoded"
MOST_OPERATIONS = 128
"""As many tools as the LLM servers take."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an argument goes.

    Attributes:
        where: path, query, header, body (a property of it) or whole (it is the body).
        name: Its name there.
        style: How a list or dict is written, as OpenAPI names it.
        explode: Whether a list is written as one entry an element.
        as_json: Whether it is written as JSON text.
    """

    where: str
    name: str
    style: str = ""
    explode: bool = True
    as_json: bool = False


@dataclasses.dataclass(frozen=True)
class Operation:
    """One operation: a query API, and how its request is made."""

    spec: DeclaredSpec
    method: str
    path: str
    places: Mapping[str, Place]
    form: bool


def parse(text: str, source: str) -> dict[str, Any]:
    """An OpenAPI document in JSON or YAML.

    Raises:
        ValueError: It is none, or of another version.
    """
    try:
        document = json.loads(text) if text.lstrip().startswith("{") else read_yaml(text, _Loader)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{source} is neither JSON nor YAML: {error}") from None
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise ValueError(f"{source} is not an OpenAPI 3 document (there is no openapi: 3.x in it)")
    return document


class _Loader(yaml.SafeLoader):
    """Dates stay text, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def operations(
    document: Mapping[str, Any], patterns: Sequence[str] | None, given_headers: Sequence[str] = ()
) -> dict[str, Operation]:
    """The chosen operations, by the names of their query APIs.

    Args:
        patterns: operationIds, or `METHOD /path`, or globs of either; None for all.
        given_headers: Headers that every request has; they are no arguments.

    Raises:
        ValueError: A pattern fits nothing, there are too many, or one cannot be offered.
    """
    every = list(_listed(document))
    unused = [p for p in patterns or [] if not any(_fits(p, one) for one in every)]
    if unused:
        there = ", ".join(one[0] for one in every[:40])
        raise ValueError(f"no operation is named {unused[0]}; there are: {there or 'none'}")
    chosen = [one for one in every if patterns is None or any(_fits(p, one) for p in patterns)]
    if not chosen:
        raise ValueError("the document has no operations")
    if len(chosen) > MOST_OPERATIONS:
        raise ValueError(f"{len(chosen)} operations are too many for a model; choose some with operations:")
    hidden = {name.lower() for name in given_headers}
    found: dict[str, Operation] = {}
    for name, method, path, about, item in chosen:
        operation = _Reader(document, hidden).read(name, method, path, about, item, found)
        found[operation.spec.name] = operation
    return found


Listed = tuple[str, str, str, Mapping[str, Any], Mapping[str, Any]]


def _listed(document: Mapping[str, Any]) -> Iterator[Listed]:
    for path, entry in _mapping(document.get("paths")).items():
        item = _mapping(_resolved(document, entry))
        for method in METHODS:
            if isinstance(item.get(method), Mapping):
                yield str(item[method].get("operationId") or f"{method}{path}"), method, str(path), item[method], item


def _fits(pattern: str, one: Listed) -> bool:
    return fnmatchcase(one[0], pattern) or fnmatchcase(f"{one[1].upper()} {one[2]}", pattern)


class _Reader:
    """Reads one operation: collects its arguments as an object schema, and where each goes."""

    def __init__(self, document: Mapping[str, Any], hidden: set[str]) -> None:
        self.document, self.hidden = document, hidden
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.places: dict[str, Place] = {}
        self.form = False

    def read(
        self,
        name: str,
        method: str,
        path: str,
        about: Mapping[str, Any],
        item: Mapping[str, Any],
        taken: Mapping[str, Any],
    ) -> Operation:
        both = [*_list(item.get("parameters")), *_list(about.get("parameters"))]
        resolved = (_mapping(_resolved(self.document, one)) for one in both)
        parameters = {(str(one.get("in")), str(one.get("name"))): one for one in resolved}
        for (where, called), parameter in parameters.items():
            self._parameter(name, where, called, parameter)
        there = {place.name for place in self.places.values() if place.where == "path"}
        lost = set(re.findall(r"\{([^{}]+)\}", path)) - there
        if lost:
            raise ValueError(f"operation {name}: {path} has no parameter '{sorted(lost)[0]}'")
        self._body(name, _mapping(_resolved(self.document, about.get("requestBody"))))
        schema = {"type": "object", "properties": self.properties, "required": self.required}
        text = "\n\n".join(str(about[key]) for key in ("summary", "description") if about.get(key))
        spec = declare(name, text, schema, self._returns(about), taken)
        return Operation(spec, method, path, self.places, self.form)

    def _parameter(self, operation: str, where: str, name: str, about: Mapping[str, Any]) -> None:
        required = bool(about.get("required")) or where == "path"
        if where == "header" and name.lower() in self.hidden | {"accept", "content-type", "authorization"}:
            return
        if where not in ("path", "query", "header"):
            if required:
                raise ValueError(f"operation {operation} needs the {where} parameter '{name}', which cannot be given")
            return
        content = _mapping(about.get("content"))
        schema = _mapping(next(iter(content.values()))).get("schema") if content else about.get("schema")
        style = str(about.get("style") or ("form" if where == "query" else "simple"))
        explode = bool(about.get("explode", style == "form"))
        place = Place(where, name, style, explode, bool(content))
        self._argument(name, schema, place, required, about.get("description"))

    def _body(self, operation: str, about: Mapping[str, Any]) -> None:
        content = _mapping(about.get("content"))
        kind = next((k for k in content if is_json(k)), next((k for k in content if k.startswith(FORM)), None))
        needed = bool(about.get("required"))
        if kind is None:
            if content and needed:
                raise ValueError(f"operation {operation} needs a body of {', '.join(content)}; only JSON can be given")
            return
        self.form = not is_json(kind)
        schema = merged(modern(inlined(_mapping(content[kind]).get("schema") or {}, self.document)))
        properties = _mapping(schema.get("properties"))
        if not properties:
            self._argument("body", schema, Place("whole", "body"), needed, about.get("description"))
            return
        for name, inner in properties.items():
            if not inner.get("readOnly"):
                required = needed and name in _list(schema.get("required"))
                self._argument(str(name), inner, Place("body", str(name)), required, None)

    def _argument(self, name: str, schema: Any, place: Place, required: bool, description: Any) -> None:
        called = name if name not in self.places else f"{name}_{place.where}"
        about = modern(inlined(schema or {}, self.document))
        if description:
            about["description"] = str(description)
        self.properties[called] = about
        self.places[called] = place
        if required:
            self.required.append(called)

    def _returns(self, about: Mapping[str, Any]) -> dict[str, Any] | None:
        answers = {str(status): answer for status, answer in _mapping(about.get("responses")).items()}
        good = next((answers[status] for status in sorted(answers) if status.startswith("2")), answers.get("default"))
        content = _mapping(_mapping(_resolved(self.document, good)).get("content"))
        kind = next((k for k in content if is_json(k)), None)
        return modern(inlined(_mapping(content[kind]).get("schema") or {}, self.document)) if kind else None


def modern(schema: Any) -> Any:
    """A schema of OpenAPI 3.0, without references, as JSON Schema 2020-12 has it."""
    if isinstance(schema, list):
        return [modern(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {
        key: value if key in ("enum", "const", "default") else modern(value)
        for key, value in schema.items()
        if key not in ("example", "examples", "xml", "discriminator", "externalDocs", "nullable", "deprecated")
        or isinstance(value, Mapping)
    }
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and bound in made:
            made[exclusive] = made.pop(bound)
    if schema.get("nullable") is True:
        if isinstance(made.get("type"), str):
            made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
    return made


def _resolved(document: Mapping[str, Any], entry: Any) -> Any:
    for _ in range(20):
        if not (isinstance(entry, Mapping) and isinstance(entry.get("$ref"), str)):
            return entry
        entry = at_pointer(document, entry["$ref"])
    return None


def is_json(kind: str) -> bool:
    """Whether a media type is JSON, or any."""
    return re.fullmatch(r"(?i)\s*(application/([\w.-]+\+)?json|\*/\*)\s*(;.*)?", kind) is not None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
