"""Extracts triples from documents with an LLM, maps names to reference lists and drops known triples.

A name that equals a listed one, ignoring case, width and spaces, is mapped directly. For any other, as in DRAGON, the
LLM sees the text and the five nearest listed names and chooses one or none; see `matching`.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from r_eval.environments.corpus.sources import SourceDocument
from r_eval.languages import recognised
from r_eval.llms.json_text import json_values
from r_eval.tasks.graphs.graph import Triple
from r_eval.tasks.graphs.matching import NameList, match
from r_eval.tasks.graphs.source import Row
from r_eval.tasks.llm_client import LLMClient, prompt
from r_eval.tasks.questions import folded

CHUNK = 3000
"""Maximum characters of a document part."""
REPLY_TOKENS = 2000
"""Tokens that an LLM needs to list the facts of one part."""
LONGEST_NAME = 200
AT_ONCE = 256
"""Parts of documents that are processed together."""
KEYS = ("subject", "relation", "object")
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?。！？])\s*")
"""Where a text may be split: at paragraphs, lines and sentences."""


@dataclasses.dataclass
class Extracted:
    """Triples with their documents, and the number dropped by reason."""

    rows: list[Row] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


async def extract(
    documents: Iterable[SourceDocument],
    client: LLMClient,
    names: NameList | None = None,
    relations: NameList | None = None,
    known: Iterable[Triple] = (),
) -> Extracted:
    """The triples of documents in order, without duplicates per document.

    Args:
        names, relations: Reference lists; None leaves names unchanged.
        known: Triples to drop, with names from the lists.

    Raises:
        UserError: The LLM failed.
    """
    parts = ((document.id, part) for document in documents for part in chunks(document.text, CHUNK))
    result = Extracted()
    known_triples = {_folded(triple) for triple in known}
    seen: set[tuple[str, Triple]] = set()

    async def read(part: str) -> list[Triple]:
        """The triples of a part, with names from the lists."""
        reply = await client.complete(prompt(f"extract.{recognised(part)}", text=part))
        raw = triples_in(reply, result.dropped)
        entities = [name for subject, _, object_ in raw for name in (subject, object_)]
        as_entity = await match(entities, names, part, client)
        as_relation = await match([relation for _, relation, _ in raw], relations, part, client)
        return [(as_entity[s], as_relation[r], as_entity[o]) for s, r, o in raw]

    while block := list(islice(parts, AT_ONCE)):
        replies = await asyncio.gather(*(read(part) for _, part in block))
        for (key, _), triples in zip(block, replies, strict=True):
            for triple in triples:
                key_triple = _folded(triple)
                if key_triple[0] == key_triple[2]:
                    result.dropped["subject is object"] += 1
                elif key_triple in known_triples:
                    result.dropped["known"] += 1
                elif (key, key_triple) in seen:
                    result.dropped["duplicate"] += 1
                else:
                    seen.add((key, key_triple))
                    result.rows.append(Row(triple, key))
    return result


def _folded(triple: Triple) -> Triple:
    subject, relation, object_ = triple
    return folded(subject), folded(relation), folded(object_)


def chunks(text: str, longest: int) -> list[str]:
    """Split a text into parts of limited length, at the end of a sentence if possible."""
    parts: list[str] = []
    while len(text) > longest:
        ends = [match.end() for match in _BREAK.finditer(text[:longest])]
        end = ends[-1] if ends and ends[-1] > longest // 2 else longest
        parts.append(text[:end].strip())
        text = text[end:]
    return [part for part in (*parts, text.strip()) if part]


def triples_in(reply: str, dropped: collections.Counter[str]) -> list[Triple]:
    """The triples in a reply: objects with the three keys, or lists of three names, at any depth.

    Args:
        dropped: Counts replies without JSON and invalid triples.
    """
    values = [match.value for match in json_values(reply)]
    if not values:
        dropped["reply without triples"] += 1
    triples = [_triple(item) for value in values for item in _items(value)]
    dropped["broken triple"] += triples.count(None)
    dropped -= collections.Counter()
    return [triple for triple in triples if triple is not None]


def _items(value: Any) -> Iterator[Any]:
    """The innermost objects and lists of a reply; an object whose "object" is a list counts as several."""
    if isinstance(value, dict):
        named = {str(key).casefold(): part for key, part in value.items()}
        if not named.keys().isdisjoint(KEYS):
            ends = named.get("object")
            yield from ({**named, "object": end} for end in (ends if isinstance(ends, list) else [ends]))
            return
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(parts, list) and any(isinstance(part, list | dict) for part in parts):
        for part in parts:
            yield from _items(part)
    elif parts != []:
        yield value


def _triple(item: Any) -> Triple | None:
    parts = list(map(item.get, KEYS)) if isinstance(item, dict) else item
    names = list(map(_name, parts)) if isinstance(parts, list) else []
    return (names[0], names[1], names[2]) if len(names) == len(KEYS) and all(names) else None


def _name(value: Any) -> str:
    """A text or number as a one-line name, whole numbers without a fraction; "" if it is invalid."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = " ".join(str(value).split())
    return text if text.isprintable() and len(text) <= LONGEST_NAME and text.casefold() != "nan" else ""
