"""Any source of scholars as an HTTP server that speaks AMiner's own protocol (see `protocol`).

`POST /searchPerson` and `/searchPublication` take a JSON body; `GET /getCoauthors`, `/getPersonInterest`,
`/getPersonBasicInfo`, `/getPublication` and `/getPersonPubs` take `?id=`, the last one also `offset` and `size`. A
request that cannot be read is answered with 400, a failure of the source with 502; both bodies say why.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from r_eval.environments.aminer import AMiner, protocol
from r_eval.environments.aminer.source import Source
from r_eval.environments.base import EnvironmentFailure

MOST_A_PAGE = 100
_DEFAULT_PAGE = 10


class _Unreadable(Exception):
    """The request is wrong; says what."""


def http_app(environment: AMiner) -> web.Application:
    """The application that offers an environment's source."""
    return application(environment._source)


def application(source: Source) -> web.Application:
    """The application; it holds no state but the source, whose calls run in threads."""
    app = web.Application()
    app.router.add_post("/searchPerson", _posted(source, _persons))
    app.router.add_post("/searchPublication", _posted(source, _publications))
    app.router.add_get("/getCoauthors", _asked(source, _coauthors))
    app.router.add_get("/getPersonInterest", _asked(source, _interests))
    app.router.add_get("/getPersonBasicInfo", _asked(source, _profile))
    app.router.add_get("/getPersonPubs", _asked(source, _person_publications))
    app.router.add_get("/getPublication", _asked(source, _publication))
    return app


Answer = Callable[[Source, Any], dict[str, Any]]
Handler = Callable[[web.Request], Awaitable[web.Response]]


def _posted(source: Source, answer: Answer) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.read())
        except (ValueError, RecursionError):
            return _refused(400, "the body is no JSON")
        if not isinstance(body, dict):
            return _refused(400, "the body is no JSON object")
        return await _answered(source, answer, body)

    return handler


def _asked(source: Source, answer: Answer) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        if not request.query.get("id"):
            return _refused(400, "the parameter 'id' is missing")
        return await _answered(source, answer, request.query)

    return handler


async def _answered(source: Source, answer: Answer, asked: Any) -> web.Response:
    try:
        return web.json_response(await asyncio.to_thread(answer, source, asked))
    except _Unreadable as error:
        return _refused(400, str(error))
    except EnvironmentFailure as error:
        return _refused(502, str(error))


def _refused(status: int, reason: str) -> web.Response:
    return web.json_response({"success": False, "msg": reason}, status=status)


def _persons(source: Source, body: dict[str, Any]) -> dict[str, Any]:
    given: dict[str, str] = {}
    fields = {number: field for field, number in protocol.WORD_TYPES.items()}
    words = body.get("searchKeyWordList", [])
    if not isinstance(words, list):
        raise _Unreadable("'searchKeyWordList' must be a list")
    for word in words:
        kind = word.get("wordType") if isinstance(word, dict) else None
        if not isinstance(kind, int) or kind not in fields or not isinstance(word.get("keyword"), str):
            raise _Unreadable("each of 'searchKeyWordList' needs a text 'keyword' and a 'wordType' of 2, 4 or 5")
        if word["keyword"].strip():
            given[fields[kind]] = word["keyword"]
    if not given:
        return protocol.hits([])
    found = source.find_persons(given.get("name"), given.get("organization"), given.get("interest"))
    return protocol.hits(
        [
            protocol.write_person(
                person,
                source.profile(person.person_id),
                [paper.num_citation for paper in source.person_publications(person.person_id) or []],
            )
            for person in found
        ]
    )


def _publications(source: Source, body: dict[str, Any]) -> dict[str, Any]:
    query = body.get("query")
    if not isinstance(query, str):
        raise _Unreadable("'query' must be a text")
    start, size = _whole(body, "page", 0), _whole(body, "size", _DEFAULT_PAGE)
    if not query.strip() or start:  # a search has one page
        return protocol.hits([])
    found = source.find_publications(query)[:size]
    return protocol.hits([protocol.write_found_publication(hit, source.publication(hit.pub_id)) for hit in found])


def _coauthors(source: Source, asked: Mapping[str, str]) -> dict[str, Any]:
    found = source.coauthors(asked["id"])
    crs = [{"id": other.person_id, "name": other.name, "relation": other.relation} for other in found or []]
    return protocol.one(None if found is None else crs, "data", "crs")


def _interests(source: Source, asked: Mapping[str, str]) -> dict[str, Any]:
    found = source.interests(asked["id"])
    return protocol.one(None if found is None else [{"t": text} for text in found], "data", "data", "data")


def _profile(source: Source, asked: Mapping[str, str]) -> dict[str, Any]:
    found = source.profile(asked["id"])
    return protocol.one(None if found is None else protocol.write_profile(found), "data")


def _publication(source: Source, asked: Mapping[str, str]) -> dict[str, Any]:
    found = source.publication(asked["id"])
    return protocol.one(None if found is None else protocol.write_publication(found), "pub")


def _person_publications(source: Source, asked: Mapping[str, str]) -> dict[str, Any]:
    offset = _whole(asked, "offset", 0)
    size = min(_whole(asked, "size", _DEFAULT_PAGE), MOST_A_PAGE)
    found = source.person_publications(asked["id"])
    page = [protocol.write_person_publication(paper) for paper in (found or [])[offset : offset + size]]
    return protocol.one(None if found is None else page, "data", "pubs")


def _whole(asked: Mapping[str, Any], name: str, default: int) -> int:
    value = asked.get(name, default)
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise _Unreadable(f"{name!r} must be a whole number")
    return int(text)
