"""A file of scholars, one JSON object per line: the embedded one, and those of users.

A scholar has a `name` and whatever else is known. A publication stands in the list of each of its authors; those with
one `id`, or with one title and year, are one, and its authors are the scholars who list it, in the order of the file.
Or it has a line of its own, with the ids of its `authors` in their order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from r_eval.environments.json_lines import read_records
from r_eval.errors import UserError

from .shapes import ID


class Publication(BaseModel):
    """A publication, as it stands in the file."""

    model_config = ConfigDict(extra="forbid")
    title: str = Field(min_length=1)
    id: str = ""
    abstract: str = ""
    venue: str = ""
    year: int = Field(default=0, ge=0, le=9999)
    num_citation: int = Field(default=0, ge=0, lt=2**31)


class PublicationLine(Publication):
    """A publication on a line of its own.

    Attributes:
        authors: The ids of scholars of the same file.
    """

    authors: list[str] = Field(min_length=1)


class Scholar(BaseModel):
    """A scholar, as it stands in the file.

    Attributes:
        advisor: The id of another scholar of the file.
        education: Degree, organisation, year; the oldest first.
        work: Position, organisation, first year, last year (null: still there); the oldest first.
    """

    model_config = ConfigDict(extra="forbid")
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


@dataclass(slots=True, eq=False)
class Paper:
    """A publication with its authors by id, in their order."""

    publication: Publication
    authors: dict[str, Author] = field(default_factory=dict)

    def names(self) -> list[str]:
        """The authors' names."""
        return [author.scholar.name for author in self.authors.values()]


@dataclass(slots=True, eq=False)
class Author:
    """A scholar with all publications, in the order of the file."""

    scholar: Scholar
    papers: list[Paper] = field(default_factory=list)
    num_citation: int = 0

    def coauthors(self) -> Counter[str]:
        """How many publications are by this scholar and another, by the other's id."""
        together = Counter(key for paper in self.papers for key in paper.authors)
        del together[self.scholar.id]
        return together


def read_scholars(path: Path) -> tuple[dict[str, Author], dict[str, Paper]]:
    """The scholars of a file and their publications by their ids, in the order of the file.

    Raises:
        UserError: The file cannot be read, a line is no scholar, two lines have one id, or an id leads nowhere; names
            the line.
    """
    authors: dict[str, Author] = {}
    papers: dict[str, Paper] = {}
    places: dict[str, str] = {}
    references: list[tuple[str, str, Paper | None]] = []
    for place, line in read_records(path, _model):
        if isinstance(line, Scholar):
            line.id = _id(place, line.id, "scholar", line.name, line.organization)
            if (before := places.setdefault(line.id, place)) != place:
                raise UserError(f"{place}: {line.name} is in line {before.rpartition(':')[2]} already; give both an id")
            author = authors[line.id] = Author(line)
            for publication in line.publications:
                _paper(place, papers, publication).authors[line.id] = author
            references += [(place, line.advisor, None)] if line.advisor else []
        elif isinstance(line, PublicationLine):
            paper = _paper(place, papers, line)
            references += [(place, key, paper) for key in line.authors]
    if not authors:
        raise UserError(f'{path}: holds no scholar; expected lines such as {{"name": ..., "organization": ...}}')
    for place, key, written in references:
        if key not in authors:
            raise UserError(f"{place}: no scholar has the id {key[:80]!r}")
        if written is not None:
            written.authors[key] = authors[key]
    for paper in papers.values():
        for author in paper.authors.values():
            author.papers.append(paper)
            author.num_citation += paper.publication.num_citation
    return authors, papers


def _model(value: Any) -> type[Scholar | PublicationLine]:
    return PublicationLine if isinstance(value, dict) and "title" in value and "name" not in value else Scholar


def _paper(place: str, papers: dict[str, Paper], publication: Publication) -> Paper:
    """The publication of this id, or of this title and year; a new one if there is none."""
    title, year = publication.title.casefold(), str(publication.year)
    publication.id = _id(place, publication.id, "publication", title, year)
    return papers.setdefault(publication.id, Paper(publication))


def _id(place: str, own: str, *parts: str) -> str:
    """The id that a line gives, or one made of other parts of it."""
    if own and not ID.fullmatch(own):
        raise UserError(f"{place}: id: {own[:80]!r} cannot be an id: no spaces, 1 to 200 characters")
    return own or hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()
