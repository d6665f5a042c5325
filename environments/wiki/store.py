"""Reads of a snapshot file: every one by an index, none grows with the number of pages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from r_eval.environments.snapshots import SnapshotStore

from .folding import title_key
from .snapshot import SCHEMA, Choice, trigrams
from .sources.base import LONGEST_TITLE, Ambiguous, Page, closest

_POSTINGS = 20_000
"""Index entries that are read for one search for similar titles, over its rarest trigrams."""
_COMPARED = 200


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
        return (self._page(key) or self._choices(key)) if key else None

    def similar(self, text: str) -> list[str]:
        """The titles closest to a text; of equally close ones the most popular come first."""
        key = title_key(text[: LONGEST_TITLE + 1])
        if not key or len(text) > LONGEST_TITLE:
            return []
        ids = self._sharing(key) if len(key) > 2 else self._beginning(key)
        return closest(text, (self._name(number) for number in ids))

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
        """Ids of the names that share most with a key, counted over its rarest trigrams."""
        count = "SELECT count FROM trigrams WHERE trigram = ?"
        known = [(rows[0][0], gram) for gram in sorted(trigrams(key)) if (rows := self.rows(count, (gram,)))]
        shared: Counter[int] = Counter()
        left = _POSTINGS
        for _, gram in sorted(known):
            quoted = '"' + gram.replace('"', '""') + '"'
            sql = "SELECT rowid FROM names WHERE names MATCH ? ORDER BY rowid LIMIT ?"
            found = self.rows(sql, (quoted, left))
            shared.update(number for (number,) in found)
            left -= len(found)
            if left <= 0:
                break
        best = sorted(shared.items(), key=lambda entry: (-entry[1], entry[0]))
        return [number for number, _ in best[:_COMPARED]]

    def _beginning(self, key: str) -> list[int]:
        sql = "SELECT id FROM {} WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
        bounds = (key, key + "\U0010ffff", _COMPARED)
        return [row[0] for table in ("pages", "redirects") for row in self.rows(sql.format(table), bounds)]

    def _name(self, number: int) -> tuple[str, str, int]:
        """The key of an id of the name index, the title of the page that it leads to, and the page's rank."""
        rows = self.rows("SELECT key, title, id FROM pages WHERE id = ?", (number,))
        if not rows:
            sql = "SELECT redirects.key, title, pages.id FROM redirects JOIN pages ON pages.id = page_id"
            rows = self.rows(f"{sql} WHERE redirects.id = ?", (number,))
        name, title, page = rows[0]
        return name, title, -page


def _blocks(text: str) -> tuple[str, ...]:
    stripped = (block.strip() for block in text.split("\n\n"))
    return tuple(block for block in stripped if block)
