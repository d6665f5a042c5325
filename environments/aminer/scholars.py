"""A file of scholars, one JSON object a line: the embedded one, and those of users.

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

from r_eval.environments.json_lines import read_file, read_records
from r_eval.errors import UserError

from .source import ID


class Publication(BaseModel):
    """A publication, as it stands in the file."""

    model_config = ConfigDict(extra="forbid")
    title: str = Field(min_length=1)
    id: str = ""
    abstract: str = ""
    venue: str = ""
    year: int = Field(default=0, ge=0, le=9999)
    num_citation: int = Field(default=0, ge=0, lt=2**31)


class Line(Publication):
    """A publication on a line of its own.

    Attributes:
        authors: The ids of scholars of the same file.
    """

    authors: list[str] = Field(min_length=1)


class Scholar(BaseModel):
    """A line of the file.

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
    authors: dict[str, Person] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Person:
    """A scholar with all publications, in the order of the file."""

    scholar: Scholar
    papers: list[Paper] = field(default_factory=list)
    num_citation: int = 0

    def coauthors(self) -> Counter[str]:
        """How many publications are by this scholar and another, by the other's id."""
        together = Counter(key for paper in self.papers for key in paper.authors)
        del together[self.scholar.id]
        return together


@dataclass(frozen=True, slots=True)
class World:
    """What a file holds: scholars and publications by their ids, in the order of the file, and the file's hash."""

    persons: dict[str, Person]
    papers: dict[str, Paper]
    version: str


def read_scholars(path: Path) -> World:
    """The scholars of a file and their publications.

    Raises:
        UserError: The file cannot be read, a line is no scholar, two lines have one id, or an id leads nowhere; names
            the line.
    """
    data, version = read_file(path)
    world = World({}, {}, version)
    lines: dict[str, int] = {}
    named: list[tuple[int, str, Paper | None]] = []
    for number, line in read_records(path, data, _model):
        where = f"{path}:{number}"
        if isinstance(line, Scholar):
            for id_ in (line.id, *(one.id for one in line.publications)):
                _check_id(where, id_)
            line.id = line.id or _made_id("scholar", line.name, line.organization)
            if (before := lines.setdefault(line.id, number)) != number:
                raise UserError(f"{where}: {line.name} is in line {before} already; give both an id")
            person = world.persons[line.id] = Person(line)
            for one in line.publications:
                _paper(world, one).authors[line.id] = person
            named += [(number, line.advisor, None)] if line.advisor else []
        elif isinstance(line, Line):
            _check_id(where, line.id)
            paper = _paper(world, line)
            named += [(number, id_, paper) for id_ in line.authors]
    if not world.persons:
        raise UserError(f'{path}: holds no scholar; expected lines such as {{"name": ..., "organization": ...}}')
    for number, id_, written in named:
        if id_ not in world.persons:
            raise UserError(f"{path}:{number}: no scholar has the id {id_[:80]!r}")
        if written is not None:
            written.authors[id_] = world.persons[id_]
    for paper in world.papers.values():
        for person in paper.authors.values():
            person.papers.append(paper)
            person.num_citation += paper.publication.num_citation
    return world


def _model(value: Any) -> type[Scholar | Line]:
    return Line if isinstance(value, dict) and "title" in value and "name" not in value else Scholar


def _check_id(where: str, id_: str) -> None:
    if id_ and not ID.fullmatch(id_):
        raise UserError(f"{where}: id: {id_[:80]!r} cannot be an id: no spaces, 1 to 200 characters")


def _made_id(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def _paper(world: World, publication: Publication) -> Paper:
    """The publication of this id, or of this title and year; a new one if there is none."""
    publication.id = publication.id or _made_id("publication", publication.title.casefold(), str(publication.year))
    return world.papers.setdefault(publication.id, Paper(publication))
