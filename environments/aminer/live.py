"""An AMiner server as a source of the query APIs.

Paths, fields and nesting are those of soay.aminer.cn; an answer is `{"success": true, "data": ...}`, where `data` is
`{"hitList": [...]}` for a search and a list of one element for an id. An unknown id has an element in which what was
asked for is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from r_eval.environments.json_api import ApiSettings, JsonApi

from . import answers, shapes

Value = TypeVar("Value")
PUBLIC = "https://soay.aminer.cn"
"""AMiner's own server for this protocol, a frozen copy of its database; it asks for no key."""
PAGE = 100
MOST_PUBLICATIONS = 10_000
"""Of one scholar, after which no further page is asked for."""
WORD_TYPES = {"name": 4, "interest": 2, "organization": 5}
"""The number by which a word of a searchPerson request says what it is."""
_SORT = [{"asc": False, "field": "n_citation"}]


class Live:
    """One server. An id that it does not know is None.

    Args:
        base_url: Its address, to which the APIs' names are appended.
        settings: How it is asked.

    Raises:
        MissingExtra, UserError: A library is not installed; a setting is wrong.
    """

    def __init__(self, base_url: str, settings: ApiSettings) -> None:
        self._settings = base_url, settings
        self._api = JsonApi(
            "aminer", base_url, settings, lambda answer: "data" in answer and answer.get("success", True)
        )
        self.version = self._api.version

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), self._settings

    def find_persons(self, **texts: str | None) -> list[shapes.Person]:
        """Scholars who match all of name, organization and interest that are not None, the best first."""
        words = [
            {"operate": "0", "wordType": number, "keyword": texts[field], "advanced": True, "needTranslate": True}
            for field, number in WORD_TYPES.items()
            if texts.get(field) is not None
        ]
        body = {"sort": _SORT, "searchKeyWordList": words, "needDetails": True}
        return self._read("searchPerson", answers.read_persons, self._api.post("searchPerson", body))

    def find_publications(self, text: str) -> list[shapes.FoundPublication]:
        """Publications whose titles match, the best first."""
        body = {"query": text, "needDetails": True, "page": 0, "size": shapes.MOST_HITS, "sort": _SORT}
        return self._read("searchPublication", answers.read_publications, self._api.post("searchPublication", body))

    def coauthors(self, person_id: str) -> list[shapes.Coauthor] | None:
        """Everybody who wrote with a scholar, ordered by name and id."""
        found = self._get("getCoauthors", answers.read_coauthors, person_id)
        return None if found is None else sorted(found, key=lambda other: (other.name, other.person_id))

    def interests(self, person_id: str) -> list[str] | None:
        """A scholar's interests, the main one first."""
        return self._get("getPersonInterest", answers.read_interests, person_id)

    def profile(self, person_id: str) -> shapes.PersonInfo | None:
        """A scholar's profile."""
        return self._get("getPersonBasicInfo", lambda body: answers.read_profile(body, person_id), person_id)

    def person_publications(self, person_id: str) -> list[shapes.PersonPublication] | None:
        """All publications of a scholar, ordered by citations, the most first, and id.

        All pages are asked for, since a model asks once; a server whose pages repeat themselves is asked no further.
        """
        found: dict[str, shapes.PersonPublication] = {}
        while len(found) < MOST_PUBLICATIONS:
            place = {"offset": len(found), "size": PAGE, "order": "citation"}
            page = self._get("getPersonPubs", answers.read_page, person_id, **place)
            if page is None and not found:
                return None
            new = {paper.pub_id: paper for paper in page or [] if paper.pub_id not in found}
            if not new:
                break
            found |= new
        return sorted(found.values(), key=lambda paper: (-paper.num_citation, paper.pub_id))

    def publication(self, publication_id: str) -> shapes.Publication | None:
        """A publication in full."""
        return self._get("getPublication", lambda body: answers.read_publication(body, publication_id), publication_id)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """None: a server cannot be listed."""
        raise KeyError(f"{kind} (a live AMiner cannot be listed; templates need a file of scholars)")

    def _get(self, api: str, read: Callable[[Any], Value], key: str, **more: Any) -> Value:
        return self._read(api, read, self._api.get(api, id=key, **more))

    def _read(self, api: str, read: Callable[[Any], Value], body: Any) -> Value:
        try:
            return read(body)
        except answers.Malformed as error:
            raise self._api.failure(api, f"gave an answer that is not AMiner's: {error}") from None
