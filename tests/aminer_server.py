"""The scholars of an `AMiner` as an HTTP server that speaks AMiner's own protocol (see `aminer.live`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from r_eval.environments.aminer import AMiner
from r_eval.environments.aminer.live import WORD_TYPES
from r_eval.environments.aminer.store import ScholarStore

Answer = Callable[[ScholarStore, Mapping[str, Any]], Any]
MOST_A_PAGE = 100


def http_app(environment: AMiner) -> web.Application:
    """The application; it holds no state but the scholars."""
    source: Any = environment._source
    app = web.Application()
    app.router.add_post("/searchPerson", _handler(source, _persons))
    app.router.add_post("/searchPublication", _handler(source, _publications))
    for name, (path, find, read) in APIS.items():
        app.router.add_get(f"/{name}", _handler(source, _by_id(path, find, read)))
    return app


def _handler(source: ScholarStore, answer: Answer) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.Response:
        body = await request.json() if request.method == "POST" else request.query
        return web.json_response({"success": True, "data": answer(source, body)})

    return handle


def _fields(value: Any, **names: str) -> dict[str, Any]:
    """The fields of a shape under AMiner's names for them."""
    return {theirs: getattr(value, ours) for theirs, ours in names.items()}


def _hits(hits: list[Any]) -> Any:
    return {"hitList": hits, "hitsTotal": len(hits)}


def _persons(source: ScholarStore, body: Mapping[str, Any]) -> Any:
    fields = {number: field for field, number in WORD_TYPES.items()}
    wanted = {fields[word["wordType"]]: word["keyword"] for word in body["searchKeyWordList"]}
    return _hits(
        [
            _fields(person, id="person_id", name="name", ncitation="num_citation", npubs="num_pubs")
            | {"orgZh": "", "contact": {"affiliation": person.organization}}
            | {"interests": [{"t": interest} for interest in person.interests]}
            for person in source.find_persons(**wanted)
        ]
    )


def _publications(source: ScholarStore, body: Mapping[str, Any]) -> Any:
    found = source.find_publications(body["query"])[: body["size"]]
    return _hits([_fields(hit, id="pub_id", title="title", year="year") | {"venue": {"raw": ""}} for hit in found])


def _paper(paper: Any) -> dict[str, Any]:
    about = _fields(paper, id="pub_id", title="title", ncitation="num_citation", year="year")
    return about | {"authors": [{"name": name} for name in paper.authors_name_list]}


def _publication(found: Any) -> dict[str, Any]:
    same = {name: name for name in ("title", "abstract", "num_citation", "year", "venue")}
    authors = [{"id": author.person_id, "name": author.name} for author in found.author_list]
    return _fields(found, id="pub_id", **same) | {"authors": authors}


def _by_id(path: str, find: Callable[..., Any], read: Callable[[Any], Any]) -> Answer:
    """The answer to an id: what was found at a path of keys, or nothing there."""

    def answer(source: ScholarStore, query: Mapping[str, Any]) -> Any:
        found = find(source, query["id"])
        if "offset" in query and found is not None:
            first = int(query["offset"])
            found = found[first : first + min(int(query["size"]), MOST_A_PAGE)]
        *outer, last = path.split(".")
        inner = {} if found is None else {last: read(found)}
        return [{"succeed": True, **functools.reduce(lambda data, key: {key: data}, reversed(outer), inner)}]

    return answer


PROFILE = {name: name for name in ("name", "gender", "position", "bio", "email")}
APIS: dict[str, tuple[str, Callable[..., Any], Callable[[Any], Any]]] = {
    "getCoauthors": (
        "data.crs",
        ScholarStore.coauthors,
        lambda found: [_fields(one, id="person_id", name="name", relation="relation") for one in found],
    ),
    "getPersonInterest": ("data.data.data", ScholarStore.interests, lambda found: [{"t": text} for text in found]),
    "getPersonBasicInfo": ("data", ScholarStore.profile, lambda found: _fields(found, aff="organization", **PROFILE)),
    "getPersonPubs": ("data.pubs", ScholarStore.person_publications, lambda found: list(map(_paper, found))),
    "getPublication": ("pub", ScholarStore.publication, _publication),
}
"""By name: where an answer has the value, what finds it, and its form there."""
