"""The file in which a wiki is kept: its tables, how they are filled, and the hash of what they hold.

Tables are SQLite's, written once and then only read:

- `pages`: the articles, the most popular first, so that a smaller `id` means a more popular page. `key` is
  `folding.title_key` of the title. `text` is a lead paragraph, then sections: a line "== Heading ==" and
  paragraphs, everything apart by blank lines.
- `redirects`: further keys that lead to a page. Their `id`s go on where those of `pages` end.
- `choices`: the lines of a disambiguation page, in the order of `place`; `name` is the ambiguous title.
- `triples`: what the pages say, as subject, relation, object.
- `names`: full-text index of the trigrams of all keys of `pages` and `redirects`, by `id`, without the text itself;
  `trigrams` says how many keys hold each, so that a search for similar titles can begin with the rarest.
- `meta`: `schema`; `kinds`, the relations of every kind of page as JSON, {kind: {relation: may it have several
  values}}; `content_hash`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .folding import title_key

SCHEMA = 1
TABLES = """
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
CREATE TABLE trigrams (trigram TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE names USING fts5(
    key, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1');
"""
INDEXES = """
CREATE UNIQUE INDEX page_key ON pages (key);
CREATE INDEX page_kind ON pages (kind);
CREATE UNIQUE INDEX redirect_key ON redirects (key);
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


def write(
    connection: sqlite3.Connection,
    articles: Iterable[Article],
    choices: Mapping[str, list[Choice]],
    triples: Iterable[tuple[str, str, str]],
    kinds: Mapping[str, Mapping[str, bool]],
) -> str:
    """Fill an empty database; returns its content hash.

    Raises:
        sqlite3.IntegrityError: Two pages or redirects have the same key.
    """
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
    connection.executescript(TABLES)
    ranked = sorted(articles, key=lambda article: (-article.popularity, article.title))
    ids = {article.title: number for number, article in enumerate(ranked, 1)}
    rows = [(ids[a.title], a.title, title_key(a.title), a.text, a.popularity, a.kind) for a in ranked]
    connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?)", rows)
    leading = sorted((title_key(name), ids[a.title]) for a in ranked for name in a.redirects)
    redirects = [(len(ids) + number, key, page) for number, (key, page) in enumerate(leading, 1)]
    connection.executemany("INSERT INTO redirects VALUES (?, ?, ?)", redirects)
    connection.executemany(
        "INSERT INTO choices VALUES (?, ?, ?, ?, ?)",
        [
            (title_key(name), place, name, choice.title, choice.description)
            for name, offered in sorted(choices.items())
            for place, choice in enumerate(offered, 1)
        ],
    )
    connection.executemany("INSERT INTO triples VALUES (?, ?, ?)", triples)
    _index(connection)
    meta = {
        "schema": str(SCHEMA),
        "kinds": json.dumps(kinds, sort_keys=True),
        "content_hash": content_hash(connection),
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
    connection.commit()
    connection.execute("VACUUM")
    return meta["content_hash"]


def content_hash(connection: sqlite3.Connection) -> str:
    """The hash of what a database really holds, to be compared with the one in its `meta`."""
    digest = hashlib.sha256(str(SCHEMA).encode())
    for table, rest in _HASHED.items():
        digest.update(table.encode())
        for row in connection.execute(f"SELECT {rest.replace(' ORDER BY', f' FROM {table} ORDER BY')}"):
            digest.update(_line(row))
    return digest.hexdigest()


def trigrams(key: str) -> set[str]:
    """The runs of three characters of a key, as SQLite's tokenizer finds them."""
    return {key[start : start + 3] for start in range(len(key) - 2)}


def _line(row: tuple[Any, ...]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _index(connection: sqlite3.Connection) -> None:
    connection.executescript(INDEXES)
    counts: Counter[str] = Counter()
    for number, key in connection.execute("SELECT id, key FROM pages UNION ALL SELECT id, key FROM redirects"):
        counts.update(trigrams(key))
        connection.execute("INSERT INTO names (rowid, key) VALUES (?, ?)", (number, key))
    connection.execute("INSERT INTO names (names) VALUES ('optimize')")
    connection.executemany("INSERT INTO trigrams VALUES (?, ?)", sorted(counts.items()))
