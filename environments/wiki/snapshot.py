"""The file in which a wiki is kept: its tables, how they are filled, and the hash of what they hold.

Tables are SQLite's, written once and then only read:

- `pages`: the articles, the most popular first, so that a smaller `id` means a more popular page. `key` is
  `folding.title_key` of the title; of several pages with one key, which only a large wiki has, the most popular has it
  and the others have `own_key`. `text` is a lead paragraph, then sections: a line "== Heading ==" and paragraphs,
  everything apart by blank lines.
- `redirects`: further keys that lead to a page. Their `id`s go on where those of `pages` end.
- `choices`: the lines of a disambiguation page, in the order of `place`; `name` is the ambiguous title.
- `triples`: what the pages say, as subject, relation, object.
- `names`, `trigrams`: see `indexing`.
- `meta`: `schema`; `kinds`, the relations of every kind of page as JSON, {kind: {relation: may it have several
  values}}; `content_hash`; of an imported wiki also `format`.

`staging` fills `pages`, `redirects` and `choices` of many pages in little memory, between `prepare` and `seal`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .folding import title_key
from .indexing import INDEX_TABLES, index_names

SCHEMA = 1
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
    popularity INTEGER NOT NULL, kind TEXT NOT NULL);
CREATE TABLE redirects (id INTEGER PRIMARY KEY, key TEXT NOT NULL, page_id INTEGER NOT NULL);
CREATE TABLE choices (
    key TEXT, place INTEGER, name TEXT NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL,
    PRIMARY KEY (key, place)) WITHOUT ROWID;
CREATE TABLE triples (
    subject TEXT, relation TEXT, object TEXT, PRIMARY KEY (subject, relation, object)) WITHOUT ROWID;
"""
_INDEXES = """
CREATE UNIQUE INDEX IF NOT EXISTS page_key ON pages (key);
CREATE INDEX page_kind ON pages (kind);
CREATE UNIQUE INDEX IF NOT EXISTS redirect_key ON redirects (key);
"""
_HASHED = {
    "pages": "title, key, text, popularity, kind ORDER BY id",
    "redirects": "key, page_id ORDER BY key",
    "choices": "key, place, name, title, description ORDER BY key, place",
    "triples": "subject, relation, object ORDER BY subject, relation, object",
}


@dataclass(frozen=True, slots=True)
class Article:
    """A page to be written."""

    title: str
    kind: str
    text: str
    popularity: int
    redirects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """A line of a disambiguation page: the title that it offers, and what that is."""

    title: str
    description: str


def own_key(title: str) -> str:
    """The key of a page whose `title_key` another page has; no title's `title_key` looks like it."""
    return f"={title}"


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty database. Nothing is safe against a crash until the file is whole."""
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")
    connection.executescript(_TABLES + INDEX_TABLES)


def seal(
    connection: sqlite3.Connection, kinds: Mapping[str, Mapping[str, bool]], about: Mapping[str, str] | None = None
) -> str:
    """Index filled tables and say what they hold.

    Args:
        connection: `pages`, `redirects`, `choices` and `triples` are filled.
        kinds: The relations of every kind of page, and whether one may have several values.
        about: Further rows of `meta`.

    Returns:
        The content hash.

    Raises:
        sqlite3.IntegrityError: Two pages or redirects have the same key.
    """
    connection.executescript(_INDEXES)
    index_names(connection)
    meta = {
        "schema": str(SCHEMA),
        "kinds": json.dumps(kinds, sort_keys=True),
        "content_hash": content_hash(connection),
        **(about or {}),
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
    connection.commit()
    return meta["content_hash"]


def write(
    connection: sqlite3.Connection,
    articles: Iterable[Article],
    choices: Mapping[str, list[Choice]],
    triples: Iterable[tuple[str, str, str]],
    kinds: Mapping[str, Mapping[str, bool]],
) -> str:
    """Fill an empty database, in which every key is one page's or redirect's; returns its content hash.

    Raises:
        sqlite3.IntegrityError: Two pages or redirects have the same key.
    """
    from .staging import Staging  # which has its tables filled by what is above

    prepare(connection)
    staging = Staging(connection)
    for article in articles:
        if not staging.add(article):
            raise sqlite3.IntegrityError(f"two pages have the title {article.title}")
    staging.finish(strict=True)
    connection.executemany(
        "INSERT INTO choices VALUES (?, ?, ?, ?, ?)",
        [
            (title_key(name), place, name, choice.title, choice.description)
            for name, offered in sorted(choices.items())
            for place, choice in enumerate(offered, 1)
        ],
    )
    connection.executemany("INSERT INTO triples VALUES (?, ?, ?)", triples)
    content = seal(connection, kinds)
    connection.execute("VACUUM")
    return content


def content_hash(connection: sqlite3.Connection) -> str:
    """The hash of what a database really holds, to be compared with the one in its `meta`."""
    digest = hashlib.sha256(str(SCHEMA).encode())
    for table, rest in _HASHED.items():
        digest.update(table.encode())
        for row in connection.execute(f"SELECT {rest.replace(' ORDER BY', f' FROM {table} ORDER BY')}"):
            digest.update(_line(row))
    return digest.hexdigest()


def _line(row: tuple[Any, ...]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
