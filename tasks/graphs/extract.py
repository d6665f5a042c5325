"""An LLM reads triples out of documents; names are made the same throughout, and what is known already is left out."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import math
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any

from r_eval.llms.json_text import json_values
from r_eval.records import Document
from r_eval.tasks.graphs.documents import chunks
from r_eval.tasks.graphs.names import Names
from r_eval.tasks.graphs.store import Triple
from r_eval.tasks.graphs.tables import Row
from r_eval.tasks.llm_client import LLMClient, prompt
from r_eval.tasks.questions import folded

CHUNK = 3000
"""Characters of a document that are read at once."""
REPLY_TOKENS = 2000
"""What an LLM needs to list the facts of so long a text."""
LONGEST_NAME = 200
AT_ONCE = 256
"""Parts of documents that are worked on together."""
MOST_VALUES = 100
"""Triples that one object of a reply may hold in lists."""

KEYS = ("subject", "relation", "object")


@dataclasses.dataclass
class Extracted:
    """Triples, with their documents and raw names; and how many were dropped for which reason."""

    rows: list[Row] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


async def extract(
    documents: Iterable[tuple[str, Document]],
    speaker: LLMClient,
    names: Names | None = None,
    relations: Names | None = None,
    known: Iterable[Triple] = (),
) -> Extracted:
    """Triples of documents, in their order; each once a document.

    Args:
        documents: With their ids.
        names, relations: Reference lists; None leaves names as they are read.
        known: Facts that are no news, in the lists' names.

    Raises:
        UserError: The LLM failed.
    """
    parts = ((key, part) for key, document in documents for part in chunks(document.text, CHUNK))
    reader = _Reader(names, relations, known)
    while block := list(islice(parts, AT_ONCE)):
        replies = await asyncio.gather(*(speaker.complete(prompt("extract", text=part)) for _, part in block))
        for (key, _), reply in zip(block, replies, strict=True):
            reader.read(key, reply)
    return reader.found


class _Reader:
    """Takes the replies one after another."""

    def __init__(self, names: Names | None, relations: Names | None, known: Iterable[Triple]) -> None:
        self.found = Extracted()
        self._names, self._relations = names, relations
        self._known = {_same(triple) for triple in known}
        self._seen: set[tuple[str, Triple]] = set()

    def read(self, document: str, reply: str) -> None:
        for raw in triples_in(reply, self.found.dropped):
            triple = self._normalised(raw)
            same = _same(triple)
            if same[0] == same[2]:
                self.found.dropped["subject is object"] += 1
            elif same in self._known:
                self.found.dropped["known"] += 1
            elif (document, same) in self._seen:
                self.found.dropped["duplicate"] += 1
            else:
                self._seen.add((document, same))
                self.found.rows.append(Row(triple, document, raw))

    def _normalised(self, raw: Triple) -> Triple:
        subject, relation, object = raw
        if self._relations is not None:
            relation = self._relations.normalised(relation)
        if self._names is not None:
            subject, object = self._names.normalised(subject), self._names.normalised(object)
        return subject, relation, object


def _same(triple: Triple) -> Triple:
    """A triple as it is compared."""
    subject, relation, object = triple
    return folded(subject), folded(relation), folded(object)


def triples_in(reply: str, dropped: collections.Counter[str]) -> list[Triple]:
    """The triples in a reply: objects with the three keys, or lists of three; lists in them stand for their members.

    Args:
        dropped: Counts replies without any JSON, and what in them is no triple.
    """
    found = [found.value for found in json_values(reply)]
    if not found:
        dropped["reply without triples"] += 1
    return [triple for value in found for triple in _triples(value, dropped)]


def _triples(value: Any, dropped: collections.Counter[str]) -> Iterator[Triple]:
    if isinstance(value, list) and not _is_triple(value):
        for item in value:
            yield from _triples(item, dropped)
        return
    if isinstance(value, dict) and not any(key in value for key in KEYS) and value:
        for item in value.values():
            yield from _triples(item, dropped)
        return
    parts = [value.get(key) for key in KEYS] if isinstance(value, dict) else value if isinstance(value, list) else []
    sides = [_names(part) for part in parts]
    if len(sides) != len(KEYS) or not all(sides) or math.prod(map(len, sides)) > MOST_VALUES:
        dropped["broken triple"] += 1
        return
    subjects, relations, objects = sides
    yield from product(subjects, relations, objects)


def _is_triple(value: list[Any]) -> bool:
    return (
        len(value) == len(KEYS) and all(isinstance(part, str) for part in value[:2]) and not isinstance(value[2], dict)
    )


def _names(value: Any) -> list[str]:
    """The names that a value holds; none where one of them is no name."""
    parts = value if isinstance(value, list) else [value]
    names = [_name(part) for part in parts]
    return [name for name in names if name is not None] if None not in names else []


def _name(value: Any) -> str | None:
    """A text or number as a name: on one line, whole numbers without a fraction."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = " ".join(str(value).split())
    return text if text.isprintable() and 0 < len(text) <= LONGEST_NAME and text.casefold() != "nan" else None
