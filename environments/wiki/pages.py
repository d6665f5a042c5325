"""A file of wiki pages, one JSON object per line: the embedded one, and those of users. They are kept in memory.

Every line has a `title`, and `text` or `choices`; keys of other names are ignored. Of equally similar titles the more
popular comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from r_eval.environments.json_lines import FileStore, read_records
from r_eval.errors import UserError

from .base import Page, closest, one_line, title_key

_QUALIFIER = re.compile(r" \([^()]+\)$")


class Article(BaseModel):
    """A line of the file.

    Attributes:
        title: The page's title.
        name: How the title stands within a sentence; by default without its words in brackets.
        text: Blank lines part its paragraphs; a line "== Heading ==" begins a section.
        redirects: Further titles that lead to the page.
        choices: Titles of other pages: this is a disambiguation page, and has no text.
        description: What disambiguation pages say of the page.
        popularity: How well known it is, in any unit.
        kind: What sort of thing it is about; templates fill questions with the records of one kind.
        facts: What it says, by relation: a text, None, or a list of texts where there may be several.
    """

    title: str = Field(min_length=1)
    name: str = ""
    text: str = ""
    redirects: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    description: str = ""
    popularity: int = Field(default=0, ge=0, lt=2**62)
    kind: str = "page"
    facts: dict[str, str | list[str] | None] = {}

    def values(self, relation: str) -> list[str]:
        """What it says of a relation, as a list."""
        value = self.facts.get(relation)
        return [*value] if isinstance(value, list) else [] if value is None else [value]


class PageFile(FileStore):
    """The pages of one file.

    Raises:
        UserError: The file cannot be read, a line is not a page, or two lines have one title; names the line.
    """

    def __init__(self, path: Path) -> None:
        pages = _read(path)
        super().__init__(path)
        articles = sorted((page for page in pages if not page.choices), key=lambda page: (-page.popularity, page.title))
        self._articles = {page.title: page for page in articles}
        names = [(page.title, page) for page in articles]
        names += [(name, page) for page in articles for name in page.redirects]
        self._keys = {key: page for name, page in reversed(names) if (key := title_key(name))}
        self._ambiguous: dict[str, Page] = {}
        for page in pages:
            self._add_choices(page)
        ranks = {page.title: rank for rank, page in enumerate(articles)}
        leading = {(title_key(name), page.title) for name, page in names}
        self._names = sorted(leading, key=lambda pair: (ranks[pair[1]], pair[0]))

    def find(self, title: str) -> Page | None:
        """The page with this title, or to which it redirects; or the pages that may be meant."""
        key = title_key(title)
        page = self._articles.get(one_line(title)) or self._keys.get(key)
        return Page(page.title, tuple(page.text.split("\n\n"))) if page else self._ambiguous.get(key)

    def similar(self, text: str) -> list[str]:
        """The titles closest to a text; of equally close ones the most popular come first."""
        return closest(text, [title for _, title in self._names], [key for key, _ in self._names])

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Title, name, popularity and facts of the pages of a kind, the most popular first.

        Raises:
            KeyError: There are no pages of such a kind.
        """
        pages = [page for page in self._articles.values() if page.kind == kind]
        if not pages:
            raise KeyError(kind, *sorted({page.kind for page in self._articles.values()}))
        relations = dict.fromkeys(name for page in pages for name in page.facts)
        several = {name for page in pages for name, value in page.facts.items() if isinstance(value, list)}
        return [
            {"title": page.title, "name": page.name or _QUALIFIER.sub("", page.title), "popularity": page.popularity}
            | {name: page.values(name) if name in several else page.facts.get(name) for name in relations}
            for page in pages
        ]

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """What the pages say, as subject, relation, object, sorted."""
        for title, page in sorted(self._articles.items()):
            for relation in sorted(page.facts):
                yield from ((title, relation, value) for value in sorted(page.values(relation)))

    def _add_choices(self, page: Article) -> None:
        """Add a disambiguation page under every name that leads to no page; choices that are no pages are dropped."""
        found = [self._articles.get(title) or self._keys.get(title_key(title)) for title in page.choices]
        lines = {one.title: f"{one.title}: {one.description}" if one.description else one.title for one in found if one}
        for key in map(title_key, (page.title, *page.redirects) if lines else ()):
            if key and key not in self._keys:
                texts = (f"{page.title} may refer to:", *lines.values())
                self._ambiguous.setdefault(key, Page(page.title, texts, is_ambiguous=True))


def _read(path: Path) -> list[Article]:
    places: dict[str, str] = {}
    pages: list[Article] = []
    for place, page in read_records(path, lambda _: Article):
        if not title_key(page.title):
            raise UserError(f"{place}: the title {page.title!r} has no letter and no digit")
        if not page.text.strip() and not page.choices:
            raise UserError(f"{place}: a page needs text, or choices if its title is ambiguous")
        page.title, page.description = one_line(page.title), one_line(page.description)
        page.text = "\n\n".join(filter(None, map(one_line, _paragraphs(page.text))))
        page.choices = tuple(map(one_line, page.choices))
        if places.setdefault(page.title, place) != place:
            raise UserError(f"{place}: another page has the title '{page.title}'")
        pages.append(page)
    if not pages:
        raise UserError(f'{path}: holds no page; expected lines such as {{"title": ..., "text": ...}}')
    return pages


def _paragraphs(text: str) -> list[str]:
    """The blocks between blank lines or, where there are none, the lines."""
    lines = [line.strip() for line in text.replace("\r\n", "\n").strip().split("\n")]
    return lines if all(lines) else "\n".join(lines).split("\n\n")
