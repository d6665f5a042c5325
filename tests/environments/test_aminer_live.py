"""The live AMiner: the same observations through HTTP as from the file, and honest failures of the server."""

from __future__ import annotations

import asyncio
import dataclasses
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments import json_api
from r_eval.environments.aminer import AMiner
from r_eval.environments.aminer.shapes import Education, Employment, PersonInfo
from r_eval.environments.base import EnvironmentFailure, NotFound
from tests.aminer_server import APIS, http_app
from tests.serving import Scripted, serving

pytest.importorskip("requests_cache", reason="a live AMiner needs requests-cache (extra aminer)")
from aiohttp import web

FAST = {"requests_per_second": 10_000}


@contextmanager
def asking(*answers: Any, **settings: Any) -> Iterator[tuple[AMiner, Scripted]]:
    server = Scripted(*answers)
    with serving(server.app) as address:
        yield AMiner(source="live", base_url=address, **(FAST | settings)), server


def status(code: int, **headers: str) -> Callable[[], web.Response]:
    return lambda: web.Response(status=code, headers={name.replace("_", "-"): text for name, text in headers.items()})


def observed(aminer: AMiner, api: str, *arguments: Any) -> tuple[str, Any]:
    try:
        value = getattr(aminer, api)(*arguments)
    except NotFound as nothing:
        return "not found", str(nothing)
    if isinstance(value, PersonInfo):  # a server has free text on these
        value = dataclasses.replace(value, education_experience=[], work_experience=[])
    return aminer.render(api, value), value


def test_scholars_and_publications_are_the_same_through_http() -> None:
    direct, calls = AMiner(), []
    for person in direct.records("person")[::40]:
        name, organization, interest = person["name"], person["organization"], person["interests"][0]
        calls += [(api, person["person_id"]) for api in set(APIS) - {"getPublication"}]
        searches = [(name,), (name, organization), (None, organization, interest), (name[:-1], None, "")]
        calls += [("searchPerson", *arguments) for arguments in searches]
    for paper in direct.records("publication")[::100]:
        calls += [("getPublication", paper["pub_id"]), ("searchPublication", paper["title"])]
    with serving(http_app(direct)) as address:
        live = AMiner(source="live", base_url=address, **FAST)
        for call in calls:
            assert observed(live, *call) == observed(direct, *call)


def test_all_publications_come_although_the_protocol_gives_pages() -> None:
    papers = [{"id": f"p{n:03}", "title": f"T{n}", "ncitation": n // 2, "year": 2000} for n in range(130)]
    page = lambda start, stop: {"data": [{"data": {"pubs": papers[start:stop]}}]}  # noqa: E731
    with asking(page(0, 10), page(10, 100), page(100, 130), page(130, 200)) as (aminer, server):
        found = aminer.getPersonPubs("a" * 24)
    assert [paper.pub_id for paper in found[:3]] == ["p128", "p129", "p126"]
    assert len(found) == 130
    assert [request.query["offset"] for _, request in server.requests] == ["0", "10", "100", "130"]


def test_a_hit_of_aminers_own_is_read_into_our_shape() -> None:
    interests = [{"t": f"i{n}", "n": n} for n in range(15)]
    hit = {"id": "x", "name": "A\x1b[31mda", "ncitation": 3, "npubs": "2", "contact": {"affiliation": "Acme"}}
    hits = [hit | {"interests": interests}, {"name": "no id"}, hit | {"interests": None}]
    with asking({"success": True, "data": {"hitList": hits}}) as (aminer, _):
        first, second = aminer.searchPerson("Ada")
    assert (first.name, first.num_citation, first.num_pubs, first.organization) == ("Ada", 3, 2, "Acme")
    assert (len(first.interests), second.interests) == (10, [])


def test_free_text_about_education_and_work_is_kept_as_it_is() -> None:
    written = {"edu": "PhD in Paris<br>\nBSc, Acme University, York, 1999", "work": "Runs a lab", "aff": None}
    with asking({"data": [{"data": {"name": "Ada", **written}}]}) as (aminer, _):
        info = aminer.getPersonBasicInfo("x")
    degrees = [Education("", "PhD in Paris", 0), Education("", "BSc, Acme University, York, 1999", 0)]
    assert info.education_experience == degrees
    assert info.work_experience == [Employment("", "Runs a lab", 0, 0)]
    assert (info.organization, info.email) == ("", "")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([], "not a JSON object"),
        ({"hits": []}, "no 'data'"),
        ({"data": []}, "is not AMiner's"),
        ({"data": {"hitList": [{"name": "no id"}]}}, "no item has an id and a name"),
        ({"data": {"hitList": ["text"]}}, "is not AMiner's"),
        (lambda: web.Response(text="<html>"), "not a JSON object"),
        (lambda: web.Response(text="[" * 100_000), "not a JSON object"),
        (status(404), "answered 404: check the address"),
        (status(302, Location="http://127.0.0.1:9/"), "answered 302: check the address"),
    ],
)
def test_what_is_no_answer_is_a_failure_that_says_why_and_is_asked_once(body: Any, reason: str) -> None:
    with asking(body) as (aminer, server), pytest.raises(EnvironmentFailure, match=reason):
        aminer.searchPerson("Ada")
    assert len(server.requests) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "hitList", "crs", "pubs", "pub", "id", "name", "t", "title", "edu"]), inner
        )
    ),
    max_leaves=25,
)


@settings(max_examples=200)
@given(body=JSON)
def test_any_json_is_a_result_nothing_found_or_a_failure(body: Any) -> None:
    aminer = AMiner(source="live", base_url="http://127.0.0.1:1")
    source: Any = aminer._source
    source._api.ask = lambda path, **request: {"data": body}
    for api in AMiner.query_apis():
        try:
            aminer.render(api, getattr(aminer, api)("x"))
        except (NotFound, EnvironmentFailure):
            continue


@pytest.mark.parametrize(("code", "headers"), [(429, {}), (500, {}), (503, {}), (503, {"Retry_After": "0.5"})])
def test_a_passing_failure_is_asked_again(code: int, headers: dict[str, str]) -> None:
    with asking(status(code, **headers), {"data": {"hitList": []}}) as (aminer, server):
        assert aminer.searchPublication("sorting") == []
        assert len(server.requests) == 2


def test_the_pause_that_a_server_asks_for_is_kept_up_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    later, never = status(429, Retry_After="7"), status(503, Retry_After="86400")
    with asking(later, never, {"data": {"hitList": []}}) as (aminer, _):
        aminer.searchPublication("sorting")
    assert [seconds for seconds in slept if seconds >= 1] == [7, 60]


def test_a_server_that_is_down_or_silent_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_api, "RETRIES", 0)
    monkeypatch.setattr(json_api, "TIMEOUT", 0.1)

    async def wait() -> web.Response:
        await asyncio.sleep(0.5)
        return web.Response()

    silent = pytest.raises(EnvironmentFailure, match=r"gave no answer within 0\.1 s")
    with asking(wait) as (aminer, _), silent:
        aminer.searchPerson("Ada")
    with pytest.raises(EnvironmentFailure, match="cannot be reached"):
        aminer.searchPerson("Ada")


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_an_answer_without_end_is_a_failure(encoding: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_api.BoundedAdapter, "most_bytes", 2**20)

    def answer() -> web.Response:
        response = web.Response(body=b" " * 2**21)
        if encoding:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    with asking(answer) as (aminer, _), pytest.raises(EnvironmentFailure, match="more than 1 MiB"):
        aminer.searchPerson("Ada")


def test_the_key_is_sent_and_neither_said_nor_kept(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("SCHOLAR_KEY", "s3cret")
    echo = {"success": False, "msg": "unknown key s3cret"}
    with asking(echo, status(401), {"data": {"hitList": []}}, api_key_env="SCHOLAR_KEY") as (aminer, server):
        with pytest.raises(EnvironmentFailure, match=r"unknown key \*\*\*"):
            aminer.searchPerson("Ada")
        with pytest.raises(EnvironmentFailure, match="401: check the key"):
            aminer.searchPerson("Ada")
        assert aminer.searchPerson("Ada") == []
        assert server.requests[0][1].headers["Authorization"] == "s3cret"
    assert b"s3cret" not in pickle.dumps(aminer) + (cache / "aminer" / "answers.sqlite").read_bytes()
