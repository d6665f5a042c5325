"""Reads AMiner's citation network: JSON, an array or one object a line.

The published versions differ, and none is quite JSON: arrays with one object a line, pretty-printed objects with
MongoDB's `NumberInt(2000)`, NaN, lines that were torn. So objects are decoded one by one, and after one that cannot be
read the next that has a title is looked for; a parser of the whole file would end there.

An author without an id is who bears the same name at the same organisation; the same person at two organisations is
then two scholars.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .records import (
    MOST_AUTHORS,
    MOST_REFERENCES,
    MOST_TOPICS,
    Broken,
    Mention,
    Paper,
    Record,
    identifier,
    number,
    scholar_id,
    text,
    texts,
    year,
)
from .source_file import SourceFile

_MOST_CHARACTERS = 8 * 2**20
"""Of one object; a larger one is broken, or holds the records inside."""
_SHELL = re.compile(r'("\s*:\s*)Number(?:Int|Long|Decimal)\(\s*"?(-?[0-9.]+)"?\s*\)')
_NEAR = 24
"""Characters before the end of what has been read where an error may be due to what has not."""
_MOST_ABSTRACT = 20_000


def read(source: SourceFile) -> Iterator[Record]:
    """The records, in order."""
    for found in _objects(source.text()):
        yield Broken("not readable as JSON") if found is None else _paper(found)


def _objects(chunks: Iterator[str]) -> Iterator[dict[str, Any] | None]:
    """The objects of a text; None once for every place where one could not be decoded."""
    decoder = json.JSONDecoder()
    buffer, start, lost = "", 0, False
    while True:
        start = buffer.find("{", start)
        if start < 0:
            buffer, start = next(chunks, ""), 0
            if not buffer:
                return
            continue
        try:
            value, end = decoder.raw_decode(buffer, start)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError):
                if buffer.startswith("Number", error.pos):
                    clean, count = _SHELL.subn(r"\1\2", buffer[start:])
                    if count:
                        buffer, start = clean, 0
                        continue
                if _unfinished(error, buffer) and len(buffer) - start < _MOST_CHARACTERS and (more := next(chunks, "")):
                    buffer, start = buffer[start:] + more, 0
                    continue
            if not lost:
                yield None
            lost, start = True, start + 1
            continue
        if lost and "title" not in value:
            start += 1
            continue
        lost, start = False, end
        yield value


def _unfinished(error: json.JSONDecodeError, buffer: str) -> bool:
    """Whether more text may mend it. A string may not hold a line break, so an open one reaches the end."""
    return error.msg.startswith("Unterminated string") or error.pos >= len(buffer) - _NEAR


def _paper(found: dict[str, Any]) -> Record:
    key, title = identifier(found.get("id", found.get("_id"))), text(found.get("title"))
    if not key:
        return Broken("no usable id")
    if not title:
        return Broken("no title")
    paper = Paper(
        key=key,
        title=title,
        abstract=_abstract(found),
        venue=_venue(found.get("venue")),
        year=year(found.get("year")),
        cited=number(found.get("n_citation")),
        topics=_topics(found),
    )
    if not paper.year:
        paper.gaps.append("no usable year")
    references = found.get("references")
    if isinstance(references, list):
        paper.references = list(dict.fromkeys(filter(None, map(identifier, references[:MOST_REFERENCES]))))
    _add_authors(paper, found.get("authors"))
    return paper


def _add_authors(paper: Paper, found: Any) -> None:
    authors: dict[str, Mention] = {}
    for item in found[:MOST_AUTHORS] if isinstance(found, list) else []:
        author = _author(item)
        if author is None:
            paper.gaps.append("an author without a name")
        else:
            authors.setdefault(author.key, author)
    paper.authors = list(authors.values())
    if not authors:
        paper.gaps.append("no authors")


def _author(item: Any) -> Mention | None:
    if isinstance(item, str):
        item = {"name": item}
    if not isinstance(item, dict) or not (name := text(item.get("name"))):
        return None
    organization = text(item.get("org"))
    return Mention(identifier(item.get("id", item.get("_id"))) or scholar_id(name, organization), name, organization)


def _venue(value: Any) -> str:
    if isinstance(value, dict):
        return text(value.get("raw")) or text(value.get("name")) or text(value.get("name_d"))
    return text(value)


def _abstract(found: dict[str, Any]) -> str:
    plain = text(found.get("abstract"), _MOST_ABSTRACT)
    inverted = found.get("indexed_abstract")
    index = inverted.get("InvertedIndex") if isinstance(inverted, dict) else None
    if plain or not isinstance(index, dict):
        return plain
    placed = [
        (place, word)
        for word, places in index.items()
        if isinstance(places, list)
        for place in places
        if isinstance(place, int)
    ]
    return text(" ".join(word for _, word in sorted(placed)[:_MOST_ABSTRACT]), _MOST_ABSTRACT)


def _topics(found: dict[str, Any]) -> dict[str, float]:
    """Keywords weigh 1, fields of study what the source says they do."""
    topics = dict.fromkeys(texts(found.get("keywords"))[:MOST_TOPICS], 1.0)
    fields = found.get("fos")
    for item in fields[:MOST_TOPICS] if isinstance(fields, list) else []:
        name = text(item.get("name") if isinstance(item, dict) else item)
        weight = item.get("w", 1.0) if isinstance(item, dict) else 1.0
        usable = isinstance(weight, int | float) and 0 < weight <= 1
        if name:
            topics[name] = max(topics.get(name, 0.0), float(weight) if usable else 0.0)
    return {name: weight for name, weight in topics.items() if weight}
