"""An environment served over HTTP and MCP, and opened again from there, is the same environment."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import Environment, EnvironmentFailure, query_api
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import shapes
from r_eval.environments.serve.http import http_app
from r_eval.environments.session import CallResult, Session
from tests.serving import serving


class Odd(Environment):
    """Fails, and counts."""

    @query_api
    def down(self) -> str:
        """Be down."""
        raise EnvironmentFailure("the disk is full")

    @query_api
    def half(self) -> list[Any]:
        """Give what JSON lacks."""
        return [float("nan"), -float("inf"), "\ud800"]

    @query_api
    def count(self) -> int:
        """Count up."""
        self.number = getattr(self, "number", 0) + 1
        return self.number


Call = tuple[str, dict[str, Any]]
WIKI_CALLS: list[Call] = [
    ("Lookup", {"keyword": "capital"}),
    ("Search", {"entity": "France"}),
    ("Lookup", {"keyword": "the"}),
    ("Lookup", {"keyword": "the"}),
    ("Search", {"entity": "Frnace"}),
    ("Search", {"entity": 7}),
    ("Find", {"entity": "France"}),
]
R_EVAL = Path(sys.executable).with_name("r-eval")
PERSON = AMiner().records("person")[0]
AMINER_CALLS: list[Call] = [
    ("searchPerson", {"name": PERSON["name"]}),
    ("searchPerson", {"name": "Nobody Of This Name"}),
    ("getPersonBasicInfo", {"person_id": PERSON["person_id"]}),
    ("getPersonPubs", {"person_id": PERSON["person_id"]}),
    ("getCoauthors", {"person_id": "../../etc/passwd"}),
    ("getPublication", {"pub_id": "x"}),
    ("searchPublication", {"publication_info": ["not", "text"]}),
]


@pytest.fixture(scope="module")
def odd() -> Iterator[str]:
    with serving(http_app(Odd())) as address:
        yield address


def post(url: str, body: str, **headers: str) -> tuple[int, Any, Any]:
    """Status, JSON and headers of an answer."""
    answer = requests.post(url, body.encode(), headers=headers, timeout=300)
    return answer.status_code, answer.json(), answer.headers


def results(environment: Environment, sandbox: Sandbox, calls: list[Call], how: str) -> list[CallResult]:
    """What calls return in one session; over MCP, which has one kind of error, errors of tools are of one kind."""
    session = Session(environment, sandbox)

    async def carried_out() -> list[CallResult]:
        found = [await session.call(api, arguments) for api, arguments in calls]
        errors = {"not_found": "tool_error"} if "mcp" in how else {}
        return [dataclasses.replace(one, error=errors.get(one.error or "", one.error)) for one in found]

    try:
        return asyncio.run(carried_out())
    finally:
        session.close()


@contextlib.contextmanager
def opened_again(name: str, how: str) -> Iterator[Environment]:
    """An environment as it is served: over HTTP, or over standard input and output by the command."""
    if how == "mcp":
        yield open_environment(f"mcp:{shlex.quote(str(R_EVAL))} serve {name} --mcp")
        return
    with serving(http_app(open_environment(name))) as url:
        yield open_environment(f"openapi:{url}/openapi.json" if how == "http" else f"mcp:{url}/mcp")


@pytest.mark.parametrize(
    ("name", "calls", "how"),
    [("aminer", AMINER_CALLS, "http"), ("aminer", AMINER_CALLS, "mcp"), ("wiki", WIKI_CALLS, "mcp over http")],
)
def test_an_environment_that_is_served_and_opened_again_is_the_same(
    sandbox: Sandbox, name: str, calls: list[Call], how: str
) -> None:
    if "mcp" in how:
        pytest.importorskip("mcp", reason="the MCP SDK is not installed (pip install mcp)")
    direct = open_environment(name)
    with opened_again(name, how) as served:
        assert served.description == direct.description
        specs, own = served.specs().values(), direct.specs().values()
        assert [spec.stub() for spec in specs] == [spec.stub() for spec in own]
        assert shapes(list(specs)) == shapes(list(own))
        for _ in "ab":  # in a second session, too
            assert results(served, sandbox, calls, how) == results(direct, sandbox, calls, how)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/nothing", "{}", 404, "There is no API named 'nothing'."),
        ("/count", '{"a": 1}', 422, "count has no argument 'a'."),
        ("/count", "[1]", 422, "The arguments must be a JSON object: it is no object."),
        ("/count", "{not json", 422, "The arguments must be a JSON object: "),
        ("/count", "[" * 100_000, 422, "The arguments must be a JSON object: "),
        ("/down", "", 500, "the disk is full"),
    ],
)
def test_what_is_wrong_comes_with_a_status_and_the_observation(
    odd: str, path: str, body: str, status: int, message: str
) -> None:
    found, value, _ = post(odd + path, body)
    assert (found, list(value)) == (status, ["error"])
    assert message in value["error"]


def test_what_json_lacks_is_null(odd: str) -> None:
    assert requests.post(f"{odd}/half", timeout=300).text == '[null,null,"\ufffd"]'


def test_a_client_keeps_its_session_by_header_or_cookie(odd: str) -> None:
    assert [post(f"{odd}/count", "{}", **{"X-Session": "mine"})[1] for _ in range(3)] == [1, 2, 3]
    assert post(f"{odd}/count", "{}", **{"X-Session": "yours"})[1] == 1
    _, number, headers = post(f"{odd}/count", "{}")
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert (number, post(f"{odd}/count", "{}", Cookie=cookie)[1]) == (1, 2)
