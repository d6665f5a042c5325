"""The file in which scholars are kept: its tables, how an invented world fills them, and the hash of what they hold.

Tables are SQLite's, written once and then only read:

- `person`, `publication`, `authorship`, `relation`: what is known; `seq` is a record's number. A text that is not
  known is empty, a year 0.
- `person_text`, `publication_text`, `person_rank`, `publication_rank`, `word`: for searches, see `indexing`.
- `meta`: `schema`, `scholars`, `publications`, `content_hash`; of an invented world also `seed`, of one's own
  `format`.

It is written by `scholars`, between `prepare` and `seal`, or by `scripts/data/aminer`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from .indexing import index_persons, index_publications

SCHEMA = 1
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE word (field TEXT, word TEXT, count INTEGER, PRIMARY KEY (field, word)) WITHOUT ROWID;
CREATE TABLE person (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, gender TEXT NOT NULL, organization TEXT NOT
    NULL, position TEXT NOT NULL, email TEXT NOT NULL, bio TEXT NOT NULL, interests TEXT NOT NULL,
    education TEXT NOT NULL, work TEXT NOT NULL,
    num_pubs INTEGER NOT NULL, num_citation INTEGER NOT NULL, h_index INTEGER NOT NULL);
CREATE TABLE publication (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, abstract TEXT NOT NULL, venue TEXT NOT
    NULL, year INTEGER NOT NULL, num_citation INTEGER NOT NULL);
CREATE TABLE authorship (
    publication INTEGER, place INTEGER, person INTEGER NOT NULL, PRIMARY KEY (publication, place)) WITHOUT
ROWID; CREATE TABLE relation (
    person INTEGER, other INTEGER, relation TEXT NOT NULL, PRIMARY KEY (person, other)) WITHOUT ROWID;
CREATE TABLE person_rank (rank INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE publication_rank (rank INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE VIRTUAL TABLE person_text USING fts5(
    name, organization, interests, content='', detail='column', columnsize=0, prefix='1 2 3',
    tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
CREATE VIRTUAL TABLE publication_text USING fts5(
    title, content='', detail='none', columnsize=0, prefix='2 3 4',
    tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
"""
_INDEXES = """
CREATE UNIQUE INDEX IF NOT EXISTS person_id ON person (id);
CREATE UNIQUE INDEX IF NOT EXISTS publication_id ON publication (id);
CREATE INDEX IF NOT EXISTS person_papers ON authorship (person);
"""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
TABLES = {"person": 14, "publication": 7, "authorship": 3, "relation": 3}
"""The tables that hold the world, with their number of columns; the others follow from them."""


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty database. Nothing is safe against a crash until the file is whole."""
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")
    connection.executescript(_TABLES)


def seal(connection: sqlite3.Connection, content: str, about: Mapping[str, Any]) -> None:
    """Index filled tables and say what they hold.

    Args:
        connection: `person`, `publication`, `authorship` and `relation` are filled.
        content: Their content hash.
        about: Further rows of `meta`.
    """
    connection.executescript(_INDEXES)
    index_persons(connection)
    index_publications(connection)
    meta = {"schema": SCHEMA, **about, "content_hash": content}
    for name, table in (("scholars", "person"), ("publications", "publication")):
        meta[name] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [(name, str(value)) for name, value in meta.items()])
    connection.commit()


def content_hash(connection: sqlite3.Connection) -> str:
    """The hash of what a database really holds, to be compared with the one in its `meta`."""
    order = {"authorship": "publication, place", "relation": "person, other"}
    digests = []
    for table in TABLES:
        digest = hashlib.sha256()
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order.get(table, 'seq')}"):
            digest.update(line(row))
        digests.append(digest.hexdigest())
    return combine(digests)


def line(row: Sequence[Any]) -> bytes:
    """A row as it is hashed."""
    return _ENCODER.encode(row).encode() + b"\n"


def combine(digests: list[str]) -> str:
    """The content hash of tables whose hashes these are."""
    return hashlib.sha256(f"{SCHEMA} {' '.join(digests)}".encode()).hexdigest()
