"""MCP servers with the quirks of public ones, written without the SDK: what is offered, what is left out and why, what
a model reads of an answer.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from tests.serving import serving

pytest.importorskip("mcp", reason="the MCP SDK is not installed (pip install mcp)")

SERVER = r"""
import json, os, sys, time

about = json.load(open(sys.argv[1]))
exec(about["start"])
for line in sys.stdin:
    message = json.loads(line)
    method, number = message["method"], json.dumps(message.get("id"))
    parameters = message.get("params") or {}
    if method == "initialize":
        info = {"name": "s", "version": "1"}
        found = {"protocolVersion": parameters["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        found["instructions"] = about["instructions"]
        text = json.dumps({"result": found})
    elif method == "tools/list":
        more = [{**about["tools"][0], "name": f"t{n}"} for n in range(about["more"])]
        page = {"tools": about["tools"] + more, "nextCursor": about["cursor"]}
        text = json.dumps({"result": page})
    elif method == "tools/call":
        text = about["replies"][parameters["name"]].replace("$ARGS", json.dumps(json.dumps(parameters["arguments"])))
        text = text.replace("$LONG", "x" * 20_000_000)
        exec(about["before"].get(parameters["name"], ""))
    elif number == "null":
        continue
    else:
        text = '{"error": {"code": -32601, "message": "no"}}'
    sys.stdout.write('{"jsonrpc": "2.0", "id": ' + number + ", " + text[1:] + "\n")
    sys.stdout.flush()
"""
STRING = {"type": "string"}
UNREAD = "failure the MCP server failed: the server's answer cannot be read"
ECHO = '{"result": {"content": [{"type": "text", "text": $ARGS}]}}'
READING = {"annotations": {"readOnlyHint": True}}


def tool(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **READING, **more}


def content(text: str, **more: Any) -> str:
    return json.dumps({"result": {"content": [{"type": "text", "text": text}], **more}})


def blocks(*found: dict[str, Any]) -> str:
    return json.dumps({"result": {"content": found}})


def error(code: Any, message: Any) -> str:
    return json.dumps({"error": {"code": code, "message": message}})


def failing(message: str, data: Any) -> str:
    return json.dumps({"error": {"code": -32602, "message": message, "data": data}})


@dataclasses.dataclass(frozen=True)
class Case:
    """A server, what is offered of it, what the one warning says, and calls with what a model reads.

    A call's result is the kind of error, if it is one, and the observation.
    """

    name: str
    tools: list[Any]
    offered: list[str]
    warning: list[str] = dataclasses.field(default_factory=list)
    calls: list[tuple[str, dict[str, Any], str]] = dataclasses.field(default_factory=list)
    replies: dict[str, str] = dataclasses.field(default_factory=dict)
    before: dict[str, str] = dataclasses.field(default_factory=dict)
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    start: str = ""
    more: int = 0
    cursor: str = ""
    instructions: str = "Things."
    refused: str = ""


def replying(name: str, *rows: tuple[str, str, str], **more: Any) -> Case:
    """A server whose tools take nothing: the name, what the server replies (else it echoes), what a model reads."""
    calls: list[Any] = [(each, {}, seen) for each, _, seen in rows]
    names = [each for each, _, _ in rows]
    replies = {each: reply for each, reply, _ in rows if reply}
    return Case(name, list(map(tool, names)), [f"{each}()" for each in names], calls=calls, replies=replies, **more)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = STRING
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


BRANCHES = [{"properties": {"a": STRING}, "required": ["a"]}, {"properties": {"b": STRING}, "required": ["b"]}]

CASES = [
    Case(
        "schemas that are none",
        [
            *(tool("yes", True), tool("text", "object"), tool("list", {"type": "array"})),
            *({"name": "bare"}, {"no": "name"}, 7, tool("null", {"type": "object", "properties": None})),
        ],
        ["bare()", "null()"],
        ['left out: yes (its inputSchema is true), text (its inputSchema is "object"), list (its arguments are not'],
        [("bare", {}, "{}")],
    ),
    Case(
        "alternatives at the root",
        [tool("either", {"type": "object", "anyOf": BRANCHES}), tool("lost", {"type": "object", "required": ["q"]})],
        ["either(a: str | None = None, b: str | None = None)", "lost(q: Any)"],
        [],
        [
            ("either", {"b": "x"}, '{"b": "x"}'),
            ("either", {}, "{}"),
            ("lost", {"q": [1]}, '{"q": [1]}'),
        ],
    ),
    replying(
        "errors in every form",
        ("flag", content("No such page.", isError=True), "tool_error No such page."),
        ("code", error(-32603, "Item not found: x"), "tool_error Item not found: x"),
        ("list", error(-32000, ["a", "b"]), 'tool_error ["a", "b"]'),
        ("text", '{"error": "plain words"}', "tool_error plain words"),
        ("mute", '{"result": {"content": [], "isError": true}}', "tool_error The tool failed and does not say why."),
        ("odd", error("E_FAIL", "words"), "tool_error words"),
        ("detail", failing("Invalid params", {"q": "é"}), 'tool_error Invalid params {"q": "é"}'),
        ("why", failing("Invalid params", "q is too long"), "tool_error Invalid params q is too long"),
        ("only", failing("", ["no row"]), 'tool_error ["no row"]'),
    ),
    replying(
        "results in every form",
        ("text", content("line 1\nline 2", structuredContent={"content": "line 1\nline 2"}), "line 1\nline 2"),
        ("string", '{"result": {"content": "bare"}}', "bare"),
        ("empty", '{"result": {}}', ""),
        ("unknown", blocks({"type": "video", "mimeType": "video/mp4"}), "[video: video/mp4]"),
        ("list", '{"result": {"content": [], "structuredContent": [1, 2]}}', "2 results.\n1\n2"),
        ("wrapped", content("7", structuredContent={"result": 7}), "7"),
        ("none", blocks({"type": "text", "text": None}), ""),
        ("json", content('{"a": "\\u00e9"}'), '{"a": "é"}'),
        ("beside", content("a is 1", structuredContent={"a": 1, "b": 2}), '{"a": 1, "b": 2}'),
        ("image", blocks({"text": "seen"}, {"type": "image", "mimeType": "image/png"}), "seen\n[image: image/png]"),
    ),
    replying(
        "noise and broken text",
        ("noisy", content("fine"), "fine"),
        ("half", '{"result": {"content": "a\\ud800b"}}', "a\ufffdb"),
        ("deep", '{"result": {"content": ' + "[" * 5000 + "]" * 5000 + "}}", "failure "),
        ("cut", '{"result": {"content": [', UNREAD),
        ("null", '{"result": null}', UNREAD),
        ("bytes", "", "caf\ufffd"),
        before={
            "noisy": r"print('Loading...\n{\n[]\nnull\n{\"jsonrpc\": 1}')",
            "bytes": r"""sys.stdout.buffer.write(b'{"id": %d, "result": {"content": "caf\xe9"}}\n' % message["id"])""",
        },
    ),
    Case(
        "control characters",
        [tool("esc", description="Clears\x1b[2J the\x9b screen.\u202e")],
        ["esc()"],
        [],
        [("esc", {}, "ab\n\tc\u65e5")],
        {"esc": content("a\x1b[2J\x1b]0;title\x07b\r\n\t\x00c\u202e\u65e5")},
        instructions="Things.\x1b[2J",
    ),
    Case(
        "too deep, too large, or a task",
        [
            tool("deep", nested(300)),
            tool("task", execution={"taskSupport": "required"}),
            tool("free", {"type": "object", "additionalProperties": STRING}),
            tool("good"),
        ],
        ["good()"],
        [
            "left out: deep (the schema is nested deeper than 50 levels), task (it can only be called as a task), "
            "free (its schema does not name its arguments)"
        ],
    ),
    Case(
        "tools that write",
        [
            {"name": "write", "inputSchema": {"type": "object"}},
            tool("drop", annotations={"destructiveHint": True}),
            tool("read"),
        ],
        ["write()", "drop()", "read()"],
        ["may change something, since they do not declare that they only read: write, drop."],
    ),
    Case(
        "names",
        [tool("a-b"), tool("a.b"), tool("日本"), tool("Finish"), tool("class"), tool("x" * 100)],
        ["a_b()", "a_b_2()", "n()", "Finish_2()", "class_()", "x" * 56 + "()"],
        [],
        [("a_b_2", {}, "{}")],
    ),
    Case("too many", [tool("t")], [], more=19_999, refused="20,000 tools are too many for a model (at most 128)"),
    Case("one page for ever, with one name twice", [tool("t"), tool("t")], ["t()"], cursor="next"),
    replying(
        "an answer that is too large",
        ("large", content("$LONG"), "tool_error The answer is larger than 5 MB. Ask for less."),
        ("good", "", "{}"),
    ),
    replying(
        "an endless line",
        ("endless", "", "failure the MCP server"),
        before={"endless": "while True: sys.stdout.write('x' * 100000)"},
        settings={"timeout": 4},
    ),
    replying(
        "an answer without end",
        ("endless", "", "tool_error The answer is larger than 5 MB. Ask for less."),
        before={
            "endless": """sys.stdout.write('{"jsonrpc": "2.0", "id": %s, "result": {"content": "' % number)
while True: sys.stdout.write('x' * 100000)"""
        },
    ),
    replying(
        "a flood",
        ("flood", "", "failure the MCP server gave no answer within 4 s"),
        before={"flood": """while True: sys.stdout.write('{"jsonrpc": "2.0", "method": "n"}\\n')"""},
        settings={"timeout": 4},
    ),
    replying(
        "a server that dies",
        ("die", "", "failure the MCP server has gone; it said: out of stock"),
        ("good", "", "{}"),
        before={"die": "print('out of \\x1b[2Jstock', file=sys.stderr); os._exit(3)"},
    ),
    Case(
        "a server that says nothing",
        [],
        [],
        start="time.sleep(60)",
        settings={"timeout": 1},
        refused="did not start within 1 s",
    ),
]


def read(name: str, calls: list[Any], settings: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The stubs of what is offered, and for each call what a model reads; `failure` where it is infrastructure's."""
    environment = open_environment(name, {"timeout": 10, **settings})
    results = []
    with Sandbox() as sandbox:
        session = Session(environment, sandbox)
        for api, arguments, _ in calls:
            try:
                result = asyncio.run(session.call(api, arguments))
                results.append(" ".join(filter(None, [result.error, result.observation])))
            except EnvironmentFailure as failure:
                results.append(f"failure {failure}")
        session.close()
    stubs = [spec.stub().partition("\n")[0].removeprefix("def ") for spec in environment.specs().values()]
    assert "\x1b" not in "".join([*stubs, environment.description, *(s.summary for s in environment.specs().values())])
    return stubs, results


def outcomes(case: Case, folder: Path) -> tuple[list[str], list[str]]:
    script, about = folder / "server.py", folder / "about.json"
    script.write_text(SERVER, encoding="utf-8")
    replies = {one["name"]: ECHO for one in case.tools if isinstance(one, dict) and "name" in one} | case.replies
    about.write_text(json.dumps({**vars(case), "replies": replies}), encoding="utf-8")
    return read(f"mcp:{shlex.join([sys.executable, str(script), str(about)])}", case.calls, case.settings)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_servers(case: Case, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    began = time.monotonic()
    if case.refused:
        with pytest.raises(UserError, match=re.escape(case.refused)):
            outcomes(case, tmp_path)
    else:
        offered, results = outcomes(case, tmp_path)
        for stub, wanted in zip(offered, case.offered, strict=True):
            assert stub.startswith(wanted)
        for result, (_, _, wanted) in zip(results, case.calls, strict=True):
            assert result.startswith(wanted) if wanted.startswith(("bad_arguments", "failure")) else result == wanted
    warnings = [record.getMessage() for record in caplog.records if record.name == "r_eval"]
    assert len(warnings) == bool(case.warning)
    for part in case.warning:
        assert part in warnings[0]
    assert time.monotonic() - began < 30


Answer = tuple[int, dict[str, str], bytes]


def served(reply: Answer) -> web.Application:
    """A server over HTTP that answers a call of its tool with a status, headers and a body."""
    info = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}

    async def answer(request: web.Request) -> web.Response:
        message = await request.json()
        version = {"protocolVersion": message.get("params", {}).get("protocolVersion")}
        results = {"tools/list": {"tools": [tool("ask")]}, "initialize": {**version, **info}}
        method, number = message["method"], message.get("id")
        status, headers, body = reply
        if method != "tools/call":
            result = {"result": results[method]} if method in results else {"error": {"code": -32601, "message": "no"}}
            status, headers = 200 if number is not None else 202, {"Mcp-Session-Id": "s1"}
            body = json.dumps({"jsonrpc": "2.0", "id": number, **result}).encode()
        body = body.replace(b"$ID", json.dumps(number).encode())
        return web.Response(status=status, headers={"Content-Type": "application/json", **headers}, body=body)

    app = web.Application()
    app.router.add_post("/mcp", answer)
    return app


SSE = {"Content-Type": "text/event-stream"}


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ((200, {}, content("fine").encode()), "fine"),
        ((200, SSE, b"data: " + content("fine").encode() + b"\n\n"), "fine"),
        ((400, {}, error(-32602, "no such page").encode()), "tool_error no such page"),
        ((500, {}, error(-32603, "no such page").encode()), "tool_error no such page"),
        ((200, SSE, b"data: " + error(-32000, "no such page").encode() + b"\n\n"), "tool_error no such page"),
        ((404, {}, error(-32600, "Session not found").encode()), "failure the MCP server failed: it answers HTTP 404"),
        (
            (400, {}, error(-32000, "Bad Request: No valid session ID").encode()),
            "failure the MCP server failed: it answ",
        ),
        ((200, SSE, b": ping\n\n"), "failure the MCP server failed: SSE stream ended"),
        ((200, {"Content-Type": "text/html"}, b""), "failure the MCP server failed: Unexpected content type"),
        ((202, {}, b""), "failure the MCP server failed: server answered a request with 202"),
        ((503, {}, b"busy"), "failure the MCP server failed: it answers HTTP 503"),
        ((200, {"Content-Encoding": "gzip"}, b"x"), "failure the MCP server failed: it sends compressed data"),
        ((200, {}, b"x" * 6_000_000), "tool_error The answer is larger than 5 MB. Ask for less."),
        ((200, SSE, b"data: " + b"x" * 6_000_000 + b"\n\n"), "tool_error SSE stream failed: "),
        ((200, {}, b"\xef\xbb\xbf" + content("caf").encode().replace(b"caf", b"caf\xe9")), "caf\ufffd"),
        ((200, {}, b"{not json"), "failure the MCP server failed: "),
        (
            (307, {"Location": "http://localhost:1/"}, b""),
            "failure the MCP server failed: it answers HTTP 307, go to http://localhost:1/",
        ),
    ],
)
def test_servers_over_http(reply: Answer, wanted: str) -> None:
    status, headers, body = reply
    body = body.replace(b'{"', b'{"jsonrpc": "2.0", "id": $ID, "', 1) if b"{" in body else body
    with serving(served((status, headers, body))) as url:
        _, (found,) = read(f"mcp:{url}/mcp", [("ask", {}, "")], {})
    assert found.startswith(wanted)
