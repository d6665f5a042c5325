"""A file of scholars as a source of the query APIs, and of the records from which question templates are filled."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .profiles import profiles
from .scholars import Paper, read_scholars
from .scholars import Person as Known
from .search import WordIndex, all_matching, best_matching
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


class Offline:
    """The scholars of one file; they never change, so that any number of threads may ask.

    Raises:
        UserError: See `read_scholars`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._world = read_scholars(path)
        self.version = self._world.version
        persons, papers = self._world.persons.values(), self._world.papers.values()
        self._ranked = sorted(persons, key=lambda person: (-person.num_citation, person.scholar.id))
        self._indexes = {
            "name": WordIndex(([person.scholar.name] for person in self._ranked), sort=True),
            "organization": WordIndex([person.scholar.organization] for person in self._ranked),
            "interest": WordIndex(person.scholar.interests for person in self._ranked),
        }
        self._ranked_papers = sorted(papers, key=_by_citations)
        self._titles = WordIndex([paper.publication.title] for paper in self._ranked_papers)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return opened, (self.path,)

    def find_persons(self, name: str | None, organization: str | None, interest: str | None) -> list[Person]:
        given = {"name": name, "organization": organization, "interest": interest}
        places = all_matching(self._indexes, {field: text for field, text in given.items() if text is not None})
        return [_found(self._ranked[place]) for place in places]

    def find_publications(self, text: str) -> list[FoundPublication]:
        found = (self._ranked_papers[place].publication for place in best_matching(self._titles, text))
        return [FoundPublication(one.id, one.title, one.year) for one in found]

    def coauthors(self, person_id: str) -> list[Coauthor] | None:
        person = self._world.persons.get(person_id)
        if person is None:
            return None
        others = sorted((self._world.persons[key].scholar.name, key) for key in person.coauthors())
        return [Coauthor(key, name, self._relation(person_id, key)) for name, key in others]

    def interests(self, person_id: str) -> list[str] | None:
        person = self._world.persons.get(person_id)
        return None if person is None else list(person.scholar.interests)

    def profile(self, person_id: str) -> PersonInfo | None:
        person = self._world.persons.get(person_id)
        if person is None:
            return None
        one = person.scholar
        degrees = [Education(*entry) for entry in one.education]
        posts = [Employment(*entry) for entry in one.work]
        return PersonInfo(
            one.id, one.name, one.gender, one.organization, one.position, one.bio, degrees, posts, one.email
        )

    def person_publications(self, person_id: str) -> list[PersonPublication] | None:
        person = self._world.persons.get(person_id)
        if person is None:
            return None
        papers = ((paper.publication, _names(paper)) for paper in sorted(person.papers, key=_by_citations))
        return [PersonPublication(one.id, one.title, one.num_citation, one.year, names) for one, names in papers]

    def publication(self, publication_id: str) -> Publication | None:
        paper = self._world.papers.get(publication_id)
        if paper is None:
            return None
        one = paper.publication
        authors = [Author(author.scholar.id, author.scholar.name) for author in paper.authors.values()]
        return Publication(one.id, one.title, one.abstract, authors, one.num_citation, one.year, one.venue)

    def records(self, kind: str) -> list[dict[str, Any]]:
        kinds: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "person": self._persons,
            "publication": self._publications,
            "authorship": self._authorships,
            "coauthorship": self._pairs,
            "profile": lambda: profiles(self._world),
        }
        return kinds[kind]()

    def _relation(self, person_id: str, other_id: str) -> str:
        """What the other is to a scholar."""
        if self._world.persons[person_id].scholar.advisor == other_id:
            return "advisor"
        return "advisee" if self._world.persons[other_id].scholar.advisor == person_id else "coauthor"

    def _persons(self) -> list[dict[str, Any]]:
        known = list(self._world.persons.values())
        bearers = Counter(person.scholar.name for person in known)
        below, popularity = 0, {}
        for cited, count in sorted(Counter(person.num_citation for person in known).items()):
            popularity[cited] = round(below / len(known), 4)
            below += count
        return [
            {
                "person_id": person.scholar.id,
                "name": person.scholar.name,
                "organization": person.scholar.organization,
                "position": person.scholar.position,
                "gender": person.scholar.gender,
                "email": person.scholar.email,
                "interests": list(person.scholar.interests),
                "num_pubs": len(person.papers),
                "num_citation": person.num_citation,
                "h_index": _h_index(person),
                "popularity": popularity[person.num_citation],
                "namesakes": bearers[person.scholar.name] - 1,
            }
            for person in known
        ]

    def _publications(self) -> list[dict[str, Any]]:
        return [
            {
                "pub_id": paper.publication.id,
                "title": paper.publication.title,
                "year": paper.publication.year,
                "venue": paper.publication.venue,
                "num_citation": paper.publication.num_citation,
                "authors": _names(paper),
            }
            for paper in self._world.papers.values()
        ]

    def _authorships(self) -> list[dict[str, Any]]:
        return [
            {
                "name": author.scholar.name,
                "organization": author.scholar.organization,
                "num_pubs": len(author.papers),
                "title": paper.publication.title,
                "year": paper.publication.year,
                "venue": paper.publication.venue,
                "num_citation": paper.publication.num_citation,
                "place": place,
            }
            for paper in self._world.papers.values()
            for place, author in enumerate(paper.authors.values(), 1)
        ]

    def _pairs(self) -> list[dict[str, Any]]:
        persons = self._world.persons
        order = {key: number for number, key in enumerate(persons)}
        joint = {key: person.coauthors() for key, person in persons.items()}
        return [
            {
                "name": one.scholar.name,
                "organization": one.scholar.organization,
                "coauthor": persons[other].scholar.name,
                "coauthor_organization": persons[other].scholar.organization,
                "relation": self._relation(key, other),
                "num_joint": joint[key][other],
                "num_common": len(joint[key].keys() & joint[other].keys()),
            }
            for key, one in persons.items()
            for other in sorted(joint[key], key=order.__getitem__)
        ]


def opened(path: Path) -> Offline:
    """The scholars of a file, read once as long as the file stays as it is."""
    try:
        found = path.stat()
        return _opened(path.resolve(), found.st_size, found.st_mtime_ns)
    except OSError:
        return Offline(path)  # which says what is wrong


@functools.lru_cache(maxsize=4)
def _opened(path: Path, size: int, changed: int) -> Offline:
    return Offline(path)


def _found(person: Known) -> Person:
    one = person.scholar
    return Person(one.id, one.name, list(one.interests), person.num_citation, len(person.papers), one.organization)


def _by_citations(paper: Paper) -> tuple[int, str]:
    return -paper.publication.num_citation, paper.publication.id


def _names(paper: Paper) -> list[str]:
    return [author.scholar.name for author in paper.authors.values()]


def _h_index(person: Known) -> int:
    cited = sorted((paper.publication.num_citation for paper in person.papers), reverse=True)
    return sum(count >= place for place, count in enumerate(cited, 1))
