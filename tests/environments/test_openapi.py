"""An HTTP API with an OpenAPI document as an environment: a real server, which keeps what it received."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CallResult, Session
from r_eval.environments.tools.openapi import OpenAPI
from r_eval.errors import UserError
from tests.environments.conftest import Ask
from tests.serving import serving

DOCUMENT = """
openapi: 3.0.3
info: {title: Library, version: "1", description: Books and who wrote them.}
paths:
  /books/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}, description: The book's id.}
    get:
      operationId: getBook
      summary: Show a book.
      description: With its authors.
      parameters:
        - $ref: '#/components/parameters/Lang'
        - {name: X-Api-Key, in: header, required: true, schema: {type: string}}
      responses:
        "200": {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}}
  /books:
    get:
      operationId: find-books
      parameters:
        - {name: q, in: query, required: true, schema: {type: string}}
        - {name: since, in: query, schema: {type: string, format: date, example: 2020-01-01}}
        - {name: X-Note, in: header, schema: {type: string}}
      responses: {"200": {description: ok}}
  /form:
    post:
      operationId: form
      requestBody:
        content: {application/json: {schema: {type: object, properties: {a: {type: string}}}}}
      responses: {default: {description: ok}}
  /list:
    post:
      requestBody: {content: {application/json: {schema: {type: array, items: {type: integer}}}}}
      responses: {default: {description: ok}}
  /special/{what}:
    get:
      operationId: special
      parameters: [{name: what, in: path, required: true, schema: {type: string}}]
      responses: {default: {description: it}}
components:
  parameters:
    Lang: {name: lang, in: query, schema: {type: string, enum: [en, de], default: en}}
  schemas:
    Book:
      type: object
      required: [title]
      properties: {title: {type: string}, sequel: {$ref: '#/components/schemas/Book'}}
"""


class Server:
    """A server that answers with the request; /special/NUMBER with that status, /special/... with odd things.

    Attributes:
        statuses: Of the next answers.
    """

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._running = contextlib.ExitStack()
        self.url = self._running.enter_context(serving(app))
        self.stop = self._running.close

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.raw_path.partition("?")[0]
        received = {
            "method": request.method,
            "target": request.raw_path,
            "path": path,
            "headers": {name.title(): value for name, value in request.headers.items()},
            "body": await request.text(),
        }
        self.received.append(received)
        status, headers, text = self.reply(path, received)
        return web.Response(status=status, headers={"Content-Type": "application/json", **headers}, body=text.encode())

    def reply(self, path: str, received: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        if self.statuses:
            status = self.statuses.pop(0)
            return status, {"Retry-After": "0"}, json.dumps({"error": {"message": f"status {status}"}})
        what = path.removeprefix("/api/special/")
        if what.isdecimal():
            return int(what), {"Retry-After": "0"}, json.dumps({"message": "its own words"})
        specials: dict[str, tuple[int, dict[str, str], str]] = {
            "elsewhere": (302, {"Location": "http://localhost:1/secret"}, ""),
            "large": (200, {}, json.dumps("x" * 6_000_000)),
            "image": (200, {"Content-Type": "image/png"}, "PNG"),
            "bytes": (200, {"Content-Type": "application/octet-stream"}, "a\0b"),
            "text": (200, {"Content-Type": "text/plain; charset=utf-8"}, "plain ü"),
            "form": (200, {"Content-Type": "application/x-www-form-urlencoded"}, "a=1"),
            "old": (200, {"Content-Type": "text/json; charset=utf-8"}, "[1]"),
            "nothing": (204, {}, ""),
            "escaped": (200, {}, '{"key": "0123456789\\/abcdef"}'),
            "broken": (200, {}, "{not json"),
            "html": (404, {"Content-Type": "text/html"}, "<html>gone</html>"),
            "bom": (200, {"Set-Cookie": "sid=one; Path=/"}, "\ufeff[1]"),
        }
        return specials.get(what, (200, {}, json.dumps(received)))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("openapi") / "library.yaml"
    path.write_text(DOCUMENT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def library(server: Server, document: Path) -> OpenAPI:
    return OpenAPI(str(document), base_url=f"{server.url}/api", timeout=10.0, retries=2)


@pytest.fixture
def call(server: Server, library: OpenAPI, sandbox: Sandbox) -> Callable[..., CallResult]:
    """A call, each in an event loop of its own; only its own requests are in `server.received`."""
    server.received.clear()
    session = Session(library, sandbox, tokens=10**7)
    return lambda api, **arguments: asyncio.run(session.call(api, arguments))


def test_every_operation_is_a_query_api(library: OpenAPI) -> None:
    specs = library.specs()
    assert library.description == "Books and who wrote them."
    assert (specs["getBook"].summary, specs["getBook"].details) == ("Show a book.", "With its authors.")
    assert [spec.stub().partition(":\n")[0].removeprefix("def ") for spec in specs.values()] == [
        "getBook(id: str, X_Api_Key: str, lang: Literal['en', 'de'] = 'en') -> Book",
        "find_books(q: str, since: str | None = None, X_Note: str | None = None) -> Any",
        "form(a: str | None = None) -> Any",
        "post_list(body: list[int] | None = None) -> Any",
        "special(what: str) -> Any",
    ]


@pytest.mark.parametrize(
    ("api", "arguments"),
    [
        *(("special", {"what": path}) for path in ("..", "", "a/../b", "a\\..\\b", " ")),
        *(("find_books", {"q": "a", "X_Note": line}) for line in ("a\r\nX-Evil: 1", "ü")),
    ],
)
def test_a_path_that_leads_elsewhere_and_a_split_header_are_not_sent(
    call: Callable[..., CallResult], server: Server, api: str, arguments: dict[str, Any]
) -> None:
    result = call(api, **arguments)
    assert (result.error, server.received) == ("tool_error", [])
    assert "' cannot be" in result.observation


@given(st.text(min_size=1))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_a_path_argument_is_it_stays_one_segment(
    call: Callable[..., CallResult], server: Server, value: str
) -> None:
    server.received.clear()
    result = call("getBook", id=value, X_Api_Key="k")
    for received in server.received:
        assert received["path"].count("/") == 3
        assert unquote(received["path"].removeprefix("/api/books/")) == value
        assert "?" not in received["target"]
    assert result.error is None or not server.received


@pytest.mark.parametrize(
    ("key", "api", "arguments", "seen"),
    [
        ("hush", "getBook", {"id": "1"}, "hush"),
        ("Bearer 0123456789abcdef", "getBook", {"id": "1"}, "[key]"),
        ("Bearer 0123456789/abcdef", "special", {"what": "escaped"}, "[key]"),
    ],
)
def test_keys_are_sent_are_no_arguments_and_are_struck_out_of_answers(
    server: Server,
    document: Path,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    api: str,
    arguments: dict[str, Any],
    seen: str,
) -> None:
    monkeypatch.setenv("LIBRARY_KEY", key)
    settings = {"headers_env": {"X-Api-Key": "LIBRARY_KEY"}, "base_url": f"{server.url}/api"}
    environment = open_environment(f"openapi:{document}", settings)
    assert [p.name for p in environment.specs()["getBook"].parameters] == ["id", "lang"]
    server.received.clear()
    value = ask(environment, api, **arguments).value
    assert server.received[0]["headers"]["X-Api-Key"] == key
    assert value.get("key", value.get("headers", {}).get("X-Api-Key")) == seen


@pytest.mark.parametrize(
    ("api", "statuses", "times", "failure"),
    [
        ("getBook", [503, 429], 3, ""),
        ("getBook", [500] * 3, 3, r"the server answers 500: status 500 \(attempts: 3\)"),
        ("getBook", [401], 1, "the server answers 401: status 401; check headers_env:"),
        ("form", [500], 1, r"answers 500.* \(attempts: 1\)"),
        ("form", [429] * 3, 3, r"answers 429.* \(attempts: 3\)"),
        ("form", [503, 503], 3, ""),
    ],
)
def test_a_request_is_made_again_where_that_does_no_harm(
    call: Callable[..., CallResult], server: Server, api: str, statuses: list[int], times: int, failure: str
) -> None:
    server.statuses = list(statuses)
    arguments = {"a": "x"} if api == "form" else {"id": "1", "X_Api_Key": "k"}
    if failure:
        with pytest.raises(EnvironmentFailure, match=failure):
            call(api, **arguments)
    else:
        assert call(api, **arguments).error is None
    assert len(server.received) == times


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("large", "tool_error", "The answer is larger than 5 MB. Ask for less."),
        ("image", "tool_error", "The answer is of the type image/png, which cannot be shown as text."),
        ("bytes", "tool_error", "The answer is of the type application/octet-stream, which cannot be shown as text."),
        ("text", None, "plain ü"),
        ("form", None, "a=1"),
        ("old", None, "1 result.\n1"),
        ("nothing", None, "null"),
        ("bom", None, "1 result.\n1"),
        ("html", "not_found", "HTTP 404"),
        ("404", "not_found", "its own words"),
        *((status, "tool_error", "its own words") for status in ("400", "403", "422")),
        ("elsewhere", "failure", "the server redirects to http://localhost:1/secret: give base_url:"),
        ("broken", "failure", "the server's answer is not the JSON that it says it is"),
    ],
)
def test_every_answer_is_an_observation_or_a_failure(
    call: Callable[..., CallResult], server: Server, what: str, error: str | None, message: str
) -> None:
    if error == "failure":
        with pytest.raises(EnvironmentFailure, match=message):
            call("special", what=what)
    else:
        result = call("special", what=what)
        assert (result.error, result.observation[: len(message)], len(server.received)) == (error, message, 1)


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("swagger: '2.0'", {}, "is not an OpenAPI 3 document (it is Swagger 2.0: convert it)"),
        ("[]", {}, "is not an OpenAPI 3 document (there is no openapi: 3.x in it)"),
        ("{", {}, "is neither JSON nor YAML"),
        ("a: [", {}, "is neither JSON nor YAML"),
        ("openapi: 3.1.0", {}, "the document has no operations"),
        (DOCUMENT, {}, "does not say where the API is; give base_url:"),
        (DOCUMENT, {"base_url": "api.example.com"}, "base_url: api.example.com is no http:// or https:// URL"),
        (DOCUMENT, {"operations": ["getbook"]}, "no operation is named getbook; there are: getBook, find-books"),
        (DOCUMENT, {"headers_env": {"A": "NOT_SET_ANYWHERE"}}, "variable NOT_SET_ANYWHERE is not set"),
        ("openapi: 3.0.0\npaths: {'/a/{b}': {get: {}}}", {}, "get/a/{b} (/a/{b} has no parameter 'b')"),
        (
            "openapi: 3.0.0\npaths: {/a: {get: {parameters: [{name: b, in: body, required: true}]}}}",
            {},
            "its parameter 'b' is in 'body', which cannot be sent",
        ),
    ],
)
def test_a_document_that_cannot_be_used_is_the_persons_error(
    tmp_path: Path, text: str, settings: dict[str, Any], message: str
) -> None:
    path = tmp_path / "api.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        open_environment(f"openapi:{path}", settings)
    assert message in str(caught.value)
