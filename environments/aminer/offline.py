"""A snapshot file as a source of the query APIs, and of the records from which question templates are filled."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import groupby, permutations
from operator import itemgetter
from pathlib import Path
from typing import Any

from .profiles import profiles
from .shapes import (
    Author,
    Coauthor,
    Education,
    Employment,
    FoundPublication,
    Person,
    PersonInfo,
    PersonPublication,
    Publication,
)
from .store import Store


class Offline:
    """One snapshot.

    Raises:
        FileNotFoundError, ValueError: The file is missing, or not a snapshot that this version reads.
    """

    def __init__(self, path: Path) -> None:
        self._store = Store(path)

    @property
    def version(self) -> str:
        """The first characters of the snapshot's content hash."""
        return self._store.meta["content_hash"][:16]

    def find_persons(self, name: str | None, organization: str | None, interest: str | None) -> list[Person]:
        sql = "SELECT id, name, interests, num_citation, num_pubs, organization FROM person WHERE seq = ?"
        found = []
        for seq in self._store.find_persons(name, organization, interest):
            person_id, full, interests, *rest = self._store.rows(sql, (seq,))[0]
            found.append(Person(person_id, full, json.loads(interests), *rest))
        return found

    def find_publications(self, text: str) -> list[FoundPublication]:
        sql = "SELECT id, title, year FROM publication WHERE seq = ?"
        return [FoundPublication(*self._store.rows(sql, (seq,))[0]) for seq in self._store.find_publications(text)]

    def coauthors(self, person_id: str) -> list[Coauthor] | None:
        sql = """
            SELECT DISTINCT person.id, person.name, coalesce(relation.relation, 'coauthor')
            FROM authorship AS own
            JOIN authorship AS theirs ON theirs.publication = own.publication AND theirs.person <> own.person
            JOIN person ON person.seq = theirs.person
            LEFT JOIN relation ON relation.person = own.person AND relation.other = theirs.person
            WHERE own.person = ? ORDER BY person.name, person.id"""
        seq = self._person(person_id)
        return None if seq is None else [Coauthor(*row) for row in self._store.rows(sql, (seq,))]

    def interests(self, person_id: str) -> list[str] | None:
        rows = self._store.rows("SELECT interests FROM person WHERE id = ?", (person_id,))
        return list(json.loads(rows[0][0])) if rows else None

    def profile(self, person_id: str) -> PersonInfo | None:
        sql = """
            SELECT id, name, gender, organization, position, bio, education, work, email
            FROM person WHERE id = ?"""
        rows = self._store.rows(sql, (person_id,))
        if not rows:
            return None
        key, name, gender, organization, position, bio, education, work, email = rows[0]
        degrees = [Education(*entry) for entry in json.loads(education)]
        posts = [Employment(*entry) for entry in json.loads(work)]
        return PersonInfo(key, name, gender, organization, position, bio, degrees, posts, email)

    def person_publications(self, person_id: str) -> list[PersonPublication] | None:
        sql = """
            SELECT publication.id, title, publication.num_citation, year, person.name
            FROM authorship AS own
            JOIN publication ON publication.seq = own.publication
            JOIN authorship AS every ON every.publication = own.publication
            JOIN person ON person.seq = every.person
            WHERE own.person = ? ORDER BY publication.num_citation DESC, publication.id, every.place"""
        seq = self._person(person_id)
        if seq is None:
            return None
        papers = groupby(self._store.rows(sql, (seq,)), key=itemgetter(0, 1, 2, 3))
        return [
            PersonPublication(pub_id, title, cited, year, [row[4] for row in rows])
            for (pub_id, title, cited, year), rows in papers
        ]

    def publication(self, publication_id: str) -> Publication | None:
        sql = "SELECT seq, id, title, abstract, num_citation, year, venue FROM publication WHERE id = ?"
        rows = self._store.rows(sql, (publication_id,))
        if not rows:
            return None
        seq, pub_id, title, abstract, cited, year, venue = rows[0]
        sql = """
            SELECT person.id, person.name FROM authorship JOIN person ON person.seq = authorship.person
            WHERE publication = ? ORDER BY place"""
        authors = [Author(*row) for row in self._store.rows(sql, (seq,))]
        return Publication(pub_id, title, abstract, authors, cited, year, venue)

    def records(self, kind: str) -> list[dict[str, Any]]:
        kinds: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "person": self._persons,
            "publication": self._publications,
            "authorship": self._authorships,
            "coauthorship": self._pairs,
            "profile": partial(profiles, self._store),
        }
        return kinds[kind]()

    def _person(self, person_id: str) -> int | None:
        rows = self._store.rows("SELECT seq FROM person WHERE id = ?", (person_id,))
        return int(rows[0][0]) if rows else None

    def _persons(self) -> list[dict[str, Any]]:
        fields = ("person_id", "name", "organization", "position", "gender", "email", "interests", "num_pubs")
        names = (*fields, "num_citation", "h_index")
        sql = f"SELECT id, {', '.join(names[1:])} FROM person ORDER BY seq"
        persons = [dict(zip(names, row, strict=True)) for row in self._store.stream(sql)]
        bearers = Counter(person["name"] for person in persons)
        below, popularity = 0, {}
        for cited, count in sorted(Counter(person["num_citation"] for person in persons).items()):
            popularity[cited] = round(below / len(persons), 4)
            below += count
        for person in persons:
            person["interests"] = json.loads(person["interests"])
            person["popularity"] = popularity[person["num_citation"]]
            person["namesakes"] = bearers[person["name"]] - 1
        return persons

    def _publications(self) -> list[dict[str, Any]]:
        names = ("pub_id", "title", "year", "venue", "num_citation")
        sql = f"SELECT id, {', '.join(names[1:])} FROM publication ORDER BY seq"
        records: list[dict[str, Any]] = [
            {**dict(zip(names, row, strict=True)), "authors": []} for row in self._store.stream(sql)
        ]
        sql = """
            SELECT publication, name FROM authorship JOIN person ON person.seq = authorship.person
            ORDER BY publication, place"""
        for publication, name in self._store.stream(sql):
            records[publication]["authors"].append(name)
        return records

    def _authorships(self) -> list[dict[str, Any]]:
        names = ("name", "organization", "num_pubs", "title", "year", "venue", "num_citation", "place")
        sql = """
            SELECT name, organization, num_pubs, title, year, venue, publication.num_citation, place + 1
            FROM authorship JOIN person ON person.seq = authorship.person
            JOIN publication ON publication.seq = authorship.publication ORDER BY publication.seq, place"""
        return [dict(zip(names, row, strict=True)) for row in self._store.stream(sql)]

    def _pairs(self) -> list[dict[str, Any]]:
        people = {
            seq: (name, place) for seq, name, place in self._store.stream("SELECT seq, name, organization FROM person")
        }
        relations = {(one, two): word for one, two, word in self._store.stream("SELECT * FROM relation")}
        joint: dict[int, Counter[int]] = {seq: Counter() for seq in people}
        rows = self._store.stream("SELECT publication, person FROM authorship ORDER BY publication, place")
        for _, team in groupby(rows, key=itemgetter(0)):
            for (_, one), (_, two) in permutations(team, 2):
                joint[one][two] += 1
        return [
            {
                "name": people[one][0],
                "organization": people[one][1],
                "coauthor": people[two][0],
                "coauthor_organization": people[two][1],
                "relation": relations.get((one, two), "coauthor"),
                "num_joint": joint[one][two],
                "num_common": len(joint[one].keys() & joint[two].keys()),
            }
            for one in people
            for two in sorted(joint[one])
        ]
