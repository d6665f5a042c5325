"""AMiner's answers, read into the environment's shapes (see `protocol` for what they look like).

A live database is not clean: an item without an id or a name is passed over, a text or number that is missing or of
another type is empty or 0, and free text about education and work is kept as it is. But a body that is nothing like an
answer is `Malformed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

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
from .source import MOST_HITS

Shape = TypeVar("Shape")
_MOST_INTERESTS = 10
_DEGREE = re.compile(r"([^,]*), (.*), (\d{1,4})")
_POST = re.compile(r"([^,]*), (.*), (\d{1,4})-(\d{1,4})?")


class Malformed(Exception):
    """A body that is not as the protocol has it; says what is wrong."""


def read_persons(body: Any) -> list[Person]:
    """The hits of searchPerson."""
    return _read_all(_hits(body), _person, MOST_HITS)


def read_publications(body: Any) -> list[FoundPublication]:
    """The hits of searchPublication."""
    return _read_all(
        _hits(body), lambda hit: FoundPublication(_id(hit), _name(hit, "title"), _number(hit.get("year"))), MOST_HITS
    )


def read_coauthors(body: Any) -> list[Coauthor] | None:
    """The co-authors of getCoauthors, or None for an unknown id."""
    found = _within(body, "data", "crs")
    if found is None:
        return None
    return _read_all(
        found, lambda item: Coauthor(_id(item), _name(item, "name"), _text(item.get("relation")) or "coauthor")
    )


def read_interests(body: Any) -> list[str] | None:
    """The interests of getPersonInterest, or None for an unknown id."""
    found = _within(body, "data", "data", "data")
    return None if found is None else _interests(found)


def read_page(body: Any) -> list[PersonPublication] | None:
    """One page of getPersonPubs, or None for an unknown id."""
    found = _within(body, "data", "pubs")
    return None if found is None else _read_all(found, _person_publication)


def read_profile(body: Any, person_id: str) -> PersonInfo | None:
    """The profile of getPersonBasicInfo, or None for an unknown id."""
    found = _within(body, "data")
    if not isinstance(found, dict) or not _text(found.get("name")):
        return None
    text = {key: _text(found.get(key)) for key in ("name", "gender", "aff", "position", "bio", "email", "edu", "work")}
    return PersonInfo(
        person_id=person_id,
        name=text["name"],
        gender=text["gender"],
        organization=text["aff"],
        position=text["position"],
        bio=text["bio"],
        education_experience=[_read_degree(line) for line in _lines(text["edu"])],
        work_experience=[_read_post(line) for line in _lines(text["work"])],
        email=text["email"],
    )


def read_publication(body: Any, publication_id: str) -> Publication | None:
    """The publication of getPublication, or None for an unknown id."""
    found = _within(body, "pub")
    if not isinstance(found, dict) or not _text(found.get("title")):
        return None
    authors = _read_all(found.get("authors") or [], lambda item: Author(_text(item.get("id")), _name(item, "name")))
    return Publication(
        pub_id=publication_id,
        title=_text(found["title"]),
        abstract=_text(found.get("abstract")),
        author_list=authors,
        num_citation=_number(found.get("num_citation")),
        year=_number(found.get("year")),
        venue=_text(found.get("venue")),
    )


def _data(body: Any) -> Any:
    if not isinstance(body, dict):
        raise Malformed(f"expected a JSON object, got {type(body).__name__}")
    if body.get("success") is False:
        reason = _text(body.get("msg")) or _text(body.get("message")) or "no reason given"
        raise Malformed(f"the server reports no success: {reason[:200]}")
    if "data" not in body:
        raise Malformed("the answer has no 'data'")
    return body["data"]


def _hits(body: Any) -> list[Any]:
    data = _data(body)
    found = data.get("hitList") if isinstance(data, dict) else None
    if not isinstance(found, list):
        raise Malformed("the answer has no list 'data.hitList'")
    return found


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


def _read_all(found: Any, read: Callable[[dict[str, Any]], Shape], most: int | None = None) -> list[Shape]:
    """The items that can be read; one without an id or a name is passed over, but not if none is left."""
    if not isinstance(found, list):
        raise Malformed(f"expected a list, got {type(found).__name__}")
    shapes, last = [], None
    for item in found:
        try:
            if not isinstance(item, dict):
                raise Malformed(f"expected an object, got {type(item).__name__}")
            shapes.append(read(item))
        except Malformed as error:
            last = error
    if last is not None and not shapes:
        raise last
    return shapes[:most]


def _person(hit: dict[str, Any]) -> Person:
    contact = hit.get("contact")
    affiliation = contact.get("affiliation") if isinstance(contact, dict) else None
    return Person(
        person_id=_id(hit),
        name=_name(hit, "name"),
        interests=_interests(hit.get("interests") or [])[:_MOST_INTERESTS],
        num_citation=_number(hit.get("ncitation")),
        num_pubs=_number(hit.get("npubs")),
        organization=_text(affiliation) or _text(hit.get("org")) or _text(hit.get("orgZh")),
    )


def _person_publication(item: dict[str, Any]) -> PersonPublication:
    authors = item.get("authors")
    names = [_text(author.get("name")) for author in authors or [] if isinstance(author, dict)]
    cited, year = _number(item.get("ncitation")), _number(item.get("year"))
    return PersonPublication(_id(item), _name(item, "title"), cited, year, [name for name in names if name])


def _interests(found: Any) -> list[str]:
    if not isinstance(found, list):
        raise Malformed(f"interests must be a list, not {type(found).__name__}")
    texts = [_text(item.get("t") if isinstance(item, dict) else item) for item in found]
    return [text for text in texts if text]


def _read_degree(line: str) -> Education:
    match = _DEGREE.fullmatch(line)
    return Education(match[1], match[2], int(match[3])) if match else Education("", line, 0)


def _read_post(line: str) -> Employment:
    match = _POST.fullmatch(line)
    if not match:
        return Employment("", line, 0, 0)
    return Employment(match[1], match[2], int(match[3]), int(match[4]) if match[4] else None)


def _lines(text: str) -> Iterable[str]:
    return filter(None, (line.strip() for line in re.split(r"\n|<br\s*/?>", text)))


def _id(item: dict[str, Any]) -> str:
    return _name(item, "id")


def _name(item: dict[str, Any], key: str) -> str:
    text = _text(item.get(key))
    if not text:
        raise Malformed(f"an item has no {key!r}")
    return text


def _text(value: Any) -> str:
    """A text, or the text of a venue or a name that is given as an object."""
    if isinstance(value, dict):
        value = value.get("raw") or value.get("name")
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)


def _number(value: Any) -> int:
    """A whole number; 0 for what is none."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,12}", value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        return 0
    return int(value)
