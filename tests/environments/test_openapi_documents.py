"""OpenAPI documents with the quirks of public ones: what is offered, what is left out and why, what a call sends."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from tests.environments.test_openapi import Server

HEAD = "openapi: 3.0.3\ninfo: {title: T, version: 1}\n"
PATHS = HEAD + "paths:\n"
CAREFUL = "may change something, since they do not declare that they only read: "


@dataclasses.dataclass(frozen=True)
class Case:
    """A document, what is offered of it, what the one warning says, and calls with what the server receives.

    A call's result is `METHOD target`, then the headers and the body that matter, or the observation if nothing is
    sent. `$URL` in a document is the server's address.
    """

    name: str
    text: str
    offered: list[str]
    warning: list[str]
    calls: list[tuple[str, dict[str, Any], str]]
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


def get(path: str, parameters: str, more: str = "") -> str:
    name = path.split("{")[0].strip("/").replace("/", "_") or "root"
    return f"  '{path}': {{get: {{operationId: '{name}', parameters: [{parameters}]{more}}}}}\n"


LIST = "schema: {type: array, items: {type: string}}"
OBJECT = "schema: {type: object, additionalProperties: {type: string}}"
DEEP = "{type: object, properties: {a: " * 60 + "{type: string}" + "}}" * 60

CASES = [
    Case(
        "a body of a type that cannot be sent",
        PATHS + get("/list", "") + "  /upload:\n    post: {operationId: upload, requestBody: {required: true, "
        "content: {multipart/form-data: {schema: {type: object}}}}}\n"
        "  /note: {put: {operationId: note, requestBody: {content: {text/csv: {}}}}}\n",
        ["list()", "note()"],
        [
            "left out: upload (it needs a body of the type multipart/form-data; only JSON can be sent)",
            "note (its optional body of the type text/csv cannot be sent)",
            CAREFUL + "note.",
        ],
        [("list", {}, "GET /list"), ("note", {}, "PUT /note")],
    ),
    Case(
        "patterns",
        PATHS
        + get("/a", r"{name: q, in: query, required: true, schema: {type: string, pattern: '^[\p{L} ]+$'}}")
        + get("/b", "{name: q, in: query, required: true, schema: {type: string, pattern: '^(a+)+$'}}")
        + get("/c", "{name: q, in: query, required: true, schema: {type: string, pattern: '('}}"),
        ["a(q: str)", "b(q: str)", "c(q: str)"],
        [],
        [
            ("a", {"q": "Größe"}, "GET /a?q=Gr%C3%B6%C3%9Fe"),
            ("b", {"q": "a" * 30 + "b"}, f"GET /b?q={'a' * 30}b"),
            ("c", {"q": "("}, "GET /c?q=%28"),
        ],
    ),
    Case(
        "styles",
        PATHS
        + get("/m/{id}", f"{{name: id, in: path, required: true, style: matrix, {LIST}}}")
        + get("/s/{id}", f"{{name: id, in: path, required: true, explode: true, {OBJECT}}}")
        + get("/f", f"{{name: q, in: query, explode: false, {LIST}}}, {{name: o, in: query, {OBJECT}}}")
        + get("/e", f"{{name: q, in: query, {LIST}}}")
        + get("/o", f"{{name: o, in: query, explode: false, {OBJECT}}}")
        + get("/p", f"{{name: q, in: query, style: pipeDelimited, {LIST}}}")
        + get("/b", f"{{name: q, in: query, style: spaceDelimited, {LIST}}}")
        + get("/u", f"{{name: q, in: query, style: label, {LIST}}}")
        + get("/d", "{name: q, in: query, style: deepObject, schema: {type: [object, array, integer]}}")
        + get(
            "/stripe",
            f"{{name: expand, in: query, style: deepObject, {LIST}}}, {{name: created, in: query, style: deepObject, "
            "schema: {anyOf: [{type: object, properties: {gte: {type: integer}}}, {type: integer}]}}",
        ),
        [
            "s(id: dict[str, str])",
            "f(q: list[str] | None = None, o: dict[str, str] | None = None)",
            "e(q: list[str] | None = None)",
            "o(o: dict[str, str] | None = None)",
            "p(q: list[str] | None = None)",
            "b(q: list[str] | None = None)",
            "u()",
            "d(q: dict[str, Any] | list[Any] | int | None = None)",
            "stripe(expand: list[str] | None = None, created: ",
        ],
        [
            "left out: m (the style 'matrix' of its path parameter 'id' cannot be written). "
            "offered with a looser schema: u (the style 'label' of its query parameter 'q' cannot be written)."
        ],
        [
            ("s", {"id": {"k": "v", "w": "x,y"}}, "GET /s/k=v,w=x%2Cy"),
            ("s", {"id": {"k": "."}}, "s: argument 'id' cannot be {'k': '.'}."),
            ("f", {"q": ["a", "b,c"], "o": {"k": "v"}}, "GET /f?q=a,b%2Cc&k=v"),
            ("e", {"q": ["a", "b,c"]}, "GET /e?q=a&q=b%2Cc"),
            ("o", {"o": {"k": "v", "w": "x"}}, "GET /o?o=k,v,w,x"),
            ("p", {"q": ["a", "b|c"]}, "GET /p?q=a%7Cb%7Cc"),
            ("b", {"q": ["a", "b"]}, "GET /b?q=a%20b"),
            ("d", {"q": {"k": "v", "w": 2}}, "GET /d?q%5Bk%5D=v&q%5Bw%5D=2"),
            ("d", {"q": {"k": {"w": 2}}}, "GET /d?q%5Bk%5D%5Bw%5D=2"),
            ("d", {"q": {"k": [1, 2], "w": None}}, "GET /d?q%5Bk%5D%5B%5D=1&q%5Bk%5D%5B%5D=2"),
            ("d", {"q": ["a&b", "c"]}, "GET /d?q%5B%5D=a%26b&q%5B%5D=c"),
            ("d", {"q": [{"k": "v", "w": [1]}, 2]}, "GET /d?q%5B0%5D%5Bk%5D=v&q%5B0%5D%5Bw%5D%5B%5D=1&q%5B1%5D=2"),
            ("d", {"q": []}, "GET /d"),
            ("d", {"q": 2}, "GET /d?q=2"),
            ("stripe", {"created": {"gte": "5"}, "expand": '["a"]'}, "GET /stripe?expand%5B%5D=a&created%5Bgte%5D=5"),
            ("stripe", {"created": "5", "expand": "[]"}, "GET /stripe?created=5"),
        ],
    ),
    Case(
        "YAML that is text",
        PATHS
        + get(
            "/t",
            "{name: country, in: query, schema: {type: string, enum: [no, on, se]}}, "
            "{name: version, in: query, schema: {type: string, enum: [1.10, 1.9], default: 1.10}}, "
            "{name: day, in: query, schema: {type: string, default: 2020-01-01}}, "
            "{name: code, in: query, schema: {type: string, enum: [007, 12:30, true, null]}}, "
            "{name: n, in: query, schema: {type: number, enum: [1.5, 2]}}",
        ),
        [
            "t(country: Literal['no', 'on', 'se'] | None = None, version: Literal['1.10', '1.9'] = '1.10', "
            "day: str = '2020-01-01', code: Literal['007', '12:30', 'true', None] = None, n: Any = None)"
        ],
        [],
        [
            ("t", {"country": "no", "version": "1.10", "code": "007"}, "GET /t?country=no&version=1.10&code=007"),
            ("t", {"version": 1.1}, "t: argument 'version' must be"),
        ],
    ),
    Case(
        "settings of paths and operations",
        HEAD + "servers: [{url: $URL/base}]\npaths:\n  /a/{id}:\n"
        "    parameters: [{name: id, in: path, required: true, schema: {type: string}}, "
        "{name: lang, in: query, required: true, schema: {type: string}}]\n"
        "    servers: [{url: '$URL/{v}', variables: {v: {default: path}}}]\n"
        "    get: {operationId: a, parameters: [{name: lang, in: query, schema: {type: integer}}]}\n"
        "    head: {operationId: h, servers: [{url: $URL/own/}]}\n" + get("/b", ""),
        ["a(id: str, lang: int | None = None)", "h(id: str, lang: str)", "b()"],
        [],
        [
            ("a", {"id": "1", "lang": "2"}, "GET /path/a/1?lang=2"),
            ("h", {"id": "1", "lang": "de"}, "HEAD /own/a/1?lang=de"),
            ("b", {}, "GET /base/b"),
        ],
        {"base_url": None},
    ),
    Case(
        "paths with a query, with a fragment, and without a slash",
        PATHS
        + get("/q?format=json", "{name: q, in: query, schema: {type: string}}")
        + get("/h#one", "{name: q, in: query, schema: {type: string}}")
        + get(".evil.example/b", "{name: q, in: query, schema: {type: string}}"),
        ["q_format_json(", "h_one(", "evil_example_b("],
        [],
        [
            ("q_format_json", {"q": "a"}, "GET /q?format=json&q=a"),
            ("q_format_json", {}, "GET /q?format=json"),
            ("h_one", {"q": "a"}, "GET /h?q=a"),
            ("evil_example_b", {"q": "a"}, "GET /.evil.example/b?q=a"),
        ],
    ),
    Case(
        "an address with a query and a fragment",
        HEAD
        + "servers: [{url: '$URL/v1/?version=2#top'}]\npaths:\n"
        + get("/a", "")
        + get("/b?c=3", "{name: q, in: query, schema: {type: string}}"),
        ["a()", "b_c_3(q: str | None = None)"],
        [],
        [("a", {}, "GET /v1/a?version=2"), ("b_c_3", {"q": "x"}, "GET /v1/b?version=2&c=3&q=x")],
        {"base_url": None},
    ),
    Case(
        "keys",
        HEAD
        + "servers: [{url: $URL}]\npaths:\n"
        + get("/a", "{name: k, in: query, required: true, schema: {type: string}}")
        + "  /o: {get: {operationId: o, servers: [{url: $OTHER}]}}\n",
        ["a()", "o()"],
        [],
        [("a", {}, "GET /a?k=[key] Authorization=Bearer hush-hush"), ("o", {}, "GET /o")],
        {"headers_env": {"Authorization": "TEST_BEARER"}, "query_env": {"k": "TEST_KEY"}, "base_url": None},
    ),
    Case(
        "the dialect of 3.0",
        PATHS
        + get(
            "/n",
            "{name: a, in: query, required: true, schema: {type: integer, nullable: true, minimum: 0, "
            "exclusiveMinimum: true}}, {name: b, in: query, schema: {type: object, properties: null, "
            "discriminator: {propertyName: x}}}",
        )
        + "  /bad: {get: {operationId: bad, parameters: [{name: a, in: query, schema: {type: nonsense}}]}}\n",
        ["n(a: int | None, b: dict[str, Any] | None = None)"],
        ["left out: bad (the schema of its arguments is invalid: 'nonsense' is not valid"],
        [
            ("n", {"a": 1, "b": {"k": "v"}}, "GET /n?a=1&k=v"),
            ("n", {"a": None}, "GET /n"),
        ],
    ),
    Case(
        "JSON bodies",
        PATHS + "  /one: {post: {operationId: one, requestBody: {required: true, content: {application/json: "
        "{schema: {oneOf: [{type: object, properties: {a: {type: string}}, required: [a]}, {type: string}]}}}}}}\n"
        "  /all/{id}: {post: {operationId: all, parameters: "
        "[{name: id, in: path, required: true, schema: {type: string}}], requestBody: "
        "{required: true, content: {application/vnd.api+json: {schema: {allOf: [{type: object, properties: "
        "{id: {type: integer}, made: {type: string, readOnly: true}}, required: [id, made]}, "
        "{type: object, properties: {b: {type: string}}}]}}}}}}\n",
        ["one(body: ", "all(id: str, id_body: int, b: str | None = None)"],
        [CAREFUL + "one, all."],
        [
            ("one", {"body": {"a": "x"}}, 'POST /one application/json {"a": "x"}'),
            ("one", {"body": "x"}, 'POST /one application/json "x"'),
            ("all", {"id": "p", "id_body": "3", "b": "é"}, 'POST /all/p application/vnd.api+json {"id": 3, "b": "é"}'),
        ],
    ),
    Case(
        "references",
        HEAD + "components: {parameters: {P: {$ref: '#/components/parameters/P'}}, schemas: {"
        "Node: {type: object, properties: {next: {$ref: '#/components/schemas/Node'}}}, "
        f"Deep: {DEEP}}}}}\npaths:\n"
        + get(
            "/cycle", "{name: q, in: query, content: {application/json: {schema: {$ref: '#/components/schemas/Node'}}}}"
        )
        + get("/lost", "{name: q, in: query, schema: {$ref: 'other.yaml#/A'}}, {$ref: '#/components/parameters/P'}")
        + get("/deep", "{name: q, in: query, schema: {$ref: '#/components/schemas/Deep'}}")
        + "  /file: {$ref: paths/file.yaml}\n"
        "  /two: {get: {$ref: two.yaml}, put: {operationId: put, requestBody: {$ref: body.yaml}}}\n",
        ["cycle(q: Node | None = None)", "lost(q: Any = None)", "put()"],
        [
            "left out: deep (the schema is nested deeper than 50 levels), "
            "/file (paths/file.yaml is not in the document), get/two (two.yaml is not in the document)",
            "lost (its parameter #/components/parameters/P is not in the document; anything is allowed in place of the "
            "unknown other.yaml#/A), put (its body body.yaml is not in the document)",
        ],
        [
            ("cycle", {"q": {"next": {"next": 1}}}, "GET /cycle?q=%7B%22next%22%3A%20%7B%22next%22%3A%201%7D%7D"),
            ("lost", {"q": 1}, "GET /lost?q=1"),
        ],
    ),
    Case(
        "3.1",
        "openapi: 3.1.0\ninfo: {title: T, version: '1'}\ncomponents:\n"
        "  schemas: {Sort: {type: string, enum: [up, down]}}\n"
        "  parameters: {page: {name: 'page[size]', in: query, schema: {type: [integer, 'null'], default: 10}}}\n"
        "  pathItems: {P: {get: {operationId: p, parameters: [{$ref: '#/components/parameters/page'}]}}}\n"
        "paths:\n  /p: {$ref: '#/components/pathItems/P'}\n"
        + get(
            "/t",
            "{name: n, in: query, required: true, schema: {type: [integer, string]}}, "
            "{name: k, in: query, schema: {const: fixed}}, "
            "{name: s, in: query, schema: {$ref: '#/components/schemas/Sort', description: Which way.}}",
        ),
        [
            "p(page_size: int | None = 10)",
            "t(n: int | str, k: Literal['fixed'] | None = None, s: Literal['up', 'down'] | None = None)",
        ],
        [],
        [
            ("p", {"page[size]": "5"}, "GET /p?page%5Bsize%5D=5"),
            ("p", {"page_size": None}, "GET /p"),
            ("t", {"n": "x", "k": "fixed", "s": "up"}, "GET /t?n=x&k=fixed&s=up"),
            ("t", {"n": 1, "s": "left"}, "t: argument 's' must be Literal['up', 'down'] | None, not 'left'"),
        ],
    ),
    Case(
        "bodies by reference, of forms and of bytes",
        HEAD
        + "components:\n  schemas:\n    Pet: {type: object, required: [kind], properties: {kind: {type: string}}}\n"
        "    Cat: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, properties: {lives: {type: integer}}}]}\n"
        "    Dog: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, properties: {bark: {type: boolean}}}]}\n"
        "  requestBodies:\n    Pet: {required: true, content: {'application/json; charset=utf-8': {schema: {oneOf: "
        "[{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, "
        "mapping: {cat: '#/components/schemas/Cat'}}}}}}\n"
        "paths:\n  /pets: {post: {operationId: add, requestBody: {$ref: '#/components/requestBodies/Pet'}}}\n"
        "  /form: {post: {operationId: form, requestBody: {required: true, content: "
        "{application/x-www-form-urlencoded: {schema: {type: object}}}}}}\n"
        "  /bytes: {put: {operationId: bytes, requestBody: {required: true, content: {image/png: {}}}}}\n",
        ["add(body: Cat | Dog)"],
        [
            "left out: form (it needs a body of the type application/x-www-form-urlencoded; only JSON can be sent), "
            "bytes (it needs a body of the type image/png; only JSON can be sent)"
        ],
        [
            (
                "add",
                {"body": {"kind": "cat", "lives": "9"}},
                'POST /pets application/json; charset=utf-8 {"kind": "cat", "lives": 9}',
            ),
            ("add", {"body": {"lives": 9}}, "add: argument 'body' must be Cat | Dog (Cat is {"),
        ],
    ),
    Case(
        "cookies and headers",
        PATHS
        + get("/c", f"{{name: Accept, in: header, schema: {{type: string}}}}, {{name: X-Tags, in: header, {LIST}}}")
        + get("/h", f"{{name: X-Tags, in: header, style: form, {LIST}}}")
        + get("/s", "{name: sid, in: cookie, required: true, schema: {type: string}}")
        + get("/o", "{name: sid, in: cookie, schema: {type: string}}"),
        ["c(X_Tags: list[str] | None = None)", "h()", "o()"],
        [
            "left out: s (its parameter 'sid' is in 'cookie', which cannot be sent)",
            "schema: h (the style 'form' of its header parameter 'X-Tags' cannot be written), o (its parameter 'sid'",
        ],
        [("c", {"X_Tags": ["a", "b"]}, "GET /c X-Tags=a,b")],
    ),
]


def sent(received: dict[str, Any]) -> str:
    """What the server received, in one line."""
    parts = [
        f"{name}={received['headers'][name]}" for name in ("Authorization", "X-Tags") if name in received["headers"]
    ]
    if received["body"]:
        parts += [received["headers"]["Content-Type"], received["body"]]
    return " ".join([received["method"], received["target"].replace("hush-key", "[key]"), *parts])


def outcomes(case: Case, folder: Path) -> tuple[list[str], list[str]]:
    """The stubs of what is offered, and for each call what was sent, or else what was observed."""
    os.environ.update(TEST_BEARER="Bearer hush-hush", TEST_KEY="hush-key")
    server, path, results = Server(), folder / "api.yaml", []
    path.write_text(
        case.text.replace("$URL", server.url).replace("$OTHER", server.url.replace("127.0.0.1", "localhost")),
        encoding="utf-8",
    )
    try:
        environment = open_environment(f"openapi:{path}", {"base_url": server.url, "retries": 0, **case.settings})
        with Sandbox() as sandbox:
            session = Session(environment, sandbox)
            for api, arguments, _ in case.calls:
                server.received.clear()
                observation = asyncio.run(session.call(api, arguments)).observation
                results.append(sent(server.received[0]) if server.received else observation)
    finally:
        server.stop()
    return [spec.stub().partition("\n")[0].removeprefix("def ") for spec in environment.specs().values()], results


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_documents(case: Case, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    offered, results = outcomes(case, tmp_path)
    for stub, wanted in zip(offered, case.offered, strict=True):
        assert stub.startswith(wanted)
    warnings = [record.getMessage() for record in caplog.records if record.name == "r_eval"]
    assert len(warnings) == bool(case.warning)
    for part in case.warning:
        assert part in warnings[0]
    for result, (_, _, wanted) in zip(results, case.calls, strict=True):
        assert result.startswith(wanted) if wanted.partition(" ")[0].endswith(":") else result == wanted
