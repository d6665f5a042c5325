"""Scholars in memory, read from a file of one JSON object per line: the embedded one, and those of users.

A scholar has a `name` and whatever else is known. A publication is in the list of each of its authors; those with
one `id`, or with one title and year, are one, and its authors are the scholars who list it, in the order of the file.
Or it has a line of its own, with the ids of its `authors` in their order. Keys of other names are ignored.

Scholars and publications are found by their words, be they mistyped, in another order, or only some of them. What is
found is what fits best: a careful request is not answered with lookalikes.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from rapidfuzz import fuzz

from r_eval.environments.json_lines import FileStore, most_similar, plain, read_records
from r_eval.errors import UserError

from . import shapes

Record = dict[str, Any]
LEAST_SIMILAR = 75.0
"""What a text must score of 100 to be found; one that holds all the words asked for scores 100."""


class Publication(BaseModel):
    """A publication.

    Attributes:
        authors: The ids of scholars of the same file; who lists the publication is one without being named.
    """

    title: str = Field(min_length=1)
    id: str = ""
    abstract: str = ""
    venue: str = ""
    year: int = Field(default=0, ge=0, le=9999)
    num_citation: int = Field(default=0, ge=0, lt=2**31)
    authors: list[str] = []


class Scholar(BaseModel):
    """A scholar.

    Attributes:
        advisor: The id of another scholar of the file.
        education: Degree, organisation, year; the oldest first.
        work: Position, organisation, first year, last year (null: still there); the oldest first.
        publications: Once the file is read, those of lines of their own among them.
    """

    name: str = Field(min_length=1)
    id: str = ""
    organization: str = ""
    gender: str = ""
    position: str = ""
    email: str = ""
    bio: str = ""
    advisor: str = ""
    interests: list[str] = []
    education: list[tuple[str, str, int]] = []
    work: list[tuple[str, str, int, int | None]] = []
    publications: list[Publication] = []

    @property
    def num_citation(self) -> int:
        """How often all publications were cited."""
        return sum(paper.num_citation for paper in self.publications)

    def coauthors(self) -> Counter[str]:
        """How many publications are by this scholar and another, by the other's id."""
        together = Counter(key for paper in self.publications for key in paper.authors)
        del together[self.id]
        return together


def read_scholars(path: Path) -> tuple[dict[str, Scholar], dict[str, Publication]]:
    """The scholars of a file and their publications by their ids, in the order of the file.

    Raises:
        UserError: The file cannot be read, a line is no scholar, two lines have one id, or an id leads nowhere; names
            the line.
    """
    scholars: dict[str, Scholar] = {}
    papers: dict[str, Publication] = {}
    places: dict[str, str] = {}
    references: list[tuple[str, str]] = []

    def add(place: str, paper: Publication, authors: list[str]) -> None:
        paper.id = _id(place, paper.id, "publication", paper.title.casefold(), str(paper.year))
        known = papers.setdefault(paper.id, paper)
        known.authors = list(dict.fromkeys([*(() if known is paper else known.authors), *authors]))

    for place, line in read_records(path, _model):
        if isinstance(line, Scholar):
            line.id = _id(place, line.id, "scholar", line.name, line.organization)
            if (before := places.setdefault(line.id, place)) != place:
                raise UserError(f"{place}: {line.name} is in line {before.rpartition(':')[2]} already; give both an id")
            scholars[line.id] = line
            for paper in line.publications:
                add(place, paper, [line.id])
            line.publications = []
            references += [(place, line.advisor)] if line.advisor else []
        elif isinstance(line, Publication):
            references += [(place, key) for key in line.authors]
            add(place, line, line.authors)
    if not scholars:
        raise UserError(f'{path}: holds no scholar; expected lines such as {{"name": ..., "organization": ...}}')
    for place, key in references:
        if key not in scholars:
            raise UserError(f"{place}: no scholar has the id {key[:80]!r}")
    for paper in papers.values():
        for key in paper.authors:
            scholars[key].publications.append(paper)
    return scholars, papers


def _model(value: Any) -> type[Scholar | Publication]:
    return Publication if isinstance(value, dict) and "title" in value and "name" not in value else Scholar


def _id(place: str, own: str, *parts: str) -> str:
    """The id that a line gives, or one made of other parts of it."""
    if own and not shapes.ID.fullmatch(own):
        raise UserError(f"{place}: id: {own[:80]!r} cannot be an id: no spaces, 1 to 200 characters")
    return own or hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def words(text: str) -> list[str]:
    """The words of a text, without case, accents and punctuation.

    >>> words("Łukasz O'Brien-Müller, Ph.D.")
    ['lukasz', 'o', 'brien', 'muller', 'ph', 'd']
    """
    return "".join(char if char.isalnum() else " " for char in plain(text)).split()


class TextIndex:
    """The places of texts by their words.

    Args:
        texts: For every place, the texts of which each can be asked for; a smaller place comes first.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, each in enumerate(texts):
            for text in each:
                self._places[_key(text)].append(place)
        self._keys = list(self._places)

    def scores(self, text: str) -> dict[int, tuple[float, float]]:
        """By place: how well one of its texts holds the words asked for, and how much it is like the whole of them."""
        key = _key(text)
        found: dict[int, tuple[float, float]] = {}
        for score, number in most_similar(key, self._keys, fuzz.token_set_ratio, LEAST_SIMILAR, len(self._keys)):
            rank = score, fuzz.ratio(key, self._keys[number])
            for place in self._places[self._keys[number]]:
                found[place] = max(found.get(place, rank), rank)
        return found


def _key(text: str) -> str:
    return " ".join(sorted(words(text)))


def all_matching(indexes: Mapping[str, TextIndex], texts: Mapping[str, str]) -> list[int]:
    """The first places where every field fits its text best, at most `MOST_HITS`; exact texts come alone.

    Args:
        indexes: By field.
        texts: By field, at least one.
    """
    found = [indexes[field].scores(text) for field, text in texts.items()]
    ranks = {
        place: (sum(each[place][0] for each in found), sum(each[place][1] == 100 for each in found))
        for place in set(found[0]).intersection(*found)
    }
    best = max(ranks.values(), default=(0, 0))
    return sorted(place for place, rank in ranks.items() if rank == best)[: shapes.MOST_HITS]


def best_matching(index: TextIndex, text: str) -> list[int]:
    """The places of the texts that hold the words asked for best, those most like the whole of them first; at most
    `MOST_HITS`."""
    found = index.scores(text)
    best = max((score for score, _ in found.values()), default=0)
    ranked = sorted((-likeness, place) for place, (score, likeness) in found.items() if score == best)
    return [place for _, place in ranked[: shapes.MOST_HITS]]


class ScholarStore(FileStore):
    """The scholars of one file, as the query APIs show them. An id that it does not know is None.

    Raises:
        UserError: See `read_scholars`.
    """

    def __init__(self, path: Path) -> None:
        self._scholars, self._papers = read_scholars(path)
        super().__init__(path)
        ranked = sorted(self._scholars.values(), key=lambda one: (-one.num_citation, one.id))
        self._ranked, self._ranked_papers = ranked, _most_cited(self._papers.values())
        self._indexes = {
            "name": TextIndex([one.name] for one in ranked),
            "organization": TextIndex([one.organization] for one in ranked),
            "interest": TextIndex(one.interests for one in ranked),
        }
        self._titles = TextIndex([paper.title] for paper in self._ranked_papers)

    def find_persons(self, **texts: str) -> list[shapes.Person]:
        """Scholars who match all of name, organization and interest, the best first."""
        found = (self._ranked[place] for place in all_matching(self._indexes, texts))
        return [
            shapes.Person(s.id, s.name, [*s.interests], s.num_citation, len(s.publications), s.organization)
            for s in found
        ]

    def find_publications(self, text: str) -> list[shapes.FoundPublication]:
        """Publications whose titles match, the best first."""
        found = (self._ranked_papers[place] for place in best_matching(self._titles, text))
        return [shapes.FoundPublication(one.id, one.title, one.year) for one in found]

    def coauthors(self, person_id: str) -> list[shapes.Coauthor] | None:
        """Everybody who wrote with a scholar, ordered by name and id."""
        if (one := self._scholars.get(person_id)) is None:
            return None
        others = sorted((self._scholars[key].name, key) for key in one.coauthors())
        return [shapes.Coauthor(key, name, self._relation(one, key)) for name, key in others]

    def interests(self, person_id: str) -> list[str] | None:
        """A scholar's interests, the main one first."""
        one = self._scholars.get(person_id)
        return None if one is None else list(one.interests)

    def profile(self, person_id: str) -> shapes.PersonInfo | None:
        """A scholar's profile."""
        if (one := self._scholars.get(person_id)) is None:
            return None
        degrees = [shapes.Education(*entry) for entry in one.education]
        posts = [shapes.Employment(*entry) for entry in one.work]
        present = one.organization, one.position, one.bio
        return shapes.PersonInfo(one.id, one.name, one.gender, *present, degrees, posts, one.email)

    def person_publications(self, person_id: str) -> list[shapes.PersonPublication] | None:
        """All publications of a scholar, ordered by citations, the most first, and id."""
        if (one := self._scholars.get(person_id)) is None:
            return None
        papers = _most_cited(one.publications)
        return [shapes.PersonPublication(p.id, p.title, p.num_citation, p.year, self._names(p)) for p in papers]

    def publication(self, publication_id: str) -> shapes.PublicationResult | None:
        """A publication in full."""
        if (one := self._papers.get(publication_id)) is None:
            return None
        authors = [shapes.Author(key, self._scholars[key].name) for key in one.authors]
        return shapes.PublicationResult(one.id, one.title, one.abstract, authors, one.num_citation, one.year, one.venue)

    def records(self, kind: str) -> list[Record]:
        """See `AMiner.records`."""
        kinds = {
            "person": self._persons,
            "publication": lambda: [
                {"pub_id": paper.id, **_about(paper), "authors": self._names(paper)} for paper in self._papers.values()
            ],
            "authorship": lambda: [
                {**_place(self._scholars[key]), "num_pubs": len(self._scholars[key].publications), **_about(paper)}
                | {"place": place}
                for paper in self._papers.values()
                for place, key in enumerate(paper.authors, 1)
            ],
            "coauthorship": self._pairs,
        }
        return kinds[kind]()

    def _names(self, paper: Publication) -> list[str]:
        return [self._scholars[key].name for key in paper.authors]

    def _relation(self, one: Scholar, other_id: str) -> str:
        """What the other is to a scholar."""
        if one.advisor == other_id:
            return "advisor"
        return "advisee" if self._scholars[other_id].advisor == one.id else "coauthor"

    def _persons(self) -> list[Record]:
        scholars = list(self._scholars.values())
        bearers = Counter(one.name for one in scholars)
        citations = sorted(one.num_citation for one in scholars)
        fields = {"name", "organization", "position", "gender", "email", "interests"}
        return [
            {
                "person_id": one.id,
                **one.model_dump(include=fields),
                "num_pubs": len(one.publications),
                "num_citation": one.num_citation,
                "h_index": sum(p.num_citation >= rank for rank, p in enumerate(_most_cited(one.publications), 1)),
                "popularity": round(bisect_left(citations, one.num_citation) / len(scholars), 4),
                "namesakes": bearers[one.name] - 1,
            }
            for one in scholars
        ]

    def _pairs(self) -> list[Record]:
        scholars = self._scholars
        order = {key: number for number, key in enumerate(scholars)}
        joint = {key: one.coauthors() for key, one in scholars.items()}
        return [
            {
                **_place(one),
                "coauthor": scholars[other].name,
                "coauthor_organization": scholars[other].organization,
                "relation": self._relation(one, other),
                "num_joint": joint[key][other],
                "num_common": len(joint[key].keys() & joint[other].keys()),
            }
            for key, one in scholars.items()
            for other in sorted(joint[key], key=order.__getitem__)
        ]


def _place(scholar: Scholar) -> Record:
    return scholar.model_dump(include={"name", "organization"})


def _about(paper: Publication) -> Record:
    return {name: getattr(paper, name) for name in ("title", "year", "venue", "num_citation")}


def _most_cited(papers: Any) -> list[Publication]:
    return sorted(papers, key=lambda paper: (-paper.num_citation, paper.id))
