"""AMiner's HTTP protocol as data: the bodies of requests, and of the answers that `server` writes and `answers` reads.

Paths, fields and nesting are those of soay.aminer.cn; an answer is `{"success": true, "data": ...}`, where `data` is
`{"hitList": [...]}` for a search and a list of one element for an id. An unknown id has an element in which the asked
for is missing. Numbers that a server does not know are 0, texts are empty.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from .shapes import Author, FoundPublication, Person, PersonInfo, PersonPublication, Publication
from .source import MOST_HITS

WORD_TYPES = {"name": 4, "interest": 2, "organization": 5}
"""The number by which a word of a searchPerson request says what it is."""
_SORT = [{"asc": False, "field": "n_citation"}]
_CONTACT = ("bio", "edu", "email", "position", "work")
"""What a hit tells of the profile."""


def person_query(name: str | None, organization: str | None, interest: str | None) -> dict[str, Any]:
    """The body of searchPerson."""
    given = {"name": name, "interest": interest, "organization": organization}
    words = [
        {"operate": "0", "wordType": WORD_TYPES[field], "keyword": text, "advanced": True, "needTranslate": True}
        for field, text in given.items()
        if text is not None
    ]
    return {"sort": _SORT, "searchKeyWordList": words, "needDetails": True}


def publication_query(text: str) -> dict[str, Any]:
    """The body of searchPublication."""
    return {"query": text, "needDetails": True, "page": 0, "size": MOST_HITS, "sort": _SORT}


def hits(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The body of a search."""
    return {"success": True, "data": {"hitList": found, "hitsTotal": len(found)}}


def one(value: Any, *path: str) -> dict[str, Any]:
    """The body of an answer to an id: the value at a path of keys, or nothing there for None."""
    *outer, last = path
    inner: dict[str, Any] = {} if value is None else {last: value}
    for key in reversed(outer):
        inner = {key: inner}
    return {"success": True, "data": [{"succeed": True, **inner}]}


def write_person(person: Person, info: PersonInfo | None, cited: list[int]) -> dict[str, Any]:
    """A hit of searchPerson, from the scholar, the profile and the citations of the publications."""
    contact: dict[str, Any] = {"affiliation": person.organization}
    if info is not None:
        contact |= {key: value for key, value in write_profile(info).items() if key in _CONTACT}
    ranked = sorted(cited, reverse=True)
    totals = accumulate(ranked)
    return {
        "id": person.person_id,
        "name": person.name,
        "nameZh": "",
        "gender": info.gender if info else "",
        "language": "",
        "nation": "",
        "orgZh": "",
        "contact": contact,
        "interests": [{"t": interest} for interest in person.interests],
        "ncitation": person.num_citation,
        "npubs": person.num_pubs,
        "hindex": sum(count >= rank for rank, count in enumerate(ranked, start=1)),
        "gindex": sum(total >= rank * rank for rank, total in enumerate(totals, start=1)),
    }


def write_found_publication(hit: FoundPublication, full: Publication | None) -> dict[str, Any]:
    """A hit of searchPublication, from the hit and the publication."""
    authors = full.author_list if full else []
    return {
        "id": hit.pub_id,
        "title": hit.title,
        "year": hit.year,
        "authors": [write_author(author) for author in authors],
        "venue": {"raw": full.venue if full else ""},
        "pubAbstract": full.abstract if full else "",
        "ncitation": full.num_citation if full else 0,
    }


def write_author(author: Author) -> dict[str, Any]:
    """An author of a publication."""
    return {"id": author.person_id, "name": author.name}


def write_profile(info: PersonInfo) -> dict[str, Any]:
    """The profile of getPersonBasicInfo; degrees and posts are a line each."""
    degrees = [f"{degree.degree}, {degree.organization}, {degree.year}" for degree in info.education_experience]
    posts = [
        f"{post.position}, {post.organization}, {post.from_year}-{'' if post.to_year is None else post.to_year}"
        for post in info.work_experience
    ]
    return {
        "id": info.person_id,
        "name": info.name,
        "gender": info.gender,
        "aff": info.organization,
        "position": info.position,
        "bio": info.bio,
        "edu": "\n".join(degrees),
        "work": "\n".join(posts),
        "email": info.email,
    }


def write_person_publication(paper: PersonPublication) -> dict[str, Any]:
    """A publication of getPersonPubs."""
    return {
        "id": paper.pub_id,
        "title": paper.title,
        "ncitation": paper.num_citation,
        "year": paper.year,
        "authors": [{"name": name} for name in paper.authors_name_list],
    }


def write_publication(paper: Publication) -> dict[str, Any]:
    """The publication of getPublication."""
    return {
        "id": paper.pub_id,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": [write_author(author) for author in paper.author_list],
        "num_citation": paper.num_citation,
        "year": paper.year,
        "venue": paper.venue,
        "pdf": "",
    }
