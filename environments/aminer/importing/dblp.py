"""Reads dblp.xml, and XML in its form.

A person is who bears the same name: DBLP tells namesakes apart by a number behind it ("Wei Wang 0001"), which belongs
to the identity and is not shown. A home page record gives the person's organisation; that it lists further names of
the same person is not used. There are no abstracts, topics or counts of citations, so scholars have no interests, and
citations are those (few) that the file itself holds.

The parser reads nothing but the file: its DTD is not fetched, and the entities that this would define (`&uuml;`), all
of them HTML's, are known here. A file that defines entities of its own is refused, since these can make a small file
endless, or name other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import name2codepoint
from xml.parsers import expat

from r_eval.errors import UserError

from .records import (
    MOST_AUTHORS,
    MOST_REFERENCES,
    Affiliation,
    Broken,
    Mention,
    Paper,
    Record,
    identifier,
    made_id,
    text,
    year,
)
from .source_file import SourceFile

_PAPERS = frozenset(["article", "inproceedings", "incollection", "book", "phdthesis", "mastersthesis"])
_OTHERS = frozenset(["proceedings", "www", "person", "data"])
_VENUES = ("journal", "booktitle", "school", "publisher")
_MOST_TEXT = 20_000
_MOST_FIELDS = 20_000
_NUMBER = re.compile(r"(.*\S)\s+\d{4}")


class _Refused(Exception):
    """The file defines entities."""


class _Reader:
    """Collects the fields of one record after the other as the parser meets them."""

    def __init__(self) -> None:
        self.done: list[Record] = []
        self._record: str | None = None
        self._key = ""
        self._field: str | None = None
        self._note = ""
        self._depth = 0
        self._parts: list[str] = []
        self._size = 0
        self._fields: list[tuple[str, str]] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.SkippedEntityHandler = self._entity
        self.parser.EntityDeclHandler = self._declared

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._record is None:
            if name in _PAPERS or name in _OTHERS:
                self._record, self._key, self._fields = name, attributes.get("key", ""), []
            return
        self._depth += 1
        if self._depth == 1:
            self._field, self._parts, self._size = name, [], 0
            self._note = attributes.get("type", "")

    def _end(self, name: str) -> None:
        if self._record is None:
            return
        if self._depth == 0:
            self._finish(self._record)
            self._record = None
            return
        self._depth -= 1
        if self._depth == 0 and self._field is not None:
            if self._field == "note" and self._note == "affiliation":
                self._field = "affiliation"
            if len(self._fields) < _MOST_FIELDS:
                self._fields.append((self._field, text("".join(self._parts))))
            self._field = None

    def _characters(self, data: str) -> None:
        if self._field is not None and self._size < _MOST_TEXT:
            self._parts.append(data)
            self._size += len(data)

    def _entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._characters(chr(name2codepoint[name]) if name in name2codepoint else " ")

    def _declared(self, *_: object) -> None:
        raise _Refused

    def _finish(self, kind: str) -> None:
        if kind in _PAPERS:
            self.done.append(_paper(self._key, self._fields))
        elif kind in ("www", "person"):
            places = [value for name, value in self._fields if name == "affiliation" and value]
            names = [value for name, value in self._fields if name == "author" and value]
            self.done.extend(Affiliation(_person(name), places[0]) for name in names if places)


def read(source: SourceFile) -> Iterator[Record]:
    """The records, in order, up to the first place that is no XML.

    Raises:
        UserError: The file defines entities of its own.
    """
    reader = _Reader()
    try:
        for chunk in source.chunks():
            reader.parser.Parse(chunk, False)
            yield from reader.done
            reader.done.clear()
        reader.parser.Parse(b"", True)
        yield from reader.done
    except expat.ExpatError:
        yield from reader.done
        yield Broken("no XML from here on")
    except _Refused:
        raise UserError(f"{source.path} defines XML entities of its own, which dblp.xml does not; refused") from None


def _person(name: str) -> str:
    return made_id("dblp", name)


def _paper(key: str, fields: list[tuple[str, str]]) -> Record:
    values: dict[str, list[str]] = {}
    for name, value in fields:
        if value:
            values.setdefault(name, []).append(value)
    first = {name: found[0] for name, found in values.items()}
    title = first.get("title", "").removesuffix(".")
    if not (key := identifier(key)):
        return Broken("no usable key")
    if not title:
        return Broken("no title")
    names = list(dict.fromkeys(values.get("author") or values.get("editor") or []))[:MOST_AUTHORS]
    paper = Paper(
        key=key,
        title=title,
        venue=next((first[name] for name in _VENUES if name in first), ""),
        year=year(first.get("year")),
        references=list(dict.fromkeys(cited for cited in values.get("cite", []) if identifier(cited)))[
            :MOST_REFERENCES
        ],
        authors=[Mention(_person(name), _shown(name), "") for name in names],
    )
    if not paper.year:
        paper.gaps.append("no usable year")
    if not names:
        paper.gaps.append("no authors")
    return paper


def _shown(name: str) -> str:
    match = _NUMBER.fullmatch(name)
    return match[1] if match else name
