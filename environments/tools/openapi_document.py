"""OpenAPI 3 documents: how their YAML and JSON are read, their references and the addresses of servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin

import yaml

from r_eval.environments.jsonschemas import at_reference
from r_eval.files import read_yaml

MOST_REFERENCES = 20
"""How often a reference may lead to another one."""


class _Written:
    """A number that remembers how it was written, for where it means text: `012`, `1.10`."""

    text: str

    def __new__(cls, text: str) -> _Written:
        made = super().__new__(cls, text)  # type: ignore[call-arg]
        made.text = str(text)
        return made

    def __str__(self) -> str:
        return self.text


class _Int(_Written, int): ...


class _Float(_Written, float): ...


class _JSONLoader(yaml.SafeLoader):
    """YAML as JSON reads it: dates, `no`, `on` and `12:30` are text, and so are all keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors = dict(yaml.SafeLoader.yaml_constructors)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        return {str(key): value for key, value in super().construct_mapping(node, deep).items()}


for _tag, _pattern in (
    ("merge", "^<<$"),
    ("null", "^(~|null|Null|NULL|)$"),
    ("bool", "^(true|True|TRUE|false|False|FALSE)$"),
    ("int", "^[-+]?[0-9]+$"),
    ("float", r"^[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?$"),
):
    _JSONLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), None)
_JSONLoader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: _Int(str(node.value)))
_JSONLoader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: _Float(str(node.value)))


def parse(text: str, source: str) -> dict[str, Any]:
    """An OpenAPI document in JSON or YAML, with texts as all keys.

    Raises:
        ValueError: It is none, or of another version.
    """
    try:
        if text.lstrip("\ufeff \t\r\n").startswith("{"):
            document = json.loads(text.lstrip("\ufeff"), parse_int=_Int, parse_float=_Float)
        else:
            document = read_yaml(text, _JSONLoader)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{source} is neither JSON nor YAML: {error}") from None
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        is_old = isinstance(document, dict) and "swagger" in document
        why = f"it is Swagger {document['swagger']}: convert it" if is_old else "there is no openapi: 3.x in it"
        raise ValueError(f"{source} is not an OpenAPI 3 document ({why})")
    return document


def resolved(document: Mapping[str, Any], entry: Any) -> Mapping[str, Any]:
    """An entry of a document, or what it refers to; {} where that is no object."""
    for _ in range(MOST_REFERENCES):
        if not (isinstance(entry, Mapping) and isinstance(entry.get("$ref"), str)):
            return mapping(entry)
        entry = at_reference(document, entry["$ref"])
    return {}


def address_of(levels: Sequence[Mapping[str, Any]], source: str) -> str:
    """The address of an API: that of the first server of the first level that has one, its variables replaced by their
    defaults.

    Args:
        source: The document's URL, to which an address may be relative; "" for a file.
    """
    servers = next((one for level in levels if (one := sequence(level.get("servers")))), [])
    first = mapping(servers[0]) if servers else {}
    variables = mapping(first.get("variables"))

    def default(match: re.Match[str]) -> str:
        return str(mapping(variables.get(match.group(1))).get("default", ""))

    url = re.sub(r"\{([^{}]+)\}", default, str(first.get("url") or "/"))
    return urljoin(source, url) if source else url


def is_json(kind: str) -> bool:
    """Whether a media type is JSON, or any."""
    plain = kind.partition(";")[0].strip().lower()
    return plain in ("application/json", "*/*") or (plain.startswith("application/") and plain.endswith("+json"))


def mapping(value: Any) -> Mapping[str, Any]:
    """A value if it is an object, else {}."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> list[Any]:
    """A value if it is a list, else []."""
    return value if isinstance(value, list) else []
