"""An environment served over HTTP and MCP, and opened again from there, is the same environment."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import Environment
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import shapes
from r_eval.environments.session import CallResult, Session
from r_eval.environments.wiki.environment import Wiki

SERVER = '''
import sys

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import Environment, EnvironmentFailure, query_api
from r_eval.environments.opening import open_environment
from r_eval.environments.serve.http import serve_http
from r_eval.environments.serve.mcp_server import serve_mcp


class Odd(Environment):
    """Fails, and counts."""

    @query_api
    def down(self) -> str:
        """Be down."""
        raise EnvironmentFailure("the disk is full")

    @query_api
    def count(self) -> int:
        """Count up."""
        self.number = getattr(self, "number", 0) + 1
        return self.number


name, how = sys.argv[1:]
environment = {"odd": Odd, "aminer": AMiner}[name]() if name in ("odd", "aminer") else open_environment(name)
if how == "mcp":
    serve_mcp(environment)
else:
    serve_http(environment, 0, started=lambda address: print(address, flush=True))
print("ended", file=sys.stderr)
'''

WIKI_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Lookup", {"keyword": "capital"}),
    ("Search", {"entity": "France"}),
    ("Lookup", {"keyword": "the"}),
    ("Lookup", {"keyword": "the"}),
    ("Search", {"entity": "Frnace"}),
    ("Search", {"entity": 7}),
    ("Find", {"entity": "France"}),
]
PERSON = AMiner().records("person")[0]
AMINER_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("searchPerson", {"name": PERSON["name"]}),
    ("searchPerson", {"name": "Nobody Of This Name"}),
    ("getPersonBasicInfo", {"person_id": PERSON["person_id"]}),
    ("getPersonPubs", {"person_id": PERSON["person_id"]}),
    ("getCoauthors", {"person_id": "../../etc/passwd"}),
    ("getPublication", {"pub_id": "x"}),
    ("searchPublication", {"publication_info": ["not", "text"]}),
]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "server.py"
    path.write_text(SERVER, encoding="utf-8")
    return path


class Running:
    """An environment served over HTTP by a process."""

    def __init__(self, script: Path, name: str) -> None:
        command = [sys.executable, str(script), name, "http"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def post(self, path: str, body: str, **headers: str) -> tuple[int, Any, Any]:
        """Status, JSON and headers of an answer."""
        request = urllib.request.Request(f"{self.url}{path}", body.encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, json.load(answer), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.load(error), error.headers

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, message = self.process.communicate(timeout=300)
        return self.process.returncode, message


@pytest.fixture(scope="module")
def odd(script: Path) -> Iterator[Running]:
    running = Running(script, "odd")
    yield running
    running.stop()


def results(
    environment: Environment, sandbox: Sandbox, calls: list[tuple[str, dict[str, Any]]], how: str
) -> list[CallResult]:
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


@pytest.mark.parametrize(
    ("name", "calls", "how"),
    [("aminer", AMINER_CALLS, "http"), ("aminer", AMINER_CALLS, "mcp"), ("wiki", WIKI_CALLS, "mcp over http")],
)
def test_an_environment_that_is_served_and_opened_again_is_the_same(
    script: Path, sandbox: Sandbox, name: str, calls: list[tuple[str, dict[str, Any]]], how: str
) -> None:
    direct: Environment = {"wiki": Wiki, "aminer": AMiner}[name]()
    if "mcp" in how:
        pytest.importorskip("mcp", reason="the MCP SDK is not installed (pip install mcp)")
    running = Running(script, name) if "http" in how else None
    if running is None:
        served = open_environment(f"mcp:{shlex.join([sys.executable, str(script), name, 'mcp'])}")
    else:
        where = f"openapi:{running.url}/openapi.json" if how == "http" else f"mcp:{running.url}/mcp"
        served = open_environment(where)
    try:
        assert served.description == direct.description
        specs, own = served.specs().values(), direct.specs().values()
        assert [spec.stub() for spec in specs] == [spec.stub() for spec in own]
        assert shapes(list(specs)) == shapes(list(own))
        for _ in "ab":  # in a second session, too
            assert results(served, sandbox, calls, how) == results(direct, sandbox, calls, how)
    finally:
        if running is not None:
            running.stop()


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
    odd: Running, path: str, body: str, status: int, message: str
) -> None:
    found, value, _ = odd.post(path, body)
    assert (found, list(value)) == (status, ["error"])
    assert message in value["error"]


def test_a_client_keeps_its_session_by_header_or_cookie(odd: Running) -> None:
    assert [odd.post("/count", "{}", **{"X-Session": "mine"})[1] for _ in range(3)] == [1, 2, 3]
    assert odd.post("/count", "{}", **{"X-Session": "yours"})[1] == 1
    _, number, headers = odd.post("/count", "{}")
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert (number, odd.post("/count", "{}", Cookie=cookie)[1]) == (1, 2)
