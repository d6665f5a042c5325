"""Pages in memory, found by their titles."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from r_eval.environments.json_lines import alike

from .folding import title_key
from .pages import Article, read_pages
from .sources.base import LONGEST_TITLE, Ambiguous, Choice, Page, closest, spoken

_SCORERS = ((fuzz.ratio, 55.0), (fuzz.token_set_ratio, 75.0))
"""How titles are compared with a text, letters and then words, and the least that they must score of 100."""
_CANDIDATES = 100


class Store:
    """The pages of one file; it never changes, so that any number of threads may read it.

    Raises:
        UserError: See `read_pages`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        found = read_pages(path)
        self.version = found.version
        self._articles = {page.title: page for page in found.articles}
        self._keys: dict[str, Article] = {}
        for page in found.articles:
            self._keys.setdefault(title_key(page.title), page)
        for page in found.articles:
            for name in page.redirects:
                if key := title_key(name):
                    self._keys.setdefault(key, page)
        self._ambiguous: dict[str, Ambiguous] = {}
        for page in found.ambiguous:
            self._offer(page)
        names = [(title_key(page.title), page.title, -rank) for rank, page in enumerate(found.articles)]
        ranks = {title: rank for _, title, rank in names}
        others = [(key, page.title, ranks[page.title]) for key, page in self._keys.items()]
        self._names = list(dict.fromkeys([*names, *others]))
        self._known = [key for key, _, _ in self._names]

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return opened, (self.path,)

    def find(self, title: str) -> Page | Ambiguous | None:
        """The page with this title, or to which it redirects; or what the title may refer to."""
        key = title_key(title) if len(title) <= LONGEST_TITLE else ""
        page = self._articles.get(spoken(title)) if key else None
        page = page or self._keys.get(key)
        return Page(page.title, tuple(page.text.split("\n\n"))) if page else self._ambiguous.get(key)

    def similar(self, text: str) -> list[str]:
        """The titles closest to a text; of equally close ones the most popular come first."""
        key = title_key(text[: LONGEST_TITLE + 1])
        if not key or len(text) > LONGEST_TITLE:
            return []
        if len(key) > 2:
            found = (alike(key, self._known, scorer, least, _CANDIDATES) for scorer, least in _SCORERS)
            places = list(dict.fromkeys(chain.from_iterable(found)))
        else:
            places = [place for place, name in enumerate(self._known) if name.startswith(key)][:_CANDIDATES]
        return closest(text, (self._names[place] for place in places))

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Title, popularity and facts of the pages of a kind, the most popular first.

        Raises:
            KeyError: There are no pages of such a kind.
        """
        pages = [page for page in self._articles.values() if page.kind == kind]
        if not pages:
            raise KeyError(kind)
        relations = dict.fromkeys(name for page in pages for name in page.facts)
        several = {name for page in pages for name, value in page.facts.items() if isinstance(value, list)}
        return [
            {"title": page.title, "popularity": page.popularity}
            | {name: _values(page, name) if name in several else page.facts.get(name) for name in relations}
            for page in pages
        ]

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """What the pages say, as subject, relation, object, sorted."""
        for title in sorted(self._articles):
            for relation in sorted(self._articles[title].facts):
                yield from ((title, relation, each) for each in sorted(_values(self._articles[title], relation)))

    def _offer(self, page: Article) -> None:
        """Take up a disambiguation page, under every name that leads to no page; titles of no pages are dropped."""
        found = [self._articles.get(title) or self._keys.get(title_key(title)) for title in page.choices]
        offered = {article.title: Choice(article.title, article.description) for article in found if article}
        for name in (page.title, *page.redirects):
            key = title_key(name)
            if offered and key and key not in self._keys:
                self._ambiguous.setdefault(key, Ambiguous(page.title, tuple(offered.values())))


def _values(page: Article, relation: str) -> list[str]:
    value = page.facts.get(relation)
    return [*value] if isinstance(value, list) else [] if value is None else [value]


def opened(path: Path) -> Store:
    """The store of a file, read once as long as the file stays as it is."""
    try:
        found = path.stat()
        return _opened(path.resolve(), found.st_size, found.st_mtime_ns)
    except OSError:
        return Store(path)  # which says what is wrong


@functools.lru_cache(maxsize=4)
def _opened(path: Path, size: int, changed: int) -> Store:
    return Store(path)
