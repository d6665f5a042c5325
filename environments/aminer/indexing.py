"""The indexes by which scholars and publications are found by their words.

- `person_text`, `publication_text`: full-text indexes without the text itself. Their row numbers are ranks by
  citations (1 is the most cited), which `person_rank` and `publication_rank` lead back to `seq`; so a search
  reads its hits in the order in which they are shown and stops after the first few, however many there are.
- `word`: the words of every indexed column with the number of records that hold them, for mending typing
  errors.

Memory does not grow with the number of records.
"""

from __future__ import annotations

import functools
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from .matching import key, name_key, words

_BATCH = 5000
_MOST_WORDS = 300_000
"""Different words held in memory."""


def index_persons(connection: sqlite3.Connection) -> None:
    """Fill `person_text`, `person_rank` and the words of names, organisations and interests."""
    words_of = Words(connection)
    rows = connection.execute("SELECT seq, name, organization, interests FROM person ORDER BY num_citation DESC, id")
    rank = 0
    for batch in _batches(rows):
        ranks, texts = [], []
        for seq, name, organization, interests in batch:
            rank += 1
            named, (placed, place_key) = words(name), _folded(organization)
            topics = [_folded(topic) for topic in json.loads(interests)]
            every = list(dict.fromkeys(word for found, _ in topics for word in found))
            for field, found in (("name", named), ("organization", placed), ("interests", every)):
                words_of.add(field, found)
            columns = ([*named, name_key(named)], [*placed, place_key], [*every, *(key for _, key in topics)])
            ranks.append((rank, seq))
            texts.append((rank, *map(" ".join, columns)))
        connection.executemany("INSERT INTO person_rank VALUES (?, ?)", ranks)
        connection.executemany(
            "INSERT INTO person_text (rowid, name, organization, interests) VALUES (?, ?, ?, ?)", texts
        )
    words_of.flush()
    connection.execute("INSERT INTO person_text(person_text) VALUES ('optimize')")


def index_publications(connection: sqlite3.Connection) -> None:
    """Fill `publication_text`, `publication_rank` and the words of titles."""
    words_of = Words(connection)
    rank = 0
    for batch in _batches(connection.execute("SELECT seq, title FROM publication ORDER BY num_citation DESC, id")):
        ranks, texts = [], []
        for seq, title in batch:
            rank += 1
            found = words(title)
            words_of.add("title", set(found))
            ranks.append((rank, seq))
            texts.append((rank, " ".join([*found, key(found)])))
        connection.executemany("INSERT INTO publication_rank VALUES (?, ?)", ranks)
        connection.executemany("INSERT INTO publication_text (rowid, title) VALUES (?, ?)", texts)
    words_of.flush()
    connection.execute("INSERT INTO publication_text(publication_text) VALUES ('optimize')")


@functools.lru_cache(2**16)
def _folded(text: str) -> tuple[list[str], str]:
    """The words of an organisation or a topic, which many share, and their key."""
    found = words(text)
    return found, key(found)


class Words:
    """Counts of the words of every field, kept in the table `word`; only some of them are ever held in memory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, field: str, found: Iterable[str]) -> None:
        """Count each of the words once."""
        self._counts.update((field, word) for word in found)
        if len(self._counts) > _MOST_WORDS:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        rows = [(field, word, count) for (field, word), count in sorted(self._counts.items())]
        self._connection.executemany(
            "INSERT INTO word VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count", rows
        )
        self._counts.clear()


def _batches(cursor: sqlite3.Cursor) -> Iterator[list[Any]]:
    while batch := cursor.fetchmany(_BATCH):
        yield batch
