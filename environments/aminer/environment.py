"""The AMiner environment: its query APIs, and the records from which question templates are filled."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import groupby, permutations
from operator import itemgetter
from pathlib import Path
from typing import Any

from r_eval.environments.base import Environment, NotFound, query_api

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

SNAPSHOT = Path(__file__).parent / "snapshot" / "aminer.sqlite"
_ID = re.compile("[0-9a-f]{24}")


class AMiner(Environment):
    """AMiner, a database of scholars, their organizations, research interests, publications and co-authors.

    Scholars are found by name, organization or interest, publications by words of the title; everything else
    is asked for with the id that a search has given. Different scholars may have the same name: look at the
    organization.
    """

    def __init__(self, snapshot: str | None = None) -> None:
        """Open a snapshot (default: the embedded one).

        Raises:
            FileNotFoundError, ValueError: The file is missing, or not a snapshot that this version reads.
        """
        self._store = Store(Path(snapshot) if snapshot else SNAPSHOT)

    @property
    def version(self) -> str:
        """The first characters of the snapshot's content hash."""
        return self._store.meta["content_hash"][:16]

    @query_api
    def searchPerson(
        self, name: str | None = None, organization: str | None = None, interest: str | None = None
    ) -> list[Person]:
        """Find up to 10 scholars by name, organization and research interest; all that is given must match.

        Args:
            name: The scholar's name, or a part of it.
            organization: The organization where the scholar works now.
            interest: A research interest.
        """
        texts = [text if text and text.strip() else None for text in (name, organization, interest)]
        if texts == [None, None, None]:
            raise NotFound("searchPerson needs a name, an organization or an interest.")
        sql = "SELECT id, name, interests, num_citation, num_pubs, organization FROM person WHERE seq = ?"
        found = []
        for seq in self._store.find_persons(*texts):
            person_id, full, interests, *rest = self._store.rows(sql, (seq,))[0]
            found.append(Person(person_id, full, json.loads(interests), *rest))
        return found

    @query_api
    def searchPublication(self, publication_info: str) -> list[FoundPublication]:
        """Find up to 10 publications by their title or some words of it, the best match first.

        Args:
            publication_info: The title, or words of it.
        """
        if not publication_info.strip():
            raise NotFound("searchPublication needs the title of a publication, or some words of it.")
        sql = "SELECT id, title, year FROM publication WHERE seq = ?"
        found = self._store.find_publications(publication_info)
        return [FoundPublication(*self._store.rows(sql, (seq,))[0]) for seq in found]

    @query_api
    def getCoauthors(self, person_id: str) -> list[Coauthor]:
        """List everybody who has written a publication with a scholar, ordered by name.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        sql = """
            SELECT DISTINCT person.id, person.name, coalesce(relation.relation, 'coauthor')
            FROM authorship AS own
            JOIN authorship AS theirs ON theirs.publication = own.publication AND theirs.person <> own.person
            JOIN person ON person.seq = theirs.person
            LEFT JOIN relation ON relation.person = own.person AND relation.other = theirs.person
            WHERE own.person = ? ORDER BY person.name, person.id"""
        return [Coauthor(*row) for row in self._store.rows(sql, (self._person(person_id),))]

    @query_api
    def getPersonInterest(self, person_id: str) -> list[str]:
        """List a scholar's research interests, the main one first.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        sql = "SELECT interests FROM person WHERE seq = ?"
        return list(json.loads(self._store.rows(sql, (self._person(person_id),))[0][0]))

    @query_api
    def getPublication(self, publication_id: str) -> Publication:
        """Show a publication: abstract, authors, citations, year and venue.

        Args:
            publication_id: The publication's id (pub_id), from searchPublication or getPersonPubs.
        """
        sql = "SELECT seq, id, title, abstract, num_citation, year, venue FROM publication WHERE id = ?"
        rows = self._store.rows(sql, (publication_id,)) if _ID.fullmatch(publication_id) else []
        if not rows:
            raise NotFound(
                f"There is no publication with the id {_shown(publication_id)}. "
                "Ids (pub_id) come from searchPublication or getPersonPubs."
            )
        seq, pub_id, title, abstract, cited, year, venue = rows[0]
        return Publication(pub_id, title, abstract, self._authors(seq), cited, year, venue)

    @query_api
    def getPersonBasicInfo(self, person_id: str) -> PersonInfo:
        """Show a scholar's profile: gender, organization, position, bio, education, work and email.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        sql = """
            SELECT id, name, gender, organization, position, bio, education, work, email
            FROM person WHERE seq = ?"""
        row = self._store.rows(sql, (self._person(person_id),))[0]
        key, name, gender, organization, position, bio, education, work, email = row
        degrees = [Education(*entry) for entry in json.loads(education)]
        posts = [Employment(*entry) for entry in json.loads(work)]
        return PersonInfo(key, name, gender, organization, position, bio, degrees, posts, email)

    @query_api
    def getPersonPubs(self, person_id: str) -> list[PersonPublication]:
        """List all publications of a scholar, the most cited first.

        Args:
            person_id: The scholar's id, from searchPerson.
        """
        sql = """
            SELECT seq, id, title, num_citation, year FROM publication
            WHERE seq IN (SELECT publication FROM authorship WHERE person = ?)
            ORDER BY num_citation DESC, id"""
        return [
            PersonPublication(pub_id, title, cited, year, [author.name for author in self._authors(seq)])
            for seq, pub_id, title, cited, year in self._store.rows(sql, (self._person(person_id),))
        ]

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All records of a kind, in the order of the snapshot.

        - `person`: person_id, name, organization, position, gender, email, interests, num_pubs, num_citation,
          h_index, popularity (share of scholars who are cited less), namesakes (others of the same name).
        - `publication`: pub_id, title, year, venue, num_citation, authors (names in order).
        - `coauthorship`: every pair of scholars who wrote together, once each way: name, organization,
          coauthor, coauthor_organization, relation (what the co-author is to the scholar), num_joint
          (publications together), num_common (co-authors of both).

        Raises:
            KeyError: Another kind.
        """
        kinds = {"person": self._persons, "publication": self._publications, "coauthorship": self._pairs}
        return kinds[kind]()

    def _person(self, person_id: str) -> int:
        rows = []
        if _ID.fullmatch(person_id):
            rows = self._store.rows("SELECT seq FROM person WHERE id = ?", (person_id,))
        if not rows:
            raise NotFound(
                f"There is no scholar with the id {_shown(person_id)}. "
                "Ids (person_id) come from searchPerson, getCoauthors or the author_list of getPublication."
            )
        return int(rows[0][0])

    def _authors(self, publication: int) -> list[Author]:
        sql = """
            SELECT person.id, person.name FROM authorship JOIN person ON person.seq = authorship.person
            WHERE publication = ? ORDER BY place"""
        return [Author(*row) for row in self._store.rows(sql, (publication,))]

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


def _shown(identifier: str) -> str:
    """An id as it is quoted in a message: printable, and not longer than a real one by much."""
    return repr(identifier if len(identifier) <= 40 else identifier[:40] + "...")
