"""Reads JSON Lines of pages: one object a line, with `title` and `text`.

`text` is a text, a list of sentences (one paragraph), or a list of lists of sentences, as in HotpotQA's Wikipedia;
`redirects` (titles), `description` (what the page is, in a few words) and `popularity` (a number) may be there. An
object with `choices`, titles or objects of `title` and `description`, is a disambiguation page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from r_eval.environments.dumps import Dump

from ..snapshot import Choice
from .records import MOST_CHOICES, Broken, Disambiguation, Record, blocks, line, made, popularity, title, titles

_LINK = re.compile(r"</?a\b[^>]*>")


def objects(dump: Dump) -> Iterator[dict[str, Any] | None]:
    """The objects of the lines; None for a line that holds none."""
    for text in dump.lines():
        try:
            found = None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            found = None
        yield found if isinstance(found, dict) else None


def read(dump: Dump) -> Iterator[Record]:
    """The records, in order."""
    for found in objects(dump):
        yield Broken("not a JSON object in one line") if found is None else _record(found)


def _record(found: dict[str, Any]) -> Record:
    name, redirects = title(found.get("title")), titles(found.get("redirects"))
    offered = found.get("choices")
    if isinstance(offered, list) and offered and name:
        return Disambiguation(name, tuple(map(_choice, offered[:MOST_CHOICES])), redirects)
    about = line(found.get("description"))
    return made(name, _paragraphs(found.get("text")), redirects, popularity(found.get("popularity")), about)


def _choice(item: Any) -> Choice:
    if isinstance(item, dict):
        return Choice(title(item.get("title")), line(item.get("description")))
    return Choice(title(item), "")


def _paragraphs(value: Any) -> list[str]:
    if isinstance(value, str):
        return blocks(value)
    if not isinstance(value, list):
        return []
    if all(isinstance(item, str) for item in value):
        value = [value]
    return [_joined(item) for item in value if isinstance(item, list)]


def _joined(sentences: list[Any]) -> str:
    """Sentences as a paragraph; HotpotQA's begin with the space that parts them, and may hold links as HTML."""
    return line(_LINK.sub("", " ".join(text for text in sentences if isinstance(text, str))))
