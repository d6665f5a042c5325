"""Scholars of one's own: a file with one JSON object a line, with `name` and whatever else of a scholar is known.

The file becomes a snapshot in the cache folder, made again when the file changes. A publication stands in the list of
each of its authors; those with one `id`, or with one title and year, are one. Its authors are the scholars who list it,
in the order of the file.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.environments.snapshots import whole
from r_eval.errors import UserError, describe_invalid
from r_eval.files import cache_folder
from r_eval.text import clean_data

from .snapshot import content_hash, prepare, seal
from .source import ID

Year = int


class _Publication(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str = Field(min_length=1)
    id: str = ""
    abstract: str = ""
    venue: str = ""
    year: int = Field(default=0, ge=0, le=9999)
    num_citation: int = Field(default=0, ge=0, lt=2**31)


class _Scholar(BaseModel):
    """A line of the file.

    Attributes:
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
    interests: list[str] = []
    education: list[tuple[str, str, Year]] = []
    work: list[tuple[str, str, Year, Year | None]] = []
    publications: list[_Publication] = []


def snapshot_of(path: Path) -> Path:
    """The snapshot of a file of scholars.

    Raises:
        UserError: The file cannot be read, a line is no scholar, or two lines have one id; names the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    out = cache_folder() / "aminer" / f"scholars-{hashlib.blake2b(data, digest_size=12).hexdigest()}.sqlite"
    if not out.exists():
        scholars = list(_scholars(path, data))
        if not scholars:
            raise UserError(f'{path}: holds no scholar; expected lines such as {{"name": ..., "organization": ...}}')
        with whole(out) as connection:
            prepare(connection)
            _fill(connection, scholars)
            seal(connection, content_hash(connection), {"format": "scholars"})
    return out


def _scholars(path: Path, data: bytes) -> Iterator[_Scholar]:
    ids: dict[str, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            scholar = _Scholar.model_validate(clean_data(json.loads(line.decode("utf-8-sig"))))
        except ValidationError as error:
            first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")  # a key misspelt
            where = ".".join(map(str, first["loc"])) or "the line"
            raise UserError(f"{path}:{number}: {where}: {describe_invalid(first)}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: not a JSON object in UTF-8 ({error})") from None
        for id_ in (scholar.id, *(one.id for one in scholar.publications)):
            if id_ and not ID.fullmatch(id_):
                raise UserError(f"{path}:{number}: id: {id_[:80]!r} cannot be an id: no spaces, 1 to 200 characters")
        scholar.id = scholar.id or _made_id("scholar", scholar.name, scholar.organization)
        if (before := ids.setdefault(scholar.id, number)) != number:
            raise UserError(f"{path}:{number}: {scholar.name} is in line {before} already; give both an id")
        yield scholar


def _made_id(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def _fill(connection: sqlite3.Connection, scholars: list[_Scholar]) -> None:
    """Write the tables of persons, publications and authorships."""
    publications: dict[str, tuple[int, _Publication]] = {}
    authors: list[tuple[int, int]] = []
    for number, scholar in enumerate(scholars):
        for one in scholar.publications:
            key = one.id or _made_id("publication", one.title.casefold(), str(one.year))
            place, _ = publications.setdefault(key, (len(publications), one))
            authors.append((place, number))
        connection.execute(f"INSERT INTO person VALUES ({', '.join('?' * 14)})", _person(number, scholar))
    rows: list[tuple[Any, ...]] = [
        (n, key, p.title, p.abstract, p.venue, p.year, p.num_citation) for key, (n, p) in publications.items()
    ]
    connection.executemany("INSERT INTO publication VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    places: dict[int, int] = {}
    for publication, person in dict.fromkeys(sorted(authors)):
        place = places[publication] = places.get(publication, -1) + 1
        connection.execute("INSERT INTO authorship VALUES (?, ?, ?)", (publication, place, person))


def _person(number: int, scholar: _Scholar) -> tuple[Any, ...]:
    cited = sorted((one.num_citation for one in scholar.publications), reverse=True)
    h_index = sum(count >= place for place, count in enumerate(cited, 1))
    lists = (scholar.interests, scholar.education, scholar.work)
    return (
        number, scholar.id, scholar.name, scholar.gender, scholar.organization, scholar.position, scholar.email,
        scholar.bio, *(json.dumps(value, ensure_ascii=False) for value in lists), len(cited), sum(cited), h_index,
    )  # fmt: skip
