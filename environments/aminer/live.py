"""An AMiner server as a source of the query APIs.

Paths, fields and nesting are those of soay.aminer.cn; an answer is `{"success": true, "data": ...}`, where `data` is
`{"hitList": [...]}` for a search and a list of one element for an id. An unknown id has an element in which what was
asked for is missing.

A live database is not clean: an item without an id or a name is skipped, a text or number that is missing or of another
type is empty or 0, and free text about education and work stays as it is. But a body that is nothing like an answer is
a failure of the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from r_eval.environments.json_api import JsonApi

from . import shapes

Shape = TypeVar("Shape")
Value = TypeVar("Value")
Item = dict[str, Any]
PUBLIC = "https://soay.aminer.cn"
"""AMiner's own server for this protocol, a frozen copy of its database; it asks for no key."""
PAGE = 100
MOST_PUBLICATIONS = 10_000
"""Of one scholar, after which no further page is asked for."""
WORD_TYPES = {"name": 4, "interest": 2, "organization": 5}
"""The number by which a word of a searchPerson request says what it is."""
_SORT = [{"asc": False, "field": "n_citation"}]
_KEYS = {"person_id": "id", "pub_id": "id", "num_pubs": "npubs", "num_citation": "ncitation", "organization": "aff"}
"""AMiner's names for fields of the shapes, where they differ."""
_REQUIRED = ("person_id", "pub_id", "name", "title")
_MOST_INTERESTS = 10


class LiveScholars:
    """One server. An id that it does not know is None.

    Args:
        base_url: Its address, to which the APIs' names are appended.
        settings: See `json_api.JsonApi`.

    Raises:
        MissingExtra, UserError: A library is not installed; a setting is wrong.
    """

    def __init__(self, base_url: str, **settings: Any) -> None:
        self._api = JsonApi("aminer", base_url, _is_answer, **settings)
        self.version = self._api.version

    def find_persons(self, **texts: str) -> list[shapes.Person]:
        """Scholars who match all of name, organization and interest, the best first."""
        words = [
            {"operate": "0", "wordType": number, "keyword": texts[field], "advanced": True, "needTranslate": True}
            for field, number in WORD_TYPES.items()
            if field in texts
        ]
        return self._search("searchPerson", _person, {"searchKeyWordList": words})

    def find_publications(self, text: str) -> list[shapes.FoundPublication]:
        """Publications whose titles match, the best first."""
        body = {"query": text, "page": 0, "size": shapes.MOST_HITS}
        return self._search("searchPublication", lambda hit: _shape(shapes.FoundPublication, hit), body)

    def coauthors(self, person_id: str) -> list[shapes.Coauthor] | None:
        """Everybody who wrote with a scholar, ordered by name and id."""
        found = self._get("getCoauthors", lambda data: _items(_coauthor, _at(data, "data", "crs")), person_id)
        return None if found is None else sorted(found, key=lambda other: (other.name, other.person_id))

    def interests(self, person_id: str) -> list[str] | None:
        """A scholar's interests, the main one first."""
        return self._get("getPersonInterest", lambda data: _interests(_at(data, "data", "data", "data")), person_id)

    def profile(self, person_id: str) -> shapes.PersonInfo | None:
        """A scholar's profile."""
        return self._get("getPersonBasicInfo", lambda data: _profile(_at(data, "data"), person_id), person_id)

    def person_publications(self, person_id: str) -> list[shapes.PersonPublication] | None:
        """All publications of a scholar, ordered by citations, the most first, and id.

        All pages are asked for, since a model asks once; a server whose pages repeat themselves is asked no further.
        """
        found: dict[str, shapes.PersonPublication] = {}
        while len(found) < MOST_PUBLICATIONS:
            place = {"offset": len(found), "size": PAGE, "order": "citation"}
            read: Callable[[Any], Any] = lambda data: _items(_paper, _at(data, "data", "pubs"))  # noqa: E731
            page = self._get("getPersonPubs", read, person_id, **place)
            if page is None and not found:
                return None
            new = {paper.pub_id: paper for paper in page or [] if paper.pub_id not in found}
            if not new:
                break
            found |= new
        return sorted(found.values(), key=lambda paper: (-paper.num_citation, paper.pub_id))

    def publication(self, publication_id: str) -> shapes.PublicationResult | None:
        """A publication in full."""
        return self._get("getPublication", lambda data: _publication(_at(data, "pub"), publication_id), publication_id)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """None: a server cannot be listed."""
        raise KeyError(f"{kind} (a live AMiner cannot be listed; templates need a file of scholars)")

    def _search(self, api: str, read: Callable[[Item], Shape | None], request: Item) -> list[Shape]:
        answer = self._api.ask(api, body={"sort": _SORT, "needDetails": True, **request})
        return self._read(api, lambda data: (_items(read, data["hitList"]) or [])[: shapes.MOST_HITS], answer)

    def _get(self, api: str, read: Callable[[Any], Value], key: str, **more: Any) -> Value:
        return self._read(api, read, self._api.ask(api, id=key, **more))

    def _read(self, api: str, read: Callable[[Any], Value], answer: Item) -> Value:
        if not _is_answer(answer):
            reason = _text(answer.get("msg")) or _text(answer.get("message")) or "the answer has no 'data'"
            raise self._api.failure(api, f"reports no success: {reason[:200]}")
        try:
            return read(answer["data"])
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            what = f"gave an answer that is not AMiner's ({type(error).__name__}: {error})"
            raise self._api.failure(api, what[:300]) from None


def _is_answer(answer: Item) -> bool:
    return "data" in answer and bool(answer.get("success", True))


def _person(hit: Item) -> shapes.Person | None:
    names = map(_text, ((hit.get("contact") or {}).get("affiliation"), hit.get("org"), hit.get("orgZh")))
    interests = (_interests(hit.get("interests")) or [])[:_MOST_INTERESTS]
    return _shape(shapes.Person, hit, interests=interests, organization=next(filter(None, names), ""))


def _coauthor(item: Item) -> shapes.Coauthor | None:
    return _shape(shapes.Coauthor, item, relation=_text(item.get("relation")) or "coauthor")


def _paper(item: Item) -> shapes.PersonPublication | None:
    names = [_text(author.get("name")) for author in item.get("authors") or []]
    return _shape(shapes.PersonPublication, item, authors_name_list=list(filter(None, names)))


def _profile(found: Any, person_id: str) -> shapes.PersonInfo | None:
    if not found:
        return None
    degrees = [shapes.Education("", line, 0) for line in _lines(found.get("edu"))]
    posts = [shapes.Employment("", line, 0, 0) for line in _lines(found.get("work"))]
    return _shape(shapes.PersonInfo, found, person_id=person_id, education_experience=degrees, work_experience=posts)


def _publication(found: Any, publication_id: str) -> shapes.PublicationResult | None:
    if not found:
        return None
    authors = _items(lambda item: _shape(shapes.Author, item, person_id=_text(item.get("id"))), found.get("authors"))
    cited = _number(found.get("num_citation"))
    return _shape(shapes.PublicationResult, found, pub_id=publication_id, author_list=authors or [], num_citation=cited)


def _shape(shape: type[Shape], item: Item, **values: Any) -> Shape | None:
    """An item as a shape: its texts and numbers, and the values of other fields; None without an id or a name."""
    about: Any = shape
    for field in fields(about):
        if field.name not in values:
            key = _KEYS.get(field.name, field.name)
            values[field.name] = _number(item.get(key)) if field.type == "int" else _text(item.get(key))
            if field.name in _REQUIRED and not values[field.name]:
                return None
    return shape(**values)


def _at(data: Any, *path: str) -> Any:
    """What lies at a path of keys in the first element of a list; None if something on the way is missing."""
    value: Any = data[0] if data else None
    for key in path:
        value = value.get(key) if value else None
    return value


def _items(read: Callable[[Item], Shape | None], found: Any) -> list[Shape] | None:
    """The items that have an id and a name, of which there must be one if there are items; None for None."""
    if found is None:
        return None
    items = [item for item in map(read, found) if item is not None]
    if found and not items:
        raise ValueError("no item has an id and a name")
    return items


def _interests(found: Any) -> list[str] | None:
    texts = (_text(item.get("t") if isinstance(item, dict) else item) for item in found or [])
    return None if found is None else list(filter(None, texts))


def _lines(value: Any) -> list[str]:
    return list(filter(None, map(str.strip, re.split(r"\n|<br\s*/?>", _text(value)))))


def _text(value: Any) -> str:
    """A text, or the text of a venue or a name that is an object."""
    if isinstance(value, dict):
        value = value.get("raw") or value.get("name")
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _number(value: Any) -> int:
    """A whole number; 0 for what is none."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value):
        return int(value)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12 else 0
