"""From pages as they come to pages by rank, in SQL: memory does not grow with the number of pages.

What is added goes to a scratch database; `finish` sorts it, on disk, and copies it to the snapshot. The result does
not depend on the order in which pages come.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from .folding import title_key
from .snapshot import Article, Choice, own_key

_TABLES = """
CREATE TABLE scratch.head (
    number INTEGER PRIMARY KEY, title TEXT NOT NULL, key TEXT NOT NULL, popularity INTEGER NOT NULL,
    kind TEXT NOT NULL, description TEXT NOT NULL);
CREATE UNIQUE INDEX scratch.head_title ON head (title);
CREATE TABLE scratch.body (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE scratch.lead (key TEXT NOT NULL, number INTEGER NOT NULL);
CREATE TABLE scratch.pointer (key TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE scratch.ranked (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE scratch.ambiguous (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE scratch.called (key TEXT NOT NULL, number INTEGER NOT NULL);
CREATE TABLE scratch.offer (number INTEGER, place INTEGER, title TEXT, key TEXT, description TEXT);
CREATE TABLE scratch.target (
    number INTEGER, page_id INTEGER, place INTEGER, description TEXT, PRIMARY KEY (number, page_id)) WITHOUT ROWID;
"""
_POINTERS = """
INSERT INTO scratch.lead SELECT pointer.key, number FROM scratch.pointer JOIN scratch.head ON title = target;
INSERT INTO scratch.called SELECT pointer.key, number FROM scratch.pointer JOIN scratch.ambiguous ON name = target;
"""
_APART = """
CREATE INDEX scratch.head_key ON head (key, popularity DESC, title);
UPDATE scratch.head SET key = own_key(title) WHERE number IN (
    SELECT number FROM (
        SELECT number, row_number() OVER (PARTITION BY key ORDER BY popularity DESC, title) AS place FROM scratch.head)
    WHERE place > 1);
"""
"""Of several pages with one key, all but the most popular get keys of their own."""
_PAGES = """
INSERT INTO scratch.ranked (number) SELECT number FROM scratch.head ORDER BY popularity DESC, title;
CREATE UNIQUE INDEX scratch.ranked_number ON ranked (number);
INSERT INTO pages SELECT id, title, key, text, popularity, kind
FROM scratch.ranked CROSS JOIN scratch.head USING (number) CROSS JOIN scratch.body USING (number) ORDER BY id;
"""
_REDIRECTS = """
INSERT INTO redirects
SELECT (SELECT count(*) FROM pages) + row_number() OVER (ORDER BY lead.key, ranked.id), lead.key, ranked.id
FROM scratch.lead JOIN scratch.ranked USING (number);
"""
_FREE_REDIRECTS = """
CREATE UNIQUE INDEX page_key ON pages (key);
INSERT INTO redirects
SELECT (SELECT count(*) FROM pages) + row_number() OVER (ORDER BY key), key, id FROM (
    SELECT lead.key AS key, min(ranked.id) AS id FROM scratch.lead JOIN scratch.ranked USING (number)
    WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.key = lead.key) GROUP BY lead.key);
CREATE UNIQUE INDEX redirect_key ON redirects (key);
"""
"""A page's key comes before a redirect's, and the more popular page before the other."""
_CHOICES = """
INSERT INTO scratch.target
SELECT number, page_id, min(place), description FROM (
    SELECT number, place, description, coalesce(
        (SELECT id FROM scratch.head JOIN scratch.ranked USING (number) WHERE head.title = offer.title),
        (SELECT id FROM pages WHERE pages.key = offer.key),
        (SELECT page_id FROM redirects WHERE redirects.key = offer.key)) AS page_id
    FROM scratch.offer)
WHERE page_id IS NOT NULL GROUP BY number, page_id;
INSERT INTO choices
SELECT claimed.key, row_number() OVER (PARTITION BY claimed.key ORDER BY place), name, pages.title,
    iif(target.description <> '', target.description, head.description)
FROM (
    SELECT key, number, min(name) AS name FROM scratch.called JOIN scratch.ambiguous USING (number)
    WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.key = called.key)
    AND NOT EXISTS (SELECT 1 FROM redirects WHERE redirects.key = called.key)
    AND EXISTS (SELECT 1 FROM scratch.target WHERE target.number = called.number)
    GROUP BY key) AS claimed
JOIN scratch.target USING (number) JOIN pages ON pages.id = page_id
JOIN scratch.ranked ON ranked.id = page_id JOIN scratch.head ON head.number = ranked.number;
"""


class Staging:
    """Fills `pages`, `redirects` and `choices` of a prepared snapshot.

    Args:
        connection: To the snapshot; no transaction is open.
        scratch: A file for what is needed on the way, removed by the caller; by default, SQLite's own temporary one.
    """

    def __init__(self, connection: sqlite3.Connection, scratch: str = "") -> None:
        self._connection = connection
        connection.create_function("own_key", 1, own_key, deterministic=True)
        connection.execute("ATTACH DATABASE ? AS scratch", (scratch,))
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
            connection.execute(f"PRAGMA scratch.{pragma}")
        connection.executescript(_TABLES)
        self.pages = 0
        self.disambiguations = 0

    def add(self, article: Article, description: str = "") -> bool:
        """Keep a page; False if there is one of its title already.

        Args:
            article: The page; its title has a key.
            description: What a disambiguation page says of it, where that page does not.
        """
        row = (self.pages, article.title, title_key(article.title), article.popularity, article.kind, description)
        run = self._connection.execute
        if not run("INSERT OR IGNORE INTO scratch.head VALUES (?, ?, ?, ?, ?, ?)", row).rowcount:
            return False
        run("INSERT INTO scratch.body VALUES (?, ?)", (self.pages, article.text))
        self._call("lead", article.redirects, self.pages)
        self.pages += 1
        return True

    def offer(self, name: str, choices: Iterable[Choice], redirects: Iterable[str] = ()) -> bool:
        """Keep a disambiguation page; False if there is one of its name already.

        Args:
            name: The ambiguous title.
            choices: What it may refer to; titles that turn out to be no pages are dropped.
            redirects: Further titles that mean the same.
        """
        number = self.disambiguations
        run = self._connection
        if not run.execute("INSERT OR IGNORE INTO scratch.ambiguous VALUES (?, ?)", (number, name)).rowcount:
            return False
        rows = [
            (number, place, choice.title, title_key(choice.title), choice.description)
            for place, choice in enumerate(choices, 1)
        ]
        run.executemany("INSERT INTO scratch.offer VALUES (?, ?, ?, ?, ?)", rows)
        self._call("called", (name, *redirects), number)
        self.disambiguations += 1
        return True

    def point(self, name: str, target: str) -> None:
        """Keep a further title of the page, or of the disambiguation page, that is called `target`."""
        if key := title_key(name):
            self._connection.execute("INSERT INTO scratch.pointer VALUES (?, ?)", (key, target))

    def finish(self, strict: bool = False) -> None:
        """Fill the snapshot's tables.

        Args:
            strict: Leave two pages or redirects with one key to `seal`, which will refuse them.
        """
        self._connection.commit()
        steps = (_PAGES, _REDIRECTS) if strict else (_POINTERS, _APART, _PAGES, _FREE_REDIRECTS, _CHOICES)
        for step in steps:
            self._connection.executescript(step)
        self._connection.commit()
        self._connection.execute("DETACH DATABASE scratch")

    def _call(self, table: str, names: Iterable[str], number: int) -> None:
        rows = [(key, number) for key in map(title_key, names) if key]
        self._connection.executemany(f"INSERT INTO scratch.{table} VALUES (?, ?)", rows)
