"""An LLM reads triples out of documents; names become those of reference lists, and what is known already is left out.

A name that a list spells the same, but for case, width and spaces, needs no decision. For any other, as in DRAGON, the
LLM sees the text and the five listed names that are nearest to it, and picks one or none; see `matching`.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any

from r_eval.environments.corpus.sources import Document
from r_eval.languages import recognised
from r_eval.llms.json_text import json_values
from r_eval.tasks.graphs.graph import Triple
from r_eval.tasks.graphs.matching import NameList, match
from r_eval.tasks.graphs.source import Row
from r_eval.tasks.llm_client import LLMClient, prompt
from r_eval.tasks.questions import folded

CHUNK = 3000
"""Characters of a document that are read at once."""
REPLY_TOKENS = 2000
"""What an LLM needs to list the facts of so long a text."""
LONGEST_NAME = 200
AT_ONCE = 256
"""Parts of documents that are worked on together."""
MOST_NAMES = 100
"""Members of a list that stands for one side of triples."""
KEYS = ("subject", "relation", "object")
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?。！？])\s*")
"""Where a text may be split: paragraphs, lines, sentences."""


@dataclasses.dataclass
class Extracted:
    """Triples with their documents, and how many were dropped for which reason."""

    rows: list[Row] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


async def extract(
    documents: Iterable[Document],
    client: LLMClient,
    names: NameList | None = None,
    relations: NameList | None = None,
    known: Iterable[Triple] = (),
) -> Extracted:
    """Triples of documents, in their order; each once a document.

    Args:
        names, relations: Reference lists; None leaves names as they are read.
        known: Facts that are no news, in the lists' names.

    Raises:
        UserError: The LLM failed.
    """
    parts = ((document.id, part) for document in documents for part in chunks(document.text, CHUNK))
    found = Extracted()
    old = {_folded(triple) for triple in known}
    seen: set[tuple[str, Triple]] = set()

    async def read(part: str) -> list[Triple]:
        """The triples of a part, in the lists' names."""
        reply = await client.complete(prompt(f"extract.{recognised(part)}", text=part))
        raw = triples_in(reply, found.dropped)
        entities = [name for subject, _, object_ in raw for name in (subject, object_)]
        as_entity = await match(entities, names, part, client)
        as_relation = await match([relation for _, relation, _ in raw], relations, part, client)
        return [(as_entity[s], as_relation[r], as_entity[o]) for s, r, o in raw]

    while block := list(islice(parts, AT_ONCE)):
        replies = await asyncio.gather(*(read(part) for _, part in block))
        for (key, _), triples in zip(block, replies, strict=True):
            for triple in triples:
                same = _folded(triple)
                if same[0] == same[2]:
                    found.dropped["subject is object"] += 1
                elif same in old:
                    found.dropped["known"] += 1
                elif (key, same) in seen:
                    found.dropped["duplicate"] += 1
                else:
                    seen.add((key, same))
                    found.rows.append(Row(triple, key))
    return found


def _folded(triple: Triple) -> Triple:
    subject, relation, object_ = triple
    return folded(subject), folded(relation), folded(object_)


def chunks(text: str, longest: int) -> list[str]:
    """A text in parts of at most so many characters, split at the end of a sentence where there is one."""
    parts: list[str] = []
    while len(text) > longest:
        ends = [match.end() for match in _BREAK.finditer(text[:longest])]
        end = ends[-1] if ends and ends[-1] > longest // 2 else longest
        parts.append(text[:end].strip())
        text = text[end:]
    return [part for part in (*parts, text.strip()) if part]


def triples_in(reply: str, dropped: collections.Counter[str]) -> list[Triple]:
    """The triples in a reply: objects with the three keys, or lists of three; lists in them stand for their members.

    Args:
        dropped: Counts replies without any JSON, and what in them is no triple.
    """
    values = [found.value for found in json_values(reply)]
    if not values:
        dropped["reply without triples"] += 1
    return [triple for value in values for triple in _triples(value, dropped)]


def _triples(value: Any, dropped: collections.Counter[str]) -> Iterator[Triple]:
    if isinstance(value, dict) and value and not value.keys() & set(KEYS):
        value = list(value.values())
    if isinstance(value, list) and not (len(value) == len(KEYS) and all(isinstance(one, str) for one in value[:2])):
        for item in value:
            yield from _triples(item, dropped)
        return
    parts = map(value.get, KEYS) if isinstance(value, dict) else value if isinstance(value, list) else ()
    sides = [_names(one) for one in parts]
    if len(sides) == len(KEYS) and all(sides):
        subjects, relations, objects = sides
        yield from product(subjects, relations, objects)
    else:
        dropped["broken triple"] += 1


def _names(value: Any) -> list[str]:
    """The names that a value holds; none where one of them is no name."""
    names = [_name(part) for part in (value if isinstance(value, list) else [value])[:MOST_NAMES]]
    return names if all(names) else []


def _name(value: Any) -> str:
    """A text or number as a name: on one line, whole numbers without a fraction; "" where it is none."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = " ".join(str(value).split())
    return text if text.isprintable() and len(text) <= LONGEST_NAME and text.casefold() != "nan" else ""
