"""The scholars of an `AMiner` as an HTTP server that speaks AMiner's own protocol (see `aminer.live`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from r_eval.environments.aminer import AMiner
from r_eval.environments.aminer.live import WORD_TYPES
from r_eval.environments.aminer.shapes import PublicationResult
from r_eval.environments.aminer.store import ScholarStore

Answer = Callable[[ScholarStore, Mapping[str, Any]], Any]
MOST_A_PAGE = 100


def http_app(environment: AMiner) -> web.Application:
    """The application; it holds no state but the scholars."""
    source: Any = environment._source
    app = web.Application()
    for name, answer in {"searchPerson": _persons, "searchPublication": _publications}.items():
        app.router.add_post(f"/{name}", _handler(source, answer))
    for name, answer in APIS.items():
        app.router.add_get(f"/{name}", _handler(source, answer))
    return app


def _handler(source: ScholarStore, answer: Answer) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.Response:
        body = await request.json() if request.method == "POST" else request.query
        return web.json_response({"success": True, "data": await asyncio.to_thread(answer, source, body)})

    return handle


def _persons(source: ScholarStore, body: Mapping[str, Any]) -> Any:
    fields = {number: field for field, number in WORD_TYPES.items()}
    wanted = {fields[word["wordType"]]: word["keyword"] for word in body["searchKeyWordList"]}
    hits = [
        {
            "id": person.person_id,
            "name": person.name,
            "orgZh": "",
            "contact": {"affiliation": person.organization},
            "interests": [{"t": interest} for interest in person.interests],
            "ncitation": person.num_citation,
            "npubs": person.num_pubs,
        }
        for person in source.find_persons(**wanted)
    ]
    return {"hitList": hits, "hitsTotal": len(hits)}


def _publications(source: ScholarStore, body: Mapping[str, Any]) -> Any:
    found = source.find_publications(body["query"])[: body["size"]]
    hits = [{"id": hit.pub_id, "title": hit.title, "year": hit.year, "venue": {"raw": ""}} for hit in found]
    return {"hitList": hits, "hitsTotal": len(hits)}


def _one(value: Any, *path: str) -> Any:
    """The answer to an id: the value at a path of keys, or nothing there for None."""
    *outer, last = path
    inner: dict[str, Any] = {} if value is None else {last: value}
    for key in reversed(outer):
        inner = {key: inner}
    return [{"succeed": True, **inner}]


def _coauthors(source: ScholarStore, query: Mapping[str, Any]) -> Any:
    found = source.coauthors(query["id"])
    crs = [{"id": other.person_id, "name": other.name, "relation": other.relation} for other in found or []]
    return _one(None if found is None else crs, "data", "crs")


def _interests(source: ScholarStore, query: Mapping[str, Any]) -> Any:
    found = source.interests(query["id"])
    return _one(None if found is None else [{"t": text} for text in found], "data", "data", "data")


def _profile(source: ScholarStore, query: Mapping[str, Any]) -> Any:
    found = source.profile(query["id"])
    fields = ("name", "gender", "position", "bio", "email")
    same = {name: getattr(found, name) for name in fields} if found else {}
    return _one({**same, "aff": found.organization} if found else None, "data")


def _person_publications(source: ScholarStore, query: Mapping[str, Any]) -> Any:
    found = source.person_publications(query["id"])
    offset, size = int(query["offset"]), min(int(query["size"]), MOST_A_PAGE)
    pubs = [
        {
            "id": paper.pub_id,
            "title": paper.title,
            "ncitation": paper.num_citation,
            "year": paper.year,
            "authors": [{"name": name} for name in paper.authors_name_list],
        }
        for paper in (found or [])[offset : offset + size]
    ]
    return _one(None if found is None else pubs, "data", "pubs")


def _publication(source: ScholarStore, query: Mapping[str, Any]) -> Any:
    found: PublicationResult | None = source.publication(query["id"])
    if found is None:
        return _one(None, "pub")
    authors = [{"id": author.person_id, "name": author.name} for author in found.author_list]
    same = {name: getattr(found, name) for name in ("title", "abstract", "num_citation", "year", "venue")}
    return _one({"id": found.pub_id, "authors": authors, **same}, "pub")


APIS: dict[str, Answer] = {
    "getCoauthors": _coauthors,
    "getPersonInterest": _interests,
    "getPersonBasicInfo": _profile,
    "getPersonPubs": _person_publications,
    "getPublication": _publication,
}
