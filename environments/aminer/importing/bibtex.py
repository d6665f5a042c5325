"""Reads BibTeX, an entry at a time.

An entry begins where a line begins with `@type{`; what cannot be read ends there, and is counted. A scholar is who
bears the same name, since BibTeX knows no more; only a thesis tells an organisation, its school. LaTeX's accents and
commands become plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from r_eval.errors import MissingExtra

from .records import MOST_AUTHORS, Broken, Mention, Paper, Record, identifier, made_id, scholar_id, text, texts, year
from .source_file import ENTRY, SourceFile

_MOST_CHARACTERS = 2**20
"""Of one entry."""
_MOST_MACROS = 100_000
_NO_PAPERS = frozenset(["string", "preamble", "comment", "proceedings", "set", "xdata"])
_VENUES = ("journal", "journaltitle", "booktitle", "school", "institution", "publisher", "howpublished")
_MOST_ABSTRACT = 20_000


class _Macros(dict[str, str]):
    """What `@string` defines; a name that nothing defines stands for itself."""

    def __missing__(self, name: str) -> str:
        return name

    def __setitem__(self, name: str, value: str) -> None:
        if len(self) < _MOST_MACROS:
            super().__setitem__(name, value)


def read(source: SourceFile) -> Iterator[Record]:
    """The entries, in order.

    Raises:
        MissingExtra: A library is not installed.
    """
    try:
        from pybtex.database.input.bibtex import LowLevelParser, month_names
        from pybtex.scanner import PybtexSyntaxError
        from pylatexenc.latex2text import LatexNodes2Text
    except ImportError as error:
        raise MissingExtra((error.name or "pybtex").partition(".")[0], "aminer", "Reading BibTeX") from None
    macros = _Macros(month_names)
    convert = LatexNodes2Text(math_mode="text").latex_to_text
    for entry in _entries(source.text()):
        if len(entry) > _MOST_CHARACTERS:
            yield Broken("an entry without end")
            continue
        try:
            for kind, parsed in LowLevelParser(entry, macros=macros):
                if kind.lower() not in _NO_PAPERS:
                    key, fields = parsed
                    yield _paper(kind.lower(), key, fields, convert)
        except (PybtexSyntaxError, RecursionError):
            yield Broken("not readable as BibTeX")


def _entries(chunks: Iterator[str]) -> Iterator[str]:
    """The text from each beginning of an entry to the next; an overlong one is cut, but longer than allowed."""
    buffer = ""
    for chunk in chunks:
        buffer += chunk
        starts = [match.start() for match in ENTRY.finditer(buffer)]
        for start, end in pairwise(starts):
            yield buffer[start:end]
        keep = starts[-1] if starts else max(0, len(buffer) - 200)
        buffer = buffer[keep : keep + _MOST_CHARACTERS + 1] if starts else buffer[keep:]
    if ENTRY.match(buffer):
        yield buffer


def _paper(kind: str, key: str, fields: list[tuple[str, list[str]]], convert: Callable[[str], str]) -> Record:
    values: dict[str, str] = {}
    for name, parts in fields:
        values.setdefault(name.lower(), "".join(parts))

    def plain(name: str, most: int = 2000) -> str:
        return _plain(values.get(name, ""), convert, most)

    title = plain("title")
    if not title:
        return Broken("no title")
    paper = Paper(
        key=identifier(key) or made_id("bibtex", key),
        title=title,
        abstract=plain("abstract", _MOST_ABSTRACT),
        venue=next(filter(None, map(plain, _VENUES)), ""),
        year=year(values.get("year")) or year(values.get("date")),
        topics=dict.fromkeys(texts(plain("keywords") or plain("keyword")), 1.0),
    )
    school = plain("school") if kind.endswith("thesis") else ""
    authors: dict[str, Mention] = {}
    for name in _names(values.get("author") or values.get("editor") or ""):
        if shown := _plain(name, convert):
            mention = Mention(scholar_id(shown, ""), shown, school)
            authors.setdefault(mention.key, mention)
    paper.authors = list(authors.values())
    if not paper.year:
        paper.gaps.append("no usable year")
    if not authors:
        paper.gaps.append("no authors")
    return paper


def _names(value: str) -> list[str]:
    """The names of a list with "and", each from the first name to the last."""
    from pybtex.bibtex.exceptions import BibTeXError
    from pybtex.bibtex.utils import split_name_list
    from pybtex.database import InvalidNameString, Person

    try:
        found: list[Any] = split_name_list(" ".join(value.split()))[:MOST_AUTHORS]
    except BibTeXError:
        return []
    names = []
    for name in found:
        try:
            person = Person(name)
        except (InvalidNameString, BibTeXError):
            names.append(name)
            continue
        parts = (person.first_names, person.middle_names, person.prelast_names, person.last_names, person.lineage_names)
        names.append(" ".join(word for part in parts for word in part))
    return [name for name in names if name != "others"]


def _plain(value: str, convert: Callable[[str], str], most: int = 2000) -> str:
    if any(sign in value for sign in "\\$~"):
        try:
            value = convert(value[: 2 * most].replace("\\%", "%").replace("%", "\\%"))
        except (ValueError, IndexError, RecursionError):
            pass  # broken LaTeX stays as it is, without its braces
    return text(value.replace("{", "").replace("}", ""), most)
