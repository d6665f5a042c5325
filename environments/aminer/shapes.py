"""What the query APIs return. Field names are those of SoAy's AMiner APIs.

`person_id` and `pub_id` are what the other APIs ask for. What the embedded world always knows, another file or a server
may not: a text is then empty, a number 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_HITS = 10
"""A search finds at most this many."""
ID = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")
"""What may be an id; nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Person:
    """A scholar found by a search; the main interest comes first."""

    person_id: str
    name: str
    interests: list[str]
    num_citation: int
    num_pubs: int
    organization: str


@dataclass(frozen=True, slots=True)
class FoundPublication:
    """A publication found by a search."""

    pub_id: str
    title: str
    year: int


@dataclass(frozen=True, slots=True)
class Coauthor:
    """Somebody who has written with a scholar, and what they are to that scholar: advisor, advisee or coauthor."""

    person_id: str
    name: str
    relation: str


@dataclass(frozen=True, slots=True)
class PersonPublication:
    """One of a scholar's publications, with the names of all authors in order."""

    pub_id: str
    title: str
    num_citation: int
    year: int
    authors_name_list: list[str]


@dataclass(frozen=True, slots=True)
class Author:
    """An author of a publication."""

    person_id: str
    name: str


@dataclass(frozen=True, slots=True)
class PublicationResult:
    """A publication in full; its venue is a journal or a conference."""

    pub_id: str
    title: str
    abstract: str
    author_list: list[Author]
    num_citation: int
    year: int
    venue: str


@dataclass(frozen=True, slots=True)
class Education:
    """A degree (BSc, MSc, PhD), the organization that gave it, and the year."""

    degree: str
    organization: str
    year: int


@dataclass(frozen=True, slots=True)
class Employment:
    """A position held at an organization from one year to another (None: still held)."""

    position: str
    organization: str
    from_year: int
    to_year: int | None


@dataclass(frozen=True, slots=True)
class PersonInfo:
    """A scholar's profile: the present organization and position; degrees and positions, the oldest first."""

    person_id: str
    name: str
    gender: str
    organization: str
    position: str
    bio: str
    education_experience: list[Education]
    work_experience: list[Employment]
    email: str
