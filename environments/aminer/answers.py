"""AMiner's answers (see `live`), read into the environment's shapes.

A live database is not clean: an item without an id or a name is skipped, a text or number that is missing or of another
type is empty or 0, and free text about education and work stays as it is. But a body that is nothing like an answer is
`Malformed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from . import shapes

Shape = TypeVar("Shape")
Item = dict[str, Any]
_KEYS = {
    "person_id": "id",
    "pub_id": "id",
    "num_pubs": "npubs",
    "num_citation": "ncitation",
    "organization": "aff",
}
"""AMiner's names for fields of the shapes, where they differ."""
_REQUIRED = ("person_id", "pub_id", "name", "title")
_MOST_INTERESTS = 10
_DEGREE = re.compile(r"([^,]*), (.*), (\d{1,4})")
_POST = re.compile(r"([^,]*), (.*), (\d{1,4})-(\d{1,4})?")


class Malformed(Exception):
    """A body that is not as the protocol has it; says what is wrong."""


def read_persons(body: Any) -> list[shapes.Person]:
    """The hits of searchPerson."""

    def read(hit: Item) -> shapes.Person:
        contact = hit.get("contact")
        names = [contact.get("affiliation") if isinstance(contact, dict) else None, hit.get("org"), hit.get("orgZh")]
        organization = next(filter(None, map(_text, names)), "")
        interests = _interests(hit.get("interests") or [])[:_MOST_INTERESTS]
        return _read(shapes.Person, hit, interests=interests, organization=organization)

    return _read_all(_hits(body), read)[: shapes.MOST_HITS]


def read_publications(body: Any) -> list[shapes.FoundPublication]:
    """The hits of searchPublication."""
    return _read_all(_hits(body), lambda hit: _read(shapes.FoundPublication, hit))[: shapes.MOST_HITS]


def read_coauthors(body: Any) -> list[shapes.Coauthor] | None:
    """The co-authors of getCoauthors, or None for an unknown id."""

    def read(item: Item) -> shapes.Coauthor:
        return _read(shapes.Coauthor, item, relation=_text(item.get("relation")) or "coauthor")

    found = _within(body, "data", "crs")
    return None if found is None else _read_all(found, read)


def read_interests(body: Any) -> list[str] | None:
    """The interests of getPersonInterest, or None for an unknown id."""
    found = _within(body, "data", "data", "data")
    return None if found is None else _interests(found)


def read_page(body: Any) -> list[shapes.PersonPublication] | None:
    """One page of getPersonPubs, or None for an unknown id."""

    def read(item: Item) -> shapes.PersonPublication:
        authors = item["authors"] if isinstance(item.get("authors"), list) else []
        names = [_text(author.get("name")) for author in authors if isinstance(author, dict)]
        return _read(shapes.PersonPublication, item, authors_name_list=list(filter(None, names)))

    found = _within(body, "data", "pubs")
    return None if found is None else _read_all(found, read)


def read_profile(body: Any, person_id: str) -> shapes.PersonInfo | None:
    """The profile of getPersonBasicInfo, or None for an unknown id."""
    found = _within(body, "data")
    if not isinstance(found, dict) or not _text(found.get("name")):
        return None
    education, work = map(_degree, _lines(found.get("edu"))), map(_post, _lines(found.get("work")))
    lives = {"education_experience": list(education), "work_experience": list(work)}
    return _read(shapes.PersonInfo, found, person_id=person_id, **lives)


def read_publication(body: Any, publication_id: str) -> shapes.Publication | None:
    """The publication of getPublication, or None for an unknown id."""
    found = _within(body, "pub")
    if not isinstance(found, dict) or not _text(found.get("title")):
        return None

    def read(item: Item) -> shapes.Author:
        return _read(shapes.Author, item, person_id=_text(item.get("id")))

    authors, cited = _read_all(found.get("authors") or [], read), _number(found.get("num_citation"))
    return _read(shapes.Publication, found, pub_id=publication_id, author_list=authors, num_citation=cited)


def _read(shape: type[Shape], item: Item, **values: Any) -> Shape:
    """An item as a shape: its texts and numbers, and the values of other fields."""
    about: Any = shape
    for field in fields(about):
        if field.name not in values:
            key = _KEYS.get(field.name, field.name)
            values[field.name] = _number(item.get(key)) if field.type == "int" else _text(item.get(key))
            if field.name in _REQUIRED and not values[field.name]:
                raise Malformed(f"an item has no {key!r}")
    return shape(**values)


def _data(body: Any) -> Any:
    if body.get("success") is False:
        reason = _text(body.get("msg")) or _text(body.get("message")) or "no reason given"
        raise Malformed(f"the server reports no success: {reason[:200]}")
    if "data" not in body:
        raise Malformed("the answer has no 'data'")
    return body["data"]


def _hits(body: Any) -> Any:
    data = _data(body)
    if not isinstance(data, dict) or "hitList" not in data:
        raise Malformed("the answer has no list 'data.hitList'")
    return data["hitList"]


def _within(body: Any, *path: str) -> Any:
    """What lies at a path of keys in the first element of `data`; None if something on the way is missing."""
    data = _data(body)
    if data is not None and not isinstance(data, list):
        raise Malformed(f"'data' must be a list, not {type(data).__name__}")
    value: Any = data[0] if data else None
    for key in path:
        if value is not None and not isinstance(value, dict):
            raise Malformed(f"expected an object with {key!r}, got {type(value).__name__}")
        value = value.get(key) if value else None
    return value


def _read_all(found: Any, read: Callable[[Item], Shape]) -> list[Shape]:
    """The items that can be read; one without an id or a name is skipped, but not if none is left."""
    if not isinstance(found, list):
        raise Malformed(f"expected a list, got {type(found).__name__}")
    read_items, last = [], None
    for item in found:
        try:
            if not isinstance(item, dict):
                raise Malformed(f"expected an object, got {type(item).__name__}")
            read_items.append(read(item))
        except Malformed as error:
            last = error
    if last is not None and not read_items:
        raise last
    return read_items


def _interests(found: Any) -> list[str]:
    if not isinstance(found, list):
        raise Malformed(f"interests must be a list, not {type(found).__name__}")
    return list(filter(None, (_text(item.get("t") if isinstance(item, dict) else item) for item in found)))


def _degree(line: str) -> shapes.Education:
    match = _DEGREE.fullmatch(line)
    return shapes.Education(match[1], match[2], int(match[3])) if match else shapes.Education("", line, 0)


def _post(line: str) -> shapes.Employment:
    match = _POST.fullmatch(line)
    if not match:
        return shapes.Employment("", line, 0, 0)
    return shapes.Employment(match[1], match[2], int(match[3]), int(match[4]) if match[4] else None)


def _lines(value: Any) -> list[str]:
    return list(filter(None, (line.strip() for line in re.split(r"\n|<br\s*/?>", _text(value)))))


def _text(value: Any) -> str:
    """A text, or the text of a venue or a name that is an object."""
    if isinstance(value, dict):
        value = value.get("raw") or value.get("name")
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _number(value: Any) -> int:
    """A whole number; 0 for what is none."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        return 0
    return int(value)
