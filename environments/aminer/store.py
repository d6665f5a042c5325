"""Reads of a snapshot file: every one by an index, none grows with the number of scholars.

A search goes down a ladder of queries, from the strictest to the most tolerant, and stops at the first that
finds something: a careful request is not answered with lookalikes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from r_eval.environments.snapshots import SnapshotStore

from . import matching
from .snapshot import SCHEMA
from .source import MOST_HITS

_MOST_WORDS = 24
"""Words of an argument that are looked for; a name or an organisation with more matches nothing."""
_MOST_CHARACTERS = 2000
_MOST_COMPARED = 12
_CANDIDATES = 200
"""Half-matching titles that are compared word by word."""


class Store(SnapshotStore):
    """One AMiner snapshot."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "AMiner", SCHEMA)
        self._words = {field: _Words(self, field) for field in ("name", "organization", "interests", "title")}

    def find_persons(self, name: str | None, organization: str | None, interest: str | None) -> list[int]:
        """Sequence numbers of the scholars who match all that is given, best first, at most `MOST_HITS`."""
        given: dict[str, list[str]] = {}
        for field, text in (("name", name), ("organization", organization), ("interests", interest)):
            if text is not None:
                given[field] = matching.words(text[:_MOST_CHARACTERS])
                if not 0 < len(given[field]) <= _MOST_WORDS or len(text) > _MOST_CHARACTERS:
                    return []
        hits: list[int] = []
        tried: set[str] = set()
        for query in self._person_queries(given):
            if query in tried:
                continue
            tried.add(query)
            hits = self._ranks("person_text", query, MOST_HITS)
            if hits:
                break
        return [self.rows("SELECT seq FROM person_rank WHERE rank = ?", (rank,))[0][0] for rank in hits]

    def find_publications(self, text: str) -> list[int]:
        """Sequence numbers of the publications whose titles match, best first, at most `MOST_HITS`."""
        found = matching.words(text[:_MOST_CHARACTERS])
        if not found:
            return []
        hits = self._ranks("publication_text", matching.quote(matching.key(found)), MOST_HITS)
        telling = matching.telling(found)[:_MOST_WORDS]
        hits = hits or self._ranks("publication_text", matching.all_words(telling), MOST_HITS)
        sequence = "SELECT seq FROM publication_rank WHERE rank = ?"
        if hits:
            return [self.rows(sequence, (rank,))[0][0] for rank in hits]
        return [self.rows(sequence, (rank,))[0][0] for rank in self._similar_titles(telling)]

    def _person_queries(self, given: dict[str, list[str]]) -> Iterator[str]:
        """From "exactly this" to "mistyped"; a hit of an earlier query is a better match."""
        telling = {field: matching.telling(found) for field, found in given.items()}
        exact = {
            field: matching.quote((matching.name_key if field == "name" else matching.key)(found))
            for field, found in given.items()
        }
        loose = {field: matching.all_words(found) for field, found in telling.items()}
        yield _columns(exact)
        yield _columns({**loose, **{field: exact[field] for field in exact if field == "name"}})
        yield _columns({**loose, **{field: exact[field] for field in exact if field != "name"}})
        yield _columns(loose)
        for form in (matching.initials, matching.prefixes):
            yield _columns({field: form(found) for field, found in telling.items()})
        yield _columns({field: matching.corrected(found, self._words[field]) for field, found in telling.items()})

    def _similar_titles(self, wanted: list[str]) -> list[int]:
        """Ranks of titles that hold most of the words; unknown words are mended, or else passed over."""
        known = self._words["title"]
        near = {word: [word] if word in known else matching.near_words(word, known) for word in wanted}
        choices = [options for options in near.values() if options]
        choices.sort(key=lambda options: sum(known[word] for word in options))
        groups = [matching.any_word(options) for options in choices[:_MOST_COMPARED]]
        if not groups:
            return self._ranks("publication_text", matching.prefixes(wanted), MOST_HITS)
        for query in _weaker(groups):
            ranks = self._ranks("publication_text", query, _CANDIDATES)
            if ranks:
                best = sorted(ranks, key=lambda rank: (-self._overlap(rank, choices), rank))
                return best[:MOST_HITS]
        return []

    def _overlap(self, rank: int, choices: list[list[str]]) -> int:
        sql = "SELECT title FROM publication JOIN publication_rank USING (seq) WHERE rank = ?"
        held = set(matching.words(self.rows(sql, (rank,))[0][0]))
        return sum(not held.isdisjoint(options) for options in choices)

    def _ranks(self, table: str, query: str, limit: int) -> list[int]:
        sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid LIMIT {limit}"
        return [rank for (rank,) in self.rows(sql, (query,))]


class _Words:
    """The words of a field. They are looked up in the file: a large one has millions."""

    def __init__(self, store: Store, field: str) -> None:
        self._store = store
        self._field = field

    def __getitem__(self, word: str) -> int:
        """In how many records the word stands; 0 for one that is not known."""
        rows = self._store.rows("SELECT count FROM word WHERE field = ? AND word = ?", (self._field, word))
        return int(rows[0][0]) if rows else 0

    def __contains__(self, word: str) -> bool:
        return self[word] > 0

    def among(self, candidates: Collection[str]) -> list[str]:
        sql = "SELECT word FROM word WHERE field = ? AND word IN (SELECT value FROM json_each(?))"
        return [word for (word,) in self._store.rows(sql, (self._field, json.dumps(list(candidates))))]


def _columns(queries: dict[str, str]) -> str:
    return " AND ".join(f"({field} : ({query}))" for field, query in queries.items())


def _weaker(groups: list[str]) -> Iterator[str]:
    """Queries over groups, the rarest first: all of them, all but one, any two of the rarest four, the
    rarest."""
    yield " AND ".join(groups)
    if len(groups) > 2:
        yield _any_of(itertools.combinations(groups, len(groups) - 1))
    if len(groups) > 3:
        yield _any_of(itertools.combinations(groups[:4], 2))
    yield from groups[:2]


def _any_of(combinations: Iterable[tuple[str, ...]]) -> str:
    return " OR ".join(f"({' AND '.join(combination)})" for combination in combinations)
