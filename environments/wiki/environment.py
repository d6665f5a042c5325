"""The Wiki environment: its query APIs, and the records from which question templates are filled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from r_eval.environments.base import Environment, NotFound, query_api

from .folding import plain, shown, title_key
from .store import LONGEST_TITLE, Store

SNAPSHOT = Path(__file__).parent / "snapshot" / "wiki.sqlite"


class Wiki(Environment):
    """A wiki of short articles on countries, cities, rivers, languages, chemical elements, scientists, writers, books,
    directors and films. A page is found by its title; Search shows its first paragraph, Lookup finds more in it.
    """

    def __init__(self, snapshot: str | None = None) -> None:
        """Open a snapshot (default: the embedded one).

        Raises:
            FileNotFoundError, ValueError: The file is missing, or not a snapshot that this version reads.
        """
        self._store = Store(Path(snapshot) if snapshot else SNAPSHOT)
        self._title, self._paragraphs = "", ()
        self._keyword, self._results, self._shown = "", (), 0

    _title: str
    """The page that Lookup reads; empty where there is none."""
    _paragraphs: tuple[str, ...]
    _keyword: str
    _results: tuple[str, ...]
    _shown: int
    """How many of the results for the keyword have been shown."""

    @property
    def version(self) -> str:
        """The first characters of the snapshot's content hash."""
        return self._store.meta["content_hash"][:16]

    @query_api
    def Search(self, entity: str) -> str:
        """Find the page with this title and show its first paragraph; if there is none, suggest similar titles.

        Args:
            entity: The title of a page: the name of a person, a place, a thing or a work.
        """
        self._stand_on("", "")
        key = title_key(entity) if len(entity) <= LONGEST_TITLE else ""
        page = self._store.find(key) if key else None
        if page is not None:
            self._stand_on(page.title, page.text)
            return self._paragraphs[0]
        ambiguous = self._store.choices(key) if key else None
        if ambiguous is not None:
            name, choices = ambiguous
            return "\n".join([f"{name} may refer to:", *(f"{c.title}: {c.description}" for c in choices)])
        if not entity.strip():
            raise NotFound("Could not find []. Search needs the title of a page.")
        similar = ", ".join(self._store.similar(entity))
        hint = f" Similar: [{similar}]" if similar else " No title is similar."
        raise NotFound(f"Could not find [{shown(entity)}].{hint}")

    @query_api
    def Lookup(self, keyword: str) -> str:
        """Show the next paragraph that contains the keyword, in the page last found by Search.

        Args:
            keyword: A word or phrase as it may stand in the page.
        """
        if not self._title:
            raise NotFound("There is no page to look in. Search for a page first.")
        wanted = plain(keyword[:LONGEST_TITLE])
        if wanted != self._keyword:
            fits = bool(wanted) and len(keyword) <= LONGEST_TITLE
            self._results = tuple(text for text in self._paragraphs if fits and wanted in plain(text))
            self._keyword, self._shown = wanted, 0
        if not self._results:
            raise NotFound(f"No results for [{shown(keyword)}] in the page {self._title}.")
        if self._shown == len(self._results):
            raise NotFound(f"No more results for [{shown(keyword)}] in the page {self._title}.")
        self._shown += 1
        return f"(Result {self._shown} / {len(self._results)}) {self._results[self._shown - 1]}"

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All pages of a kind, the most popular first.

        Each has `title`, `popularity` (how many triples name the page) and every relation of its kind (see
        `build.phrases`): a text, or None where the page does not say; a list of texts for a relation that may have
        several values.

        Raises:
            KeyError: There are no pages of such a kind.
        """
        relations: dict[str, bool] = json.loads(self._store.meta["kinds"])[kind]
        records: dict[str, dict[str, Any]] = {}
        sql = "SELECT title, popularity FROM pages WHERE kind = ? ORDER BY id"
        for title, popularity in self._store.stream(sql, (kind,)):
            empty: dict[str, Any] = {name: [] if several else None for name, several in relations.items()}
            records[title] = {"title": title, "popularity": popularity, **empty}
        sql = """
            SELECT subject, relation, object FROM pages JOIN triples ON subject = title
            WHERE kind = ? ORDER BY subject, relation, object"""
        for subject, relation, value in self._store.stream(sql, (kind,)):
            if relations[relation]:
                records[subject][relation].append(value)
            else:
                records[subject][relation] = value
        return list(records.values())

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Everything that the pages say, as subject, relation, object, sorted."""
        yield from self._store.stream("SELECT subject, relation, object FROM triples ORDER BY 1, 2, 3")

    def _stand_on(self, title: str, text: str) -> None:
        blocks = (block.strip() for block in text.split("\n\n"))
        self._title = title
        self._paragraphs = tuple(block for block in blocks if block and not block.startswith("== "))
        self._keyword, self._results, self._shown = "", (), 0
