"""Reads of a snapshot file: every one by an index, none grows with the number of pages."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from r_eval.environments.snapshots import SnapshotStore

from .folding import title_key
from .indexing import trigrams
from .snapshot import SCHEMA, Choice, own_key
from .sources.base import LONGEST_TITLE, Ambiguous, Page, closest, spoken

_POSTINGS = 30_000
"""Index entries that are read for one search for similar titles, roughly."""
_TRIGRAMS = 4
"""Of a piece of a text, its rarest, which a name must have."""
_CANDIDATES = 200
"""Names that hold a piece of the text."""
_COMPARED = 20
"""The likest of them, whose letters are compared."""
_GIVEN = "SELECT value FROM json_each(?)"


class Store(SnapshotStore):
    """One wiki snapshot."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "wiki", SCHEMA)

    @property
    def version(self) -> str:
        """The first characters of the content hash."""
        return self.meta["content_hash"][:16]

    def find(self, title: str) -> Page | Ambiguous | None:
        """The page with this title, or to which it redirects; or what the title may refer to."""
        key = title_key(title) if len(title) <= LONGEST_TITLE else ""
        if not key:
            return None
        return self._page(own_key(spoken(title))) or self._page(key) or self._choices(key)

    def similar(self, text: str) -> list[str]:
        """The titles closest to a text; of equally close ones the most popular come first."""
        key = title_key(text[: LONGEST_TITLE + 1])
        if not key or len(text) > LONGEST_TITLE:
            return []
        names = self._names(self._sharing(key) if len(key) > 2 else self._beginning(key))
        return closest(text, _likest(key, names))

    def _page(self, key: str) -> Page | None:
        columns = "SELECT pages.title, pages.text FROM"
        found = self.rows(f"{columns} pages WHERE key = ?", (key,))
        joined = "redirects JOIN pages ON pages.id = redirects.page_id WHERE redirects.key = ?"
        found = found or self.rows(f"{columns} {joined}", (key,))
        return Page(found[0][0], _blocks(found[0][1])) if found else None

    def _choices(self, key: str) -> Ambiguous | None:
        rows = self.rows("SELECT name, title, description FROM choices WHERE key = ? ORDER BY place", (key,))
        offered = tuple(Choice(title, description) for _, title, description in rows)
        return Ambiguous(rows[0][0], offered) if rows else None

    def _sharing(self, key: str) -> list[int]:
        """Ids of names that hold pieces of a key, the longest pieces first; for each, the most popular names.

        A piece without a typing error is in the name that was meant. It is looked for by its rarest trigrams, so that
        the work does not grow as the names do.
        """
        grams = [key[start : start + 3] for start in range(len(key) - 2)]
        sql = f"SELECT trigram, count FROM trigrams WHERE trigram IN ({_GIVEN})"
        counts: dict[str, int] = dict(self.rows(sql, (json.dumps(grams),)))
        found: dict[int, None] = {}
        left = _POSTINGS
        for level in _pieces(grams):
            known = [[(counts[gram], gram) for gram in piece] for piece in level if counts.keys() >= set(piece)]
            for rarest in sorted(sorted(set(piece))[:_TRIGRAMS] for piece in known):
                if left <= 0 or len(found) >= _CANDIDATES:
                    return list(found)
                query = " AND ".join('"' + gram.replace('"', '""') + '"' for _, gram in rarest)
                sql = "SELECT rowid FROM names WHERE names MATCH ? ORDER BY rowid LIMIT ?"
                found.update((number, None) for (number,) in self.rows(sql, (query, _CANDIDATES // 2)))
                left -= _CANDIDATES + (len(rarest) * rarest[0][0] if len(rarest) > 1 else 0)
        return list(found)

    def _beginning(self, key: str) -> list[int]:
        sql = "SELECT id FROM {} WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
        bounds = (key, key + "\U0010ffff", _CANDIDATES)
        return [row[0] for table in ("pages", "redirects") for row in self.rows(sql.format(table), bounds)]

    def _names(self, ids: list[int]) -> Iterator[tuple[str, str, int]]:
        """The keys of ids of the name index, the titles of the pages that they lead to, and the pages' ranks."""
        given = (json.dumps(ids),)
        for number, key, title in self.rows(f"SELECT id, key, title FROM pages WHERE id IN ({_GIVEN})", given):
            yield title_key(title) if key == own_key(title) else key, title, -number
        sql = "SELECT pages.id, redirects.key, title FROM redirects JOIN pages ON pages.id = page_id"
        for number, key, title in self.rows(f"{sql} WHERE redirects.id IN ({_GIVEN})", given):
            yield key, title, -number


def _pieces(grams: list[str]) -> Iterator[list[list[str]]]:
    """A text's trigrams whole, in halves, in thirds, and so on to single ones."""
    number = 1
    while number < len(grams):
        bounds = [len(grams) * place // number for place in range(number + 1)]
        yield [grams[start:end] for start, end in pairwise(bounds)]
        number += 1 + number // 3
    yield [[gram] for gram in grams]


def _likest(key: str, names: Iterable[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Of names as `Store._names` gives them, those that have all words of a key, or only such, and then those that
    share the largest part of their trigrams with it."""
    words, grams = set(key.split()), trigrams(key)

    def likeness(entry: tuple[str, str, int]) -> tuple[int, float, int]:
        name, _, rank = entry
        own, others = set(name.split()), trigrams(name)
        return (words <= own) + (own <= words), len(grams & others) / (len(grams) + len(others) or 1), rank

    return heapq.nlargest(_COMPARED, names, key=likeness)


def _blocks(text: str) -> tuple[str, ...]:
    stripped = (block.strip() for block in text.split("\n\n"))
    return tuple(block for block in stripped if block)
