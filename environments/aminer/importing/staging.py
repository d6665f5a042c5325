"""From papers to scholars, in SQL: what has been read is kept in tables, and memory does not grow with it.

Papers go to the snapshot as they come. What is needed to make scholars of their authors goes to a scratch database
beside it: who stands on which paper under which name, topics, references. `finish` sorts that by scholar, on disk,
and holds one scholar at a time.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from .records import Affiliation, Paper

MOST_INTERESTS = 10
_json = json.JSONEncoder(ensure_ascii=False).encode
_BATCH = 20_000
_TABLES = """
CREATE UNIQUE INDEX publication_id ON publication (id);
CREATE TABLE scratch.mention (publication INTEGER, place INTEGER, key TEXT, name TEXT, organization TEXT);
CREATE TABLE scratch.topics (publication INTEGER PRIMARY KEY, topics TEXT);
CREATE TABLE scratch.reference (cited TEXT);
CREATE TABLE scratch.affiliation (key TEXT PRIMARY KEY, organization TEXT) WITHOUT ROWID;
CREATE TABLE scratch.scholar (seq INTEGER PRIMARY KEY, key TEXT NOT NULL);
CREATE TABLE scratch.citations (cited TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID;
"""
_CITATIONS = """
INSERT INTO scratch.citations SELECT cited, count(*) FROM scratch.reference GROUP BY cited;
UPDATE publication SET num_citation = coalesce((SELECT count FROM scratch.citations WHERE cited = publication.id), 0)
WHERE num_citation < 0;
"""
_SCHOLARS = """
INSERT INTO scratch.scholar (seq, key)
SELECT row_number() OVER (ORDER BY min(rowid)) - 1, key FROM scratch.mention GROUP BY key;
CREATE UNIQUE INDEX scratch.scholar_key ON scholar (key);
INSERT INTO authorship
SELECT publication, place, seq FROM scratch.mention CROSS JOIN scratch.scholar USING (key) ORDER BY mention.rowid;
"""
_WORKS = """
SELECT scholar.seq, scholar.key, mention.name, mention.organization, publication.seq, publication.num_citation
FROM scratch.mention CROSS JOIN scratch.scholar USING (key)
CROSS JOIN publication ON publication.seq = mention.publication
ORDER BY scholar.seq, publication.year, publication.seq
"""


class Staging:
    """Fills the tables of a prepared snapshot.

    Args:
        connection: To the snapshot; no transaction is open.
        scratch: A file for what is needed on the way; removed by the caller.
    """

    def __init__(self, connection: sqlite3.Connection, scratch: str) -> None:
        self._connection = connection
        connection.execute("ATTACH DATABASE ? AS scratch", (scratch,))
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -131072"):
            connection.execute(f"PRAGMA scratch.{pragma}")
        connection.executescript(_TABLES)
        self.publications = 0
        self.scholars = 0
        self._mentions: list[tuple[int, int, str, str, str]] = []
        self._topics: list[tuple[int, str]] = []
        self._references: list[tuple[str]] = []

    def add(self, paper: Paper) -> bool:
        """Keep a paper; False if there is one of its id already."""
        row = (
            self.publications,
            paper.key,
            paper.title,
            paper.abstract,
            paper.venue,
            paper.year,
            -1 if paper.cited is None else paper.cited,
        )
        cursor = self._connection.execute("INSERT OR IGNORE INTO publication VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        if not cursor.rowcount:
            return False
        for place, author in enumerate(paper.authors):
            self._mentions.append((self.publications, place, author.key, author.name, author.organization))
        if paper.topics:
            self._topics.append((self.publications, _json(paper.topics)))
        self._references.extend((key,) for key in paper.references)
        self.publications += 1
        if len(self._mentions) + len(self._topics) + len(self._references) > _BATCH:
            self._flush()
        return True

    def affiliate(self, affiliation: Affiliation) -> None:
        """Keep where a scholar works, for the case that no paper says it; the first word counts."""
        row = (affiliation.key, affiliation.organization)
        self._connection.execute("INSERT OR IGNORE INTO scratch.affiliation VALUES (?, ?)", row)

    def finish(self) -> None:
        """Make the scholars and their authorships, and count citations where the source did not."""
        self._flush()
        self._connection.executescript(_CITATIONS)
        self._connection.executescript(_SCHOLARS)
        batch: list[tuple[Any, ...]] = []
        for row in self._scholars():
            batch.append(row)
            if len(batch) >= _BATCH:
                self._insert(batch)
        self._insert(batch)
        self._connection.commit()
        self._connection.execute("DETACH DATABASE scratch")

    def _flush(self) -> None:
        for table, rows in (("mention", self._mentions), ("topics", self._topics), ("reference", self._references)):
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self._connection.executemany(f"INSERT INTO scratch.{table} VALUES ({marks})", rows)
        self._mentions, self._topics, self._references = [], [], []

    def _insert(self, batch: list[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * 14)
        self._connection.executemany(f"INSERT INTO person VALUES ({marks})", batch)
        self.scholars += len(batch)
        batch.clear()

    def _scholars(self) -> Iterator[tuple[Any, ...]]:
        """The rows of `person`, in order."""
        for (seq, key), rows in groupby(self._connection.execute(_WORKS), key=itemgetter(0, 1)):
            works = list(rows)
            cited = sorted((work[5] for work in works), reverse=True)
            organization = next((work[3] for work in reversed(works) if work[3]), "") or self._affiliation(key)
            interests = _json(self._interests([work[4] for work in works]))
            h_index = sum(count >= rank for rank, count in enumerate(cited, start=1))
            name = _usual([work[2] for work in works])
            about = ("", organization, "", "", "", interests, "[]", "[]")
            yield (seq, key, name, *about, len(works), sum(cited), h_index)

    def _affiliation(self, key: str) -> str:
        rows = self._connection.execute("SELECT organization FROM scratch.affiliation WHERE key = ?", (key,)).fetchall()
        return str(rows[0][0]) if rows else ""

    def _interests(self, publications: list[int]) -> list[str]:
        """The topics that weigh most over all papers, however they are capitalised."""
        weights: dict[str, float] = {}
        spelling: dict[str, str] = {}
        for publication in publications:
            sql = "SELECT topics FROM scratch.topics WHERE publication = ?"
            for (topics,) in self._connection.execute(sql, (publication,)):
                for topic, weight in json.loads(topics).items():
                    folded = topic.casefold()
                    spelling.setdefault(folded, topic)
                    weights[folded] = weights.get(folded, 0.0) + weight
        best = sorted(weights, key=lambda folded: (-round(weights[folded], 6), folded))
        return [spelling[folded] for folded in best[:MOST_INTERESTS]]


def _usual(names: list[str]) -> str:
    """The name that stands on most papers, of equals the longest."""
    counts = Counter(names)
    return min(counts, key=lambda name: (-counts[name], -len(name), name))
