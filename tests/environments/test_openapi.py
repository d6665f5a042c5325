"""An HTTP API with an OpenAPI document as an environment: a real server, which keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CallResult, Session
from r_eval.environments.tools.openapi import OpenAPI
from r_eval.errors import UserError

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
        - {name: tag, in: query, schema: {type: array, items: {type: string}}}
        - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: at, in: query, style: deepObject, schema: {type: object, properties: {city: {type: string}}}}
        - {name: filter, in: query, content: {application/json: {schema: {type: object}}}}
        - {name: since, in: query, schema: {type: string, format: date, example: 2020-01-01}}
        - {name: limit, in: query, schema: {type: integer, minimum: 0, exclusiveMinimum: true, nullable: true}}
        - {name: X-Note, in: header, schema: {type: string}}
        - {name: sid, in: cookie, schema: {type: string}}
      responses: {"200": {description: ok}}
    post:
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/NewBook'}}}
      responses: {"201": {description: made}}
  /form:
    post:
      operationId: form
      requestBody:
        content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: string}}}}}
      responses: {default: {description: ok}}
  /list:
    post:
      operationId: whole
      requestBody: {content: {application/json: {schema: {type: array, items: {type: integer}}}}}
      responses: {default: {description: ok}}
  /status/{code}:
    get:
      operationId: status
      parameters: [{name: code, in: path, required: true, schema: {type: integer}}]
      responses: {default: {description: it}}
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
    NewBook:
      allOf:
        - $ref: '#/components/schemas/Book'
        - {type: object, required: [pages], properties: {pages: {type: integer}, id: {type: string, readOnly: true}}}
"""


class Server:
    """A server that answers with what it was asked; /status/N with that status, /special/... with odd things."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        """Statuses of the next answers."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                parts = urlsplit(self.path)
                asked = {
                    "method": self.command,
                    "target": self.path,
                    "path": parts.path,
                    "query": parse_qsl(parts.query, keep_blank_values=True),
                    "headers": dict(self.headers),
                    "body": body,
                }
                server.asked.append(asked)
                status, headers, text = server.reply(parts.path, asked)
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                data = text.encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_HEAD = answer

            def log_message(self, *arguments: Any) -> None:
                pass

        class Listener(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, *about: Any) -> None:
                """Clients may go away."""

        self._http = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def reply(self, path: str, asked: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        if self.statuses:
            status = self.statuses.pop(0)
            return status, {"Retry-After": "0"}, json.dumps({"error": {"message": f"status {status}"}})
        if path.startswith("/api/status/"):
            return int(path.rpartition("/")[2]), {"Retry-After": "0"}, json.dumps({"message": "its own words"})
        what = path.removeprefix("/api/special/")
        specials: dict[str, tuple[int, dict[str, str], str]] = {
            "elsewhere": (302, {"Location": "http://localhost:1/secret"}, ""),
            "around": (302, {"Location": "/api/special/around"}, ""),
            "moved": (307, {"Location": "/api/special/here"}, ""),
            "large": (200, {}, json.dumps("x" * 6_000_000)),
            "image": (200, {"Content-Type": "image/png"}, "PNG"),
            "text": (200, {"Content-Type": "text/plain; charset=utf-8"}, "plain ü"),
            "nothing": (204, {}, ""),
            "escaped": (200, {}, '{"key": "0123456789\\/abcdef"}'),
            "broken": (200, {}, "{not json"),
            "html": (404, {"Content-Type": "text/html"}, "<html>gone</html>"),
            "cookie": (200, {"Set-Cookie": "sid=one; Path=/"}, "null"),
        }
        if what == "slow":
            time.sleep(2)
        return specials.get(what, (200, {}, json.dumps(asked)))

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


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
    """A call, each in an event loop of its own; only its own requests are in `server.asked`."""
    server.asked.clear()
    session = Session(library, sandbox, tokens=10**7)
    return lambda api, **arguments: asyncio.run(session.call(api, arguments))


# What is offered


def test_every_operation_is_a_query_api(library: OpenAPI) -> None:
    specs = library.specs()
    assert list(specs) == ["getBook", "find_books", "post_books", "form", "whole", "status", "special"]
    assert library.description == "Books and who wrote them."
    assert (specs["getBook"].summary, specs["getBook"].details) == ("Show a book.", "With its authors.")


@pytest.mark.parametrize(
    ("api", "signature"),
    [
        ("getBook", "(id: str, X_Api_Key: str, lang: Literal['en', 'de'] = 'en') -> Book"),
        (
            "find_books",
            "(q: str, tag: list[str] | None = None, ids: list[int] | None = None, at: FindBooksAt | None = None, "
            "filter: dict[str, Any] | None = None, since: str | None = None, limit: int | None = None, "
            "X_Note: str | None = None, sid: str | None = None) -> Any",
        ),
        ("post_books", "(title: str, pages: int, sequel: Any = None) -> Any"),
        ("whole", "(body: list[int] | None = None) -> Any"),
    ],
)
def test_parameters_and_the_bodys_properties_are_the_arguments(library: OpenAPI, api: str, signature: str) -> None:
    assert library.specs()[api].stub().startswith(f"def {api}{signature}:")


@pytest.mark.parametrize(
    ("chosen", "apis"),
    [
        (["getBook"], ["getBook"]),
        (["*ook*"], ["getBook", "find_books", "post_books"]),
        (["POST *"], ["post_books", "form", "whole"]),
        (["GET /books", "form"], ["find_books", "form"]),
    ],
)
def test_operations_are_chosen_by_id_or_method_and_path(document: Path, chosen: list[str], apis: list[str]) -> None:
    settings = {"operations": chosen, "base_url": "http://127.0.0.1:1"}
    assert list(open_environment(f"openapi:{document}", settings).specs()) == apis


def test_a_document_may_be_json(document: Path, tmp_path: Path, library: OpenAPI) -> None:
    path = tmp_path / "library.json"
    path.write_text(json.dumps(yaml.safe_load(DOCUMENT), default=str), encoding="utf-8")
    found = OpenAPI(str(path), base_url="http://127.0.0.1:1").specs()
    assert [spec.stub() for spec in found.values()] == [spec.stub() for spec in library.specs().values()]


def test_the_version_follows_the_document_the_address_and_the_choice(document: Path) -> None:
    def version(**settings: Any) -> str:
        return OpenAPI(str(document), **{"base_url": "http://a.example", **settings}).version

    assert version() == version()
    assert len({version(), version(base_url="http://b.example"), version(operations=["form"])}) == 3


# Requests


def test_arguments_go_where_they_belong(call: Callable[..., CallResult]) -> None:
    asked = call(
        "find_books",
        q="a&b=c #d/ü",
        tag=["x", "y"],
        ids=[1, 2],
        at={"city": "Rome"},
        filter={"a": [1]},
        X_Note="hello",
        limit="3",
    ).value
    assert (asked["method"], asked["path"]) == ("GET", "/api/books")
    assert asked["query"] == [
        ["q", "a&b=c #d/ü"],
        ["tag", "x"],
        ["tag", "y"],
        ["ids", "1,2"],
        ["at[city]", "Rome"],
        ["filter", '{"a": [1]}'],
        ["limit", "3"],
    ]
    assert asked["headers"]["X-Note"] == "hello"


def test_a_json_body_is_made_of_its_properties(call: Callable[..., CallResult]) -> None:
    asked = call("post_books", title="It", pages="3").value
    assert (asked["method"], json.loads(asked["body"])) == ("POST", {"title": "It", "pages": 3})


def test_a_body_may_be_a_form_or_one_value(call: Callable[..., CallResult]) -> None:
    assert call("form", a="x&y").value["body"] == "a=x%26y"
    assert json.loads(call("whole", body=[1, 2]).value["body"]) == [1, 2]


@pytest.mark.parametrize("value", ["..", ".", "", "a/../b", "../x", "a\\..\\b", "/", "a//b", " "])
def test_a_path_that_leads_elsewhere_is_not_asked_for(
    call: Callable[..., CallResult], server: Server, value: str
) -> None:
    result = call("special", what=value)
    assert (result.error, server.asked) == ("tool_error", [])
    assert "argument 'what' cannot be" in result.observation


@given(st.text(min_size=1))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_a_path_argument_is_it_stays_one_segment(
    call: Callable[..., CallResult], server: Server, value: str
) -> None:
    server.asked.clear()
    result = call("getBook", id=value, X_Api_Key="k")
    for asked in server.asked:
        assert asked["path"].startswith("/api/books/")
        assert asked["path"].count("/") == 3
        assert unquote(asked["path"].removeprefix("/api/books/")) == value
        assert asked["query"] == []
    assert result.error is None or not server.asked


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "ü", "\x00"])
def test_a_header_cannot_be_split(call: Callable[..., CallResult], server: Server, value: str) -> None:
    result = call("find_books", q="a", X_Note=value)
    assert (result.error, server.asked) == ("tool_error", [])


def test_headers_out_of_variables_are_sent_and_are_no_arguments(
    server: Server, document: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBRARY_KEY", "hush")
    settings = {"headers_env": {"X-Api-Key": "LIBRARY_KEY"}, "base_url": f"{server.url}/api"}
    environment = open_environment(f"openapi:{document}", settings)
    assert [p.name for p in environment.specs()["getBook"].parameters] == ["id", "lang"]
    result = asyncio.run(Session(environment, sandbox).call("getBook", {"id": "1"}))
    assert result.value["headers"]["X-Api-Key"] == "hush"


def test_a_key_that_the_server_repeats_is_struck_out(
    server: Server, document: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBRARY_KEY", "Bearer 0123456789abcdef")
    settings = {"headers_env": {"X-Api-Key": "LIBRARY_KEY"}, "base_url": f"{server.url}/api"}
    environment = open_environment(f"openapi:{document}", settings)
    result = asyncio.run(Session(environment, sandbox).call("getBook", {"id": "1"}))
    assert result.value["headers"]["X-Api-Key"] == "[key]"


def test_a_key_that_the_server_repeats_with_escapes_is_struck_out(
    server: Server, document: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBRARY_KEY", "Bearer 0123456789/abcdef")
    settings = {"headers_env": {"X-Api-Key": "LIBRARY_KEY"}, "base_url": f"{server.url}/api"}
    environment = open_environment(f"openapi:{document}", settings)
    result = asyncio.run(Session(environment, sandbox).call("special", {"what": "escaped"}))
    assert result.value == {"key": "[key]"}


# Answers


def test_a_server_that_is_busy_or_failing_is_asked_again(call: Callable[..., CallResult], server: Server) -> None:
    server.statuses = [503, 429]
    assert call("getBook", id="1", X_Api_Key="k").error is None
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_that_goes_on_failing_is_a_failure(
    call: Callable[..., CallResult], server: Server, status: int
) -> None:
    with pytest.raises(EnvironmentFailure, match=rf"answers {status} .*: its own words \(3 attempts\)"):
        call("status", code=status)
    assert len(server.asked) == 3


@pytest.mark.parametrize(("status", "times"), [(500, 1), (429, 3), (503, 3)])
def test_a_post_is_only_repeated_where_nothing_was_done(
    call: Callable[..., CallResult], server: Server, status: int, times: int
) -> None:
    server.statuses = [status] * 3
    with pytest.raises(EnvironmentFailure, match=f"answers {status} "):
        call("form", a="x")
    server.statuses.clear()
    assert len(server.asked) == times


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 422])
def test_a_call_that_is_refused_is_an_observation_in_the_servers_words(
    call: Callable[..., CallResult], server: Server, status: int
) -> None:
    assert call("status", code=status) == CallResult(
        None, "its own words", "not_found" if status in (404, 410) else "tool_error"
    )
    assert len(server.asked) == 1


def test_a_key_that_is_refused_is_not_the_models_fault(call: Callable[..., CallResult]) -> None:
    with pytest.raises(EnvironmentFailure, match="401 Unauthorized: its own words; check headers_env:"):
        call("status", code=401)


@pytest.mark.parametrize(
    ("what", "error", "said"),
    [
        ("large", "tool_error", "The answer is larger than 5 MB. Ask for less."),
        ("image", "tool_error", "The answer is of the type image/png, which cannot be shown as text."),
        ("text", None, "plain ü"),
        ("nothing", None, "null"),
        ("html", "not_found", "404 Not Found"),
    ],
)
def test_every_answer_is_an_observation(
    call: Callable[..., CallResult], what: str, error: str | None, said: str
) -> None:
    result = call("special", what=what)
    assert (result.error, result.observation) == (error, said)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("elsewhere", "redirects to another one, localhost:1"),
        ("around", "redirects without end"),
        ("broken", "is not the JSON that it says it is"),
    ],
)
def test_a_server_that_misbehaves_is_a_failure(call: Callable[..., CallResult], what: str, said: str) -> None:
    with pytest.raises(EnvironmentFailure, match=said):
        call("special", what=what)


def test_a_redirect_on_the_same_server_is_followed(call: Callable[..., CallResult]) -> None:
    assert call("special", what="moved").value["path"] == "/api/special/here"


def test_a_server_that_is_too_slow_is_a_failure(document: Path, server: Server, sandbox: Sandbox) -> None:
    environment = OpenAPI(str(document), base_url=f"{server.url}/api", timeout=0.5, retries=1)
    with pytest.raises(EnvironmentFailure, match=r"no answer within 0.5 s \(2 attempts\)"):
        asyncio.run(Session(environment, sandbox).call("special", {"what": "slow"}))


def test_a_server_that_is_not_there_is_a_failure(document: Path, sandbox: Sandbox) -> None:
    environment = OpenAPI(str(document), base_url="http://127.0.0.1:9", retries=1)
    with pytest.raises(EnvironmentFailure, match=r"cannot be reached: .* \(2 attempts\)"):
        asyncio.run(Session(environment, sandbox).call("form", {}))


# Sessions


def test_cookies_are_an_episodes_own(library: OpenAPI, server: Server, sandbox: Sandbox) -> None:
    one, two = Session(library, sandbox), Session(library, sandbox)

    async def cookies(session: Session) -> str | None:
        asked = (await session.call("special", {"what": "here"})).value
        return asked["headers"].get("Cookie")  # type: ignore[no-any-return]

    asyncio.run(one.call("special", {"what": "cookie"}))
    assert (asyncio.run(cookies(one)), asyncio.run(cookies(two))) == ("sid=one", None)


def test_many_sessions_call_at_once(library: OpenAPI, sandbox: Sandbox) -> None:
    sessions = [Session(library, sandbox) for _ in range(20)]

    async def calls() -> list[CallResult]:
        return await asyncio.gather(*(s.call("whole", {"body": [i]}) for i, s in enumerate(sessions)))

    assert [json.loads(result.value["body"]) for result in asyncio.run(calls())] == [[i] for i in range(20)]


# What cannot be opened


@pytest.mark.parametrize(
    ("text", "settings", "said"),
    [
        ("swagger: '2.0'", {}, "is not an OpenAPI 3 document"),
        ("{", {}, "is neither JSON nor YAML"),
        ("a: [", {}, "is neither JSON nor YAML"),
        ("openapi: 3.1.0", {}, "the document has no operations"),
        (DOCUMENT, {}, "does not say where the API is; give base_url:"),
        (DOCUMENT, {"operations": ["getbook"]}, "no operation is named getbook; there are: getBook, find-books"),
        (DOCUMENT, {"headers_env": {"A": "NOT_SET_ANYWHERE"}}, "variable NOT_SET_ANYWHERE is not set"),
        ("openapi: 3.0.0\npaths: {'/a/{b}': {get: {}}}", {}, "get/a/{b} (/a/{b} has no parameter 'b')"),
        (
            "openapi: 3.0.0\npaths: {/a: {get: {parameters: [{name: b, in: body, required: true}]}}}",
            {},
            "its parameter 'b' is in 'body', which is not known",
        ),
        (
            "openapi: 3.0.0\npaths: {/a: {post: {requestBody: {required: true, content: {image/png: {}}}}}}",
            {},
            "it needs a body of the type image/png; only JSON and forms can be sent",
        ),
    ],
)
def test_a_document_that_cannot_be_used_is_the_persons_error(
    tmp_path: Path, text: str, settings: dict[str, Any], said: str
) -> None:
    path = tmp_path / "api.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        open_environment(f"openapi:{path}", settings)
    assert said in str(caught.value)


def test_a_document_that_is_not_there_is_the_persons_error(tmp_path: Path, server: Server) -> None:
    with pytest.raises(UserError, match=r"cannot be opened: .*No such file"):
        open_environment(f"openapi:{tmp_path}/none.yaml")
    with pytest.raises(UserError, match="its own words"):
        open_environment(f"openapi:{server.url}/api/status/404")


def test_a_document_that_refers_to_itself_in_circles_is_read(tmp_path: Path) -> None:
    path = tmp_path / "api.yaml"
    path.write_text(
        """
openapi: 3.1.0
servers: [{url: "http://{host}/v1", variables: {host: {default: a.example}}}]
paths:
  /a:
    get:
      parameters:
        - {name: b, in: query, schema: {$ref: '#/components/schemas/A'}}
        - {$ref: '#/components/parameters/P'}
components:
  parameters: {P: {$ref: '#/components/parameters/P'}}
  schemas:
    A: {anyOf: [{$ref: '#/components/schemas/B'}, {type: string}]}
    B: {items: {$ref: '#/components/schemas/A'}}
""",
        encoding="utf-8",
    )
    environment = open_environment(f"openapi:{path}")
    assert [p.name for p in environment.specs()["get_a"].parameters] == ["b"]
