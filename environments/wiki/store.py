"""Reads of a snapshot file: every one by an index, none grows with the number of pages."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from r_eval.environments.snapshots import SnapshotStore

from .folding import title_key
from .snapshot import SCHEMA, Choice, trigrams

MOST_SIMILAR = 10
LONGEST_TITLE = 300
"""Characters; a longer request matches no title, and no similar ones are looked for."""
_POSTINGS = 20_000
"""Index entries that are read for one search for similar titles, over its rarest trigrams."""
_COMPARED = 200


@dataclass(frozen=True, slots=True)
class Page:
    """A page as Search finds it."""

    title: str
    text: str


class Store(SnapshotStore):
    """One wiki snapshot."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "wiki", SCHEMA)

    def find(self, key: str) -> Page | None:
        """The page with this key, or to which it redirects."""
        columns = "SELECT pages.title, pages.text FROM"
        found = self.rows(f"{columns} pages WHERE key = ?", (key,))
        joined = "redirects JOIN pages ON pages.id = redirects.page_id WHERE redirects.key = ?"
        found = found or self.rows(f"{columns} {joined}", (key,))
        return Page(*found[0]) if found else None

    def choices(self, key: str) -> tuple[str, list[Choice]] | None:
        """The ambiguous title and what it may refer to, where the key is that of a disambiguation page."""
        rows = self.rows("SELECT name, title, description FROM choices WHERE key = ? ORDER BY place", (key,))
        return (rows[0][0], [Choice(title, description) for _, title, description in rows]) if rows else None

    def similar(self, text: str) -> list[str]:
        """The titles closest to a text, best first, at most `MOST_SIMILAR`.

        Titles that hold all words of the text, or of which it holds all words, come first; then those with the
        likest letters, then the most popular.
        """
        key = title_key(text[: LONGEST_TITLE + 1])
        if not key or len(text) > LONGEST_TITLE:
            return []
        ids = self._sharing(key) if len(key) > 2 else self._beginning(key)
        words = set(key.split())
        matcher = difflib.SequenceMatcher(autojunk=False)
        matcher.set_seq2(key)
        scored: dict[str, tuple[float, int]] = {}
        for number in ids:
            name, title, page = self._name(number)
            matcher.set_seq1(name)
            own = set(name.split())
            score = matcher.ratio() + (words <= own) + (own <= words)
            scored[title] = max(scored.get(title, (0.0, 0)), (score, -page))
        return sorted(scored, key=lambda title: scored[title], reverse=True)[:MOST_SIMILAR]

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
        """The key of an id of the name index, and the title and id of the page that it leads to."""
        rows = self.rows("SELECT key, title, id FROM pages WHERE id = ?", (number,))
        if not rows:
            sql = "SELECT redirects.key, title, pages.id FROM redirects JOIN pages ON pages.id = page_id"
            rows = self.rows(f"{sql} WHERE redirects.id = ?", (number,))
        name, title, page = rows[0]
        return name, title, page
