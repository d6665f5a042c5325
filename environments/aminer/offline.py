"""A file of scholars as a source of the query APIs, and of the records from which question templates are filled."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from r_eval.environments.json_lines import FileStore

from . import shapes
from .scholars import Author, Paper, read_scholars
from .search import WordIndex, all_matching, best_matching

Record = dict[str, Any]


class Offline(FileStore):
    """The scholars of one file, in memory. An id that it does not know is None.

    Raises:
        UserError: See `read_scholars`.
    """

    def __init__(self, path: Path) -> None:
        self._authors, self._papers = read_scholars(path)
        super().__init__(path)
        self._ranked = sorted(self._authors.values(), key=lambda one: (-one.num_citation, one.scholar.id))
        self._indexes = {
            "name": WordIndex(([one.scholar.name] for one in self._ranked), sort=True),
            "organization": WordIndex([one.scholar.organization] for one in self._ranked),
            "interest": WordIndex(one.scholar.interests for one in self._ranked),
        }
        self._ranked_papers = sorted(self._papers.values(), key=_by_citations)
        self._titles = WordIndex([paper.publication.title] for paper in self._ranked_papers)

    def find_persons(self, **texts: str) -> list[shapes.Person]:
        """Scholars who match all of name, organization and interest, the best first."""
        found = ((self._ranked[place], self._ranked[place].scholar) for place in all_matching(self._indexes, texts))
        return [
            shapes.Person(s.id, s.name, [*s.interests], author.num_citation, len(author.papers), s.organization)
            for author, s in found
        ]

    def find_publications(self, text: str) -> list[shapes.FoundPublication]:
        """Publications whose titles match, the best first."""
        found = (self._ranked_papers[place].publication for place in best_matching(self._titles, text))
        return [shapes.FoundPublication(one.id, one.title, one.year) for one in found]

    def coauthors(self, person_id: str) -> list[shapes.Coauthor] | None:
        """Everybody who wrote with a scholar, ordered by name and id."""
        author = self._authors.get(person_id)
        if author is None:
            return None
        others = sorted((self._authors[key].scholar.name, key) for key in author.coauthors())
        return [shapes.Coauthor(key, name, self._relation(person_id, key)) for name, key in others]

    def interests(self, person_id: str) -> list[str] | None:
        """A scholar's interests, the main one first."""
        author = self._authors.get(person_id)
        return None if author is None else list(author.scholar.interests)

    def profile(self, person_id: str) -> shapes.PersonInfo | None:
        """A scholar's profile."""
        author = self._authors.get(person_id)
        if author is None:
            return None
        one = author.scholar
        degrees = [shapes.Education(*entry) for entry in one.education]
        posts = [shapes.Employment(*entry) for entry in one.work]
        present = one.organization, one.position, one.bio
        return shapes.PersonInfo(one.id, one.name, one.gender, *present, degrees, posts, one.email)

    def person_publications(self, person_id: str) -> list[shapes.PersonPublication] | None:
        """All publications of a scholar, ordered by citations, the most first, and id."""
        author = self._authors.get(person_id)
        if author is None:
            return None
        papers = ((paper.publication, paper.names()) for paper in sorted(author.papers, key=_by_citations))
        return [shapes.PersonPublication(one.id, one.title, one.num_citation, one.year, names) for one, names in papers]

    def publication(self, publication_id: str) -> shapes.Publication | None:
        """A publication in full."""
        paper = self._papers.get(publication_id)
        if paper is None:
            return None
        one = paper.publication
        authors = [shapes.Author(key, author.scholar.name) for key, author in paper.authors.items()]
        return shapes.Publication(one.id, one.title, one.abstract, authors, one.num_citation, one.year, one.venue)

    def records(self, kind: str) -> list[Record]:
        """See `AMiner.records`."""
        kinds: dict[str, Callable[[], list[Record]]] = {
            "person": self._persons,
            "publication": lambda: [{**_about(paper), "authors": paper.names()} for paper in self._papers.values()],
            "authorship": self._authorships,
            "coauthorship": self._pairs,
        }
        return kinds[kind]()

    def _relation(self, person_id: str, other_id: str) -> str:
        """What the other is to a scholar."""
        if self._authors[person_id].scholar.advisor == other_id:
            return "advisor"
        return "advisee" if self._authors[other_id].scholar.advisor == person_id else "coauthor"

    def _persons(self) -> list[Record]:
        authors = list(self._authors.values())
        bearers = Counter(one.scholar.name for one in authors)
        citations = sorted(one.num_citation for one in authors)
        fields = {"name", "organization", "position", "gender", "email", "interests"}
        return [
            {
                "person_id": one.scholar.id,
                **one.scholar.model_dump(include=fields),
                "num_pubs": len(one.papers),
                "num_citation": one.num_citation,
                "h_index": _h_index(one),
                "popularity": round(bisect_left(citations, one.num_citation) / len(authors), 4),
                "namesakes": bearers[one.scholar.name] - 1,
            }
            for one in authors
        ]

    def _authorships(self) -> list[Record]:
        return [
            {
                "name": author.scholar.name,
                "organization": author.scholar.organization,
                "num_pubs": len(author.papers),
                **{name: value for name, value in _about(paper).items() if name != "pub_id"},
                "place": place,
            }
            for paper in self._papers.values()
            for place, author in enumerate(paper.authors.values(), 1)
        ]

    def _pairs(self) -> list[Record]:
        authors = self._authors
        order = {key: number for number, key in enumerate(authors)}
        joint = {key: author.coauthors() for key, author in authors.items()}
        return [
            {
                "name": one.scholar.name,
                "organization": one.scholar.organization,
                "coauthor": authors[other].scholar.name,
                "coauthor_organization": authors[other].scholar.organization,
                "relation": self._relation(key, other),
                "num_joint": joint[key][other],
                "num_common": len(joint[key].keys() & joint[other].keys()),
            }
            for key, one in authors.items()
            for other in sorted(joint[key], key=order.__getitem__)
        ]


def _about(paper: Paper) -> Record:
    about = {name: getattr(paper.publication, name) for name in ("title", "year", "venue", "num_citation")}
    return {"pub_id": paper.publication.id, **about}


def _by_citations(paper: Paper) -> tuple[int, str]:
    return -paper.publication.num_citation, paper.publication.id


def _h_index(author: Author) -> int:
    cited = sorted((paper.publication.num_citation for paper in author.papers), reverse=True)
    return sum(count >= place for place, count in enumerate(cited, 1))
