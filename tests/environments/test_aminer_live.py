"""The live AMiner: the same observations through HTTP as from the file, and honest failures of the server."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python

from r_eval.environments.aminer import AMiner, Education, Employment
from r_eval.environments.aminer.live import Live
from r_eval.environments.base import EnvironmentFailure, NotFound
from r_eval.errors import UserError
from tests.aminer_server import http_app
from tests.serving import serving

pytest.importorskip("requests", reason="a live AMiner needs requests")
from aiohttp import web

SAME = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
NOBODY = "0" * 24


class Scripted:
    """A server that answers every request by the next of its answers, and the last one for ever."""

    def __init__(self, *answers: Callable[[], web.Response] | Any) -> None:
        self.answers = list(answers)
        self.requests: list[web.Request] = []
        self.app = web.Application()
        self.app.router.add_route("*", "/{path:.*}", self.answer)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer = answer()
            return await answer if isinstance(answer, Awaitable) else answer
        return web.json_response(answer)


@contextmanager
def asking(*answers: Any, **settings: Any) -> Iterator[tuple[AMiner, Scripted]]:
    server = Scripted(*answers)
    with serving(server.app) as address:
        yield AMiner(source="live", base_url=address, **settings), server


def status(code: int, **headers: str) -> Callable[[], web.Response]:
    return lambda: web.Response(status=code, headers={name.replace("_", "-"): text for name, text in headers.items()})


@pytest.fixture(scope="module")
def direct() -> AMiner:
    return AMiner()


@pytest.fixture(scope="module")
def live(direct: AMiner) -> Iterator[AMiner]:
    with serving(http_app(direct)) as address:
        yield AMiner(source="live", base_url=address, retries=0)


def observed(aminer: AMiner, api: str, *arguments: Any) -> tuple[str, Any]:
    try:
        value = getattr(aminer, api)(*arguments)
    except NotFound as nothing:
        return "not found", str(nothing)
    return aminer.render(api, value), value


def assert_same(direct: AMiner, live: AMiner, api: str, *arguments: Any) -> None:
    assert observed(live, api, *arguments) == observed(direct, api, *arguments)


# Through our own server


@pytest.mark.parametrize("api", ["getCoauthors", "getPersonInterest", "getPersonBasicInfo", "getPersonPubs"])
def test_a_scholar_is_the_same_through_http(direct: AMiner, live: AMiner, api: str) -> None:
    for person in direct.records("person")[::9]:
        assert_same(direct, live, api, person["person_id"])


def test_a_publication_is_the_same_through_http(direct: AMiner, live: AMiner) -> None:
    for paper in direct.records("publication")[::25]:
        assert_same(direct, live, "getPublication", paper["pub_id"])
        assert_same(direct, live, "searchPublication", paper["title"])


def test_a_search_is_the_same_through_http(direct: AMiner, live: AMiner) -> None:
    for person in direct.records("person")[::14]:
        name, organization, interest = person["name"], person["organization"], person["interests"][0]
        for arguments in [(name,), (name, organization), (None, organization, interest), (name[:-1], None, "")]:
            assert_same(direct, live, "searchPerson", *arguments)


TEXT = st.sampled_from(
    ["", " ", "\x00", "'; DROP TABLE person; --", "NEAR(a b)", "name:x", "\ud800", "x" * 100_000, "é" * 3000, "李 明",
     "a&id=b", "../../etc/passwd", "{0.__class__}", "%00", "?id=1#x", "\r\nHost: x", "university", "for", NOBODY]
) | st.text(st.characters(), max_size=30)  # fmt: skip


@SAME
@given(one=TEXT, two=TEXT | st.none(), three=TEXT | st.none())
def test_any_text_is_observed_the_same_through_http(
    direct: AMiner, live: AMiner, one: str, two: str | None, three: str | None
) -> None:
    assert_same(direct, live, "searchPerson", one, two, three)
    assert_same(direct, live, "searchPublication", one)
    for api in AMiner.query_apis():
        if api.startswith("get"):
            assert_same(direct, live, api, one)


@pytest.fixture(scope="module")
def vocabulary(direct: AMiner) -> tuple[list[str], list[str]]:
    """Words of names and organizations, and titles."""
    people = direct.records("person")[:60]
    words = {word for person in people for word in f"{person['name']} {person['organization']}".split()}
    return sorted(words), [paper["title"] for paper in direct.records("publication")]


@SAME
@given(data=st.data())
def test_words_of_the_world_are_observed_the_same_through_http(
    direct: AMiner, live: AMiner, vocabulary: tuple[list[str], list[str]], data: st.DataObject
) -> None:
    words, titles = vocabulary
    some = st.lists(st.sampled_from(words), min_size=1, max_size=3).map(" ".join) | st.none()
    assert_same(direct, live, "searchPerson", data.draw(some), data.draw(some), data.draw(some))
    title = data.draw(st.sampled_from(titles))
    cut = data.draw(st.integers(1, len(title)))
    assert_same(direct, live, "searchPublication", title[:cut])


def test_an_imported_snapshot_is_the_same_through_http(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    ids = ["a/b?c=d&e#f", "é+%20", "53e9b010b7602d9703a67046", "7"]
    papers = [{"id": key, "title": f"On {key}"} for key in ids]
    who = {"organization": "Acme, Inc."}
    scholars = [
        {**who, "id": f"who:{k}", "name": f"Ada {k}", "publications": papers[: n + 1]} for n, k in enumerate(ids)
    ]
    dump.write_text("".join(json.dumps(scholar) + "\n" for scholar in scholars), encoding="utf-8")
    direct = AMiner(scholars=str(dump))
    with serving(http_app(direct)) as address:
        live = AMiner(source="live", base_url=address)
        for key in ids:
            assert direct.getPublication(key).title == f"On {key}"
            assert_same(direct, live, "getPublication", key)
            for api in ("getCoauthors", "getPersonInterest", "getPersonBasicInfo", "getPersonPubs"):
                assert_same(direct, live, api, f"who:{key}")
        assert_same(direct, live, "searchPerson", "Ada")


def test_many_threads_share_one_client(direct: AMiner, live: AMiner) -> None:
    ids = [person["person_id"] for person in direct.records("person")[:200]]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(live.getPersonBasicInfo, ids)) == list(map(direct.getPersonBasicInfo, ids))


def test_a_server_can_stand_in_front_of_a_server(direct: AMiner, live: AMiner) -> None:
    with serving(http_app(live)) as address:
        far = AMiner(source="live", base_url=address + "/")
        person = direct.records("person")[5]
        assert far.searchPerson(person["name"]) == direct.searchPerson(person["name"])
        assert far.getPersonBasicInfo(person["person_id"]) == direct.getPersonBasicInfo(person["person_id"])


def test_all_publications_come_although_the_protocol_gives_pages(tmp_path: Any) -> None:
    papers = [
        {"id": f"p{n:03}", "title": f"T{n}", "ncitation": n // 2, "year": 2000, "authors": []} for n in range(130)
    ]
    page = lambda start, stop: {"data": [{"data": {"pubs": papers[start:stop]}}]}  # noqa: E731
    with asking(page(0, 10), page(10, 100), page(100, 130), page(130, 200)) as (aminer, server):
        found = aminer.getPersonPubs("a" * 24)
    assert [paper.pub_id for paper in found[:3]] == ["p128", "p129", "p126"]
    assert len(found) == 130
    assert [request.query["offset"] for request in server.requests] == ["0", "10", "100", "130"]


def test_a_server_that_repeats_its_first_page_is_asked_twice() -> None:
    page = {"data": [{"data": {"pubs": [{"id": "p", "title": "T", "ncitation": 1, "year": 2000, "authors": []}]}}]}
    with asking(page) as (aminer, server):
        assert len(aminer.getPersonPubs("a" * 24)) == 1
        assert len(server.requests) == 2


# The requests and answers of AMiner's own server


def test_a_search_is_asked_in_aminers_words() -> None:
    class Recorded(Scripted):
        body: Any = None

        async def answer(self, request: web.Request) -> web.StreamResponse:
            self.body = await request.json()
            return await super().answer(request)

    server = Recorded({"data": {"hitList": []}})
    with serving(server.app) as address:
        assert AMiner(source="live", base_url=address).searchPerson("Ada", interest="sorting") == []
    assert server.requests[0].path == "/searchPerson"
    words = [(word["wordType"], word["keyword"]) for word in server.body["searchKeyWordList"]]
    assert words == [(4, "Ada"), (2, "sorting")]
    assert server.body["sort"] == [{"asc": False, "field": "n_citation"}]


def test_a_hit_of_aminers_own_is_read_into_our_shape() -> None:
    interests = [{"t": f"i{n}", "n": n} for n in range(15)]
    contact = {"affiliation": "Acme", "bio": None}
    hit = {"id": "x", "name": "Ada", "ncitation": 3, "npubs": "2", "contact": contact, "interests": interests}
    with asking({"success": True, "data": {"hitList": [hit, {"name": "no id"}, hit | {"interests": None}]}}) as (
        one,
        _,
    ):
        first, second = one.searchPerson("Ada")
    assert (first.person_id, first.num_citation, first.num_pubs, first.organization) == ("x", 3, 2, "Acme")
    assert (len(first.interests), second.interests) == (10, [])


def test_free_text_about_education_and_work_is_kept_as_it_is() -> None:
    profile = {
        "name": "Ada",
        "edu": "PhD in Paris<br>\nBSc, Acme University, York, 1999",
        "work": "Runs a lab",
        "aff": None,
    }
    with asking({"data": [{"data": profile}]}) as (aminer, _):
        info = aminer.getPersonBasicInfo("x")
    assert info.education_experience == [
        Education("", "PhD in Paris", 0),
        Education("BSc", "Acme University, York", 1999),
    ]
    assert info.work_experience == [Employment("", "Runs a lab", 0, 0)]
    assert (info.organization, info.email) == ("", "")


def test_a_publications_venue_may_be_an_object() -> None:
    paper = {"title": "T", "authors": [{"name": "Ada"}, {"id": "y"}], "venue": {"raw": "J. Sort."}, "year": 2001.0}
    with asking({"data": [{"pub": paper}]}) as (aminer, _):
        found = aminer.getPublication("p")
    assert (found.venue, found.year, found.abstract) == ("J. Sort.", 2001, "")
    assert to_jsonable_python(found.author_list) == [{"person_id": "", "name": "Ada"}]


@pytest.mark.parametrize(
    "body", [{"data": [{"data": {}}]}, {"data": []}, {"data": None}, {"data": [{"succeed": False}]}]
)
@pytest.mark.parametrize("api", [api for api in AMiner.query_apis() if api.startswith("get")])
def test_an_unknown_id_is_an_observation_that_says_where_ids_come_from(api: str, body: Any) -> None:
    with asking(body) as (aminer, _), pytest.raises(NotFound, match=f"no (scholar|publication) with the id '{NOBODY}'"):
        getattr(aminer, api)(NOBODY)


def test_an_empty_list_is_not_an_unknown_id() -> None:
    with asking({"data": [{"data": {"crs": []}}]}) as (aminer, _):
        assert aminer.getCoauthors(NOBODY) == []


# Failures


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([], "expected a JSON object"),
        ({"hits": []}, "no 'data'"),
        ({"data": []}, "no list 'data.hitList'"),
        ({"data": {"hitList": [{"name": "no id"}]}}, "has no 'id'"),
        ({"data": {"hitList": ["text"]}}, "expected an object"),
        ({"success": False, "msg": "quota used up"}, "quota used up"),
        (lambda: web.Response(text="<html>"), "no JSON"),
        (lambda: web.Response(text="[" * 100_000), "no JSON"),
        (lambda: web.Response(body=b"\xff\xfe{}"), "no JSON"),
    ],
)
def test_nonsense_is_a_failure_that_says_what_is_wrong(body: Any, reason: str) -> None:
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


class Canned(Live):
    """A client whose server would answer everything by one body."""

    body: Any = None

    def _ask(self, method: str, api: str, **request: Any) -> Any:
        return self.body


@pytest.fixture(scope="module")
def canned() -> AMiner:
    aminer = AMiner()
    aminer._source = Canned("http://127.0.0.1:1")
    return aminer


@settings(max_examples=200)
@given(body=JSON.map(lambda inner: {"data": inner}))
def test_any_json_is_a_result_nothing_found_or_a_failure(canned: AMiner, body: Any) -> None:
    canned._source.body = body
    for api in AMiner.query_apis():
        try:
            canned.render(api, getattr(canned, api)("x"))
        except (NotFound, EnvironmentFailure):
            continue


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_passing_failure_is_asked_again(code: int) -> None:
    with asking(status(code, Retry_After="0"), {"data": {"hitList": []}}) as (aminer, server):
        assert aminer.searchPublication("sorting") == []
        assert len(server.requests) == 2


def test_the_pause_that_a_server_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", slept.append)
    later = status(429, Retry_After="7")
    never = status(503, Retry_After="86400")
    with asking(later, never, {"data": {"hitList": []}}) as (aminer, _):
        aminer.searchPublication("sorting")
    assert slept == [7, 60]


def test_retries_end_in_a_failure_that_names_address_and_status() -> None:
    with asking(status(503, Retry_After="0"), retries=2) as (aminer, server):
        with pytest.raises(EnvironmentFailure, match=r"127.0.0.1:\d+/getCoauthors answered 503 \(tried 3 times\)"):
            aminer.getCoauthors(NOBODY)
        assert len(server.requests) == 3


def test_a_wrong_address_is_not_asked_twice() -> None:
    with asking(status(404)) as (aminer, server), pytest.raises(EnvironmentFailure, match="404: check base_url"):
        aminer.getCoauthors(NOBODY)
    assert len(server.requests) == 1


def test_a_server_that_is_down_is_a_failure() -> None:
    with serving(Scripted({}).app) as address:
        pass
    with pytest.raises(EnvironmentFailure, match="cannot be reached"):
        AMiner(source="live", base_url=address, retries=0).searchPerson("Ada")


def test_a_silent_server_is_a_failure_after_the_timeout() -> None:
    async def wait() -> web.Response:
        await asyncio.sleep(0.5)
        return web.Response()

    with asking(wait, timeout=0.1, retries=0) as (aminer, _), pytest.raises(EnvironmentFailure, match="silent"):
        aminer.searchPerson("Ada")


def test_an_answer_without_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("r_eval.environments.aminer.live.MOST_BYTES", 2**20)
    with (
        asking(lambda: web.Response(body=b" " * 2**21)) as (aminer, _),
        pytest.raises(EnvironmentFailure, match="1 MiB"),
    ):
        aminer.searchPerson("Ada")


# Key and settings


def test_the_key_is_sent_and_never_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHOLAR_KEY", "s3cret")
    echo = {"success": False, "msg": "unknown key s3cret"}
    with asking(echo, status(401), api_key_env="SCHOLAR_KEY") as (aminer, server):
        with pytest.raises(EnvironmentFailure, match=r"unknown key \*\*\*"):
            aminer.searchPerson("Ada")
        with pytest.raises(EnvironmentFailure, match="401: check the key in SCHOLAR_KEY"):
            aminer.searchPerson("Ada")
        assert server.requests[0].headers["Authorization"] == "s3cret"
        assert b"s3cret" not in pickle.dumps(aminer)


def test_a_client_can_be_sent_to_another_process(live: AMiner, direct: AMiner) -> None:
    again = pickle.loads(pickle.dumps(live))
    assert again.version == live.version
    assert again.searchPerson("Ada") == direct.searchPerson("Ada")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"source": "web"}, "expected snapshot or live"),
        ({"source": "live", "scholars": "x.jsonl"}, "goes with the source snapshot"),
        ({"base_url": "http://127.0.0.1"}, "go with the source live"),
        ({"source": "live", "base_url": "ftp://host"}, "base_url must look like"),
        ({"source": "live", "base_url": "https://me:pass@host"}, "base_url must look like"),
        ({"source": "live", "base_url": "http://host:99999"}, "base_url must look like"),
        ({"source": "live", "api_key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE .* is not set"),
        ({"source": "live", "timeout": 0}, "timeout"),
        ({"source": "live", "retries": -1}, "retries"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        AMiner(**wrong)


def test_a_live_aminer_has_no_records_and_says_so() -> None:
    with pytest.raises(KeyError, match="templates need a snapshot"):
        AMiner(source="live").records("person")


# The server by itself


def raw(address: str, method: str, path: str, **request: Any) -> tuple[int, Any]:
    import requests

    answer = requests.request(method, f"{address}/{path}", timeout=10, **request)
    return answer.status_code, json.loads(answer.content)


@pytest.fixture(scope="module")
def address(direct: AMiner) -> Iterator[str]:
    with serving(http_app(direct)) as address:
        yield address


def test_a_client_of_aminers_finds_the_fields_that_it_reads(address: str, direct: AMiner) -> None:
    word = {"operate": "0", "wordType": 4, "keyword": "Antti", "advanced": True, "needTranslate": True}
    _, body = raw(address, "POST", "searchPerson", data=json.dumps({"searchKeyWordList": [word], "needDetails": True}))
    hit = body["data"]["hitList"][0]
    record = next(person for person in direct.records("person") if person["person_id"] == hit["id"])
    assert (hit["ncitation"], hit["npubs"], hit["hindex"]) == (
        record["num_citation"],
        record["num_pubs"],
        record["h_index"],
    )
    assert hit["gindex"] >= hit["hindex"]
    assert hit["contact"]["affiliation"] == record["organization"]
    assert [interest["t"] for interest in hit["interests"]] == record["interests"]
    assert {"email", "position", "bio", "edu", "work"} < set(hit["contact"])
    _, body = raw(
        address, "GET", "getPersonPubs", params={"id": hit["id"], "offset": 0, "size": 10, "order": "citation"}
    )
    paper = body["data"][0]["data"]["pubs"][0]
    assert set(paper) == {"id", "title", "ncitation", "year", "authors"}
    _, body = raw(address, "GET", "getPublication", params={"id": paper["id"]})
    assert body["data"][0]["pub"]["title"] == paper["title"]
    _, body = raw(address, "GET", "getPersonInterest", params={"id": hit["id"]})
    assert body["data"][0]["data"]["data"]["data"] == hit["interests"]


@pytest.mark.parametrize(
    ("method", "path", "request_"),
    [
        ("POST", "searchPerson", {"data": b"{"}),
        ("POST", "searchPerson", {"data": b"[]"}),
        ("POST", "searchPerson", {"data": b'{"searchKeyWordList": 1}'}),
        ("POST", "searchPerson", {"data": b'{"searchKeyWordList": [{"wordType": 9, "keyword": "x"}]}'}),
        ("POST", "searchPerson", {"data": b'{"searchKeyWordList": [{"wordType": [], "keyword": "x"}]}'}),
        ("POST", "searchPublication", {"data": b"{}"}),
        ("POST", "searchPublication", {"data": b'{"query": "x", "size": "many"}'}),
        ("GET", "getCoauthors", {}),
        ("GET", "getPersonPubs", {"params": {"id": NOBODY, "offset": "-1"}}),
    ],
)
def test_a_request_that_cannot_be_read_is_answered_with_400(
    address: str, method: str, path: str, request_: dict[str, Any]
) -> None:
    code, body = raw(address, method, path, **request_)
    assert (code, body["success"]) == (400, False)
    assert body["msg"]


def test_a_failure_of_the_source_is_answered_with_502() -> None:
    with serving(Scripted({}).app) as down:
        pass
    with serving(http_app(AMiner(source="live", base_url=down, retries=0))) as address:
        code, body = raw(address, "GET", "getCoauthors", params={"id": NOBODY})
    assert code == 502
    assert "cannot be reached" in body["msg"]
