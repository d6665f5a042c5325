"""The file in which a world is kept: its tables, how they are filled, and the hash of what they hold.

Tables are SQLite's, written once and then only read:

- `person`, `publication`, `authorship`, `relation`: the world; `seq` is a record's number in it.
- `person_text`, `publication_text`: full-text indexes without the text itself. Their row numbers are ranks by
  citations (1 is the most cited), which `person_rank` and `publication_rank` lead back to `seq`; so a search
  reads its hits in the order in which they are shown and stops after the first few, however many there are.
- `word`: the words of every indexed column with the number of records that hold them, for mending typing
  errors.
- `meta`: `schema`, `seed`, `scholars`, `publications`, `content_hash`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .matching import key, name_key, words
from .world import Paper, Scholar
from .writing import biography

SCHEMA = 1
_BATCH = 5000
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
CREATE UNIQUE INDEX person_id ON person (id);
CREATE UNIQUE INDEX publication_id ON publication (id);
CREATE INDEX person_papers ON authorship (person);
"""
_WORLD = {"person": 14, "publication": 7, "authorship": 3, "relation": 3}
"""The tables that hold the world, with their number of columns; the others follow from them."""


def write(connection: sqlite3.Connection, world: Iterable[list[Scholar]], seed: int) -> str:
    """Fill an empty database with a world, a community at a time; returns its content hash."""
    connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")
    connection.executescript(_TABLES)
    hashes = {table: hashlib.sha256() for table in _WORLD}
    counts: Counter[str] = Counter()
    for community in world:
        for table, rows in _rows(community).items():
            marks = ", ".join("?" * _WORLD[table])
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            hashes[table].update(b"".join(map(_line, rows)))
            counts[table] += len(rows)
    connection.executescript(_INDEXES)
    _index_persons(connection)
    _index_publications(connection)
    content = _combine([value.hexdigest() for value in hashes.values()])
    meta = {
        "schema": SCHEMA,
        "seed": seed,
        "scholars": counts["person"],
        "publications": counts["publication"],
    }
    meta_rows = [(name, str(value)) for name, value in {**meta, "content_hash": content}.items()]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta_rows)
    connection.commit()
    return content


def content_hash(connection: sqlite3.Connection) -> str:
    """The hash of what a database really holds, to be compared with the one in its `meta`."""
    order = {"authorship": "publication, place", "relation": "person, other"}
    digests = []
    for table in _WORLD:
        digest = hashlib.sha256()
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order.get(table, 'seq')}"):
            digest.update(_line(row))
        digests.append(digest.hexdigest())
    return _combine(digests)


def _line(row: Sequence[Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _combine(digests: list[str]) -> str:
    return hashlib.sha256(f"{SCHEMA} {' '.join(digests)}".encode()).hexdigest()


def _rows(community: list[Scholar]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of one community, each table in the order of its key."""
    papers = sorted({paper.number: paper for scholar in community for paper in scholar.papers}.items())
    return {
        "person": [_person(scholar) for scholar in community],
        "publication": [_publication(paper) for _, paper in papers],
        "authorship": [
            (number, place, author.number) for number, paper in papers for place, author in enumerate(paper.authors)
        ],
        "relation": sorted(
            row
            for scholar in community
            if scholar.advisor is not None
            for row in (
                (scholar.number, scholar.advisor.number, "advisor"),
                (scholar.advisor.number, scholar.number, "advisee"),
            )
        ),
    }


def _person(scholar: Scholar) -> tuple[Any, ...]:
    interests = scholar.interests()
    doctorate = scholar.education[-1][1] if scholar.doctorate else None
    return (
        scholar.number, scholar.person_id, scholar.name, scholar.gender, scholar.organization,
        scholar.work[-1][0], scholar.email,
        biography(scholar.name, scholar.gender, scholar.work, interests, doctorate),
        _json(interests), _json(scholar.education), _json(scholar.work), len(scholar.papers),
        sum(paper.num_citation for paper in scholar.papers), scholar.h_index(),
    )  # fmt: skip


def _publication(paper: Paper) -> tuple[Any, ...]:
    return (
        paper.number, paper.pub_id, paper.title, paper.abstract, paper.venue, paper.year, paper.num_citation,
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _index_persons(connection: sqlite3.Connection) -> None:
    counts: dict[str, Counter[str]] = {field: Counter() for field in ("name", "organization", "interests")}
    rows = connection.execute("SELECT seq, name, organization, interests FROM person ORDER BY num_citation DESC, id")
    rank = 0
    for batch in _batches(rows):
        ranks, texts = [], []
        for seq, name, organization, interests in batch:
            rank += 1
            folded = [words(name), words(organization)]
            topics = [words(topic) for topic in json.loads(interests)]
            every = list(dict.fromkeys(word for topic in topics for word in topic))
            for counter, found in zip(counts.values(), [*folded, every], strict=True):
                counter.update(found)
            keys = [[name_key(folded[0])], [key(folded[1])], [key(topic) for topic in topics]]
            ranks.append((rank, seq))
            texts.append((rank, *map(" ".join, (a + b for a, b in zip([*folded, every], keys, strict=True)))))
        connection.executemany("INSERT INTO person_rank VALUES (?, ?)", ranks)
        connection.executemany(
            "INSERT INTO person_text (rowid, name, organization, interests) VALUES (?, ?, ?, ?)", texts
        )
    _finish_index(connection, "person_text", counts)


def _index_publications(connection: sqlite3.Connection) -> None:
    counts: Counter[str] = Counter()
    rank = 0
    for batch in _batches(connection.execute("SELECT seq, title FROM publication ORDER BY num_citation DESC, id")):
        ranks, texts = [], []
        for seq, title in batch:
            rank += 1
            found = words(title)
            counts.update(set(found))
            ranks.append((rank, seq))
            texts.append((rank, " ".join([*found, key(found)])))
        connection.executemany("INSERT INTO publication_rank VALUES (?, ?)", ranks)
        connection.executemany("INSERT INTO publication_text (rowid, title) VALUES (?, ?)", texts)
    _finish_index(connection, "publication_text", {"title": counts})


def _finish_index(connection: sqlite3.Connection, table: str, counts: dict[str, Counter[str]]) -> None:
    connection.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
    for field, counter in counts.items():
        rows = [(field, word, count) for word, count in sorted(counter.items())]
        connection.executemany("INSERT INTO word VALUES (?, ?, ?)", rows)


def _batches(cursor: sqlite3.Cursor) -> Iterator[list[Any]]:
    while batch := cursor.fetchmany(_BATCH):
        yield batch
