"""Reads a CirrusSearch dump, as https://dumps.wikimedia.org/other/cirrussearch/ has of every wiki: JSON, two lines a
page, the index's and the document's.

Its texts are what MediaWiki itself made of the wikitext. They have lost their paragraphs, so that long ones are parted
between sentences. How many pages link to a page is its popularity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from r_eval.environments.dumps import Dump

from ..snapshot import Choice
from ..sources import html
from .json_lines import objects
from .records import MOST_CHOICES, Broken, Disambiguation, Record, line, made, pieces, popularity, title, titles

_LEAD = 1500
_PARAGRAPH = 600
"""Characters."""
_TEMPLATE = re.compile(r".*:(?:disambig(?:uation)?|dab|hndis|geodis|begriffsklärung|homonymie)", re.IGNORECASE)
_CATEGORY = re.compile(r"(?:.*\s)?disambiguation(?:s|\s(?:name\s)?pages)", re.IGNORECASE)


def read(dump: Dump) -> Iterator[Record]:
    """The records, in order; pages of other namespaces count as broken."""
    for found in objects(dump):
        if found is None:
            yield Broken("not a JSON object in one line")
        elif "index" not in found or "title" in found:
            yield _record(found)


def _record(found: dict[str, Any]) -> Record:
    if found.get("namespace", 0) != 0:
        return Broken("of another namespace than the articles'")
    name = title(found.get("title"))
    redirects = titles([item for item in _list(found, "redirect") if not _elsewhere(item)])
    text, opening = _text(found, "text"), _text(found, "opening_text")
    if name and _is_ambiguous(found, opening or text[:500]):
        choices = tuple(Choice(link, "") for link in titles(_list(found, "outgoing_link"))[:MOST_CHOICES])
        if choices:
            return Disambiguation(name, choices, redirects)
    paragraphs = pieces(opening, _LEAD) + pieces(text.removeprefix(opening), _PARAGRAPH)
    return made(name, paragraphs, redirects, popularity(found.get("incoming_links")), line(found.get("description")))


def _is_ambiguous(found: dict[str, Any], opening: str) -> bool:
    return (
        any(_TEMPLATE.fullmatch(name) for name in _list(found, "template") if isinstance(name, str))
        or any(_CATEGORY.fullmatch(name) for name in _list(found, "category") if isinstance(name, str))
        or html.begins_ambiguous(line(opening))
    )


def _elsewhere(redirect: Any) -> bool:
    return isinstance(redirect, dict) and redirect.get("namespace", 0) != 0


def _list(found: dict[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    return value.strip() if isinstance(value, str) else ""
