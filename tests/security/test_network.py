"""Nothing is sent where the grid has not said so: a server that redirects is not followed. A served environment answers
programs of its own machine, unless a flag says otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import UserError
from r_eval.llms.base import LLMError, Message, Request, make_llm
from tests.commands import R_EVAL
from tests.serving import Scripted, serving


@pytest.fixture(params=[302, 307, 308])
def redirecting(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that redirects everything to another."""

    other = Scripted({})
    with serving(other.app) as target:
        headers = {"Location": target.replace("127.0.0.1", "localhost")}
        with serving(Scripted(lambda: web.Response(status=request.param, headers=headers)).app) as address:
            yield address
    assert other.requests == []


def test_an_llms_server_that_redirects_is_not_followed(redirecting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "no-usual-form-0123456789")
    llm = make_llm("openai/m", {"base_url": f"{redirecting}/v1", "api_key_env": "SOME_KEY"})

    async def ask() -> None:
        try:
            await llm.open()
            await llm.generate(Request((Message("user", "Hello"),)))
        finally:
            await llm.close()

    with pytest.raises((UserError, LLMError), match="redirects to localhost:"):
        asyncio.run(ask())


def test_a_live_aminer_that_redirects_is_not_followed(redirecting: str) -> None:
    with pytest.raises(EnvironmentFailure, match="check the address"):
        AMiner(source="live", base_url=redirecting).searchPerson(name="Ada")


@contextlib.contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [R_EVAL, "serve", "wiki", "--http", "0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        yield process.stderr.readline().partition(" at ")[2].split()[0]
        process.terminate()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as there:
        yield there


def status(address: str, **headers: str) -> int:
    request = urllib.request.Request(f"{address}/openapi.json", headers={k.title(): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            json.load(answer)
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_server_is_at_the_loopback_address(address: str) -> None:
    assert status(address) == 200
    with pytest.raises(OSError, match="refused"):  # on Linux each 127.x.y.z is an address of its own
        socket.create_connection(("127.0.0.2", urlsplit(address).port or 0), timeout=5)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
def test_what_another_site_has_a_browser_send_is_refused(address: str, headers: dict[str, str], expected: int) -> None:
    assert status(address, **headers) == expected


def test_another_address_needs_a_flag() -> None:
    with served("--host", "127.0.0.2") as there:
        assert urlsplit(there).hostname == "127.0.0.2"
        assert status(there) == 200
