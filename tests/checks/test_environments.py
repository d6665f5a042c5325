"""What the check of an environment finds, in environments that are wrong in one way each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.checks import Finding, calls, check, check_target
from r_eval.environments.opening import open_environment
from tests.checks.conftest import RECORDS, SHOW

Write = Callable[..., str]
RETURN = "return DISHES[dish_id]"


def amiss(target: str) -> list[Finding]:
    """What is found in one process, but for notes."""
    return [finding for finding in check(open_environment(target), call=True) if finding.severity != "note"]


def returning(code: str, annotation: str = "Any") -> str:
    """`show` with another end."""
    return SHOW.replace(RETURN, code).replace("-> str", f"-> {annotation}")


def line_of(target: str, text: str) -> str:
    """`file:line` of the first line that holds a text."""
    path = Path(target.rpartition(":")[0])
    lines = path.read_text(encoding="utf-8").split("\n")
    return f"{path}:{next(n for n, line in enumerate(lines, 1) if text in line)}"


RIGHT = {
    "plain": SHOW,
    "async": SHOW.replace("    def show", "    async def show"),
    "a date": returning("return {'on': datetime.date(2026, 1, 2), 'at': datetime.datetime(2026, 1, 2, 3, 4)}"),
    "a dataclass": "    @dataclass\n    class Dish:\n        名: str\n" + returning("return self.Dish('比萨')"),
    "state of the session": returning("self.seen = getattr(self, 'seen', 0) + 1; return str(self.seen)"),
    "no number": returning("return float('nan')"),
    "half a surrogate pair": returning("return '\\ud800'"),  # which is replaced
    "a loop of its own": returning("return asyncio.run(asyncio.sleep(0, 'x'))"),
    "a connection of any thread": "    def __init__(self):\n"
    "        self.db = sqlite3.connect(':memory:', check_same_thread=False)\n"
    + returning("return str(self.db.execute('select 1').fetchone())"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_gets_notes_only(environment: Write, name: str) -> None:
    assert [finding.line() for finding in amiss(environment(RIGHT[name]))] == []


EXITS = [
    ("sys.exit(3)", "raises SystemExit: 3"),
    ("raise KeyboardInterrupt", "raises KeyboardInterrupt"),
    ("raise StopIteration('x')", "raises StopIteration: x"),
    ("raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()", "raises Mute: (its text cannot be read)"),
    ("1 / 0", "raises ZeroDivisionError: division by zero"),
]


@pytest.mark.parametrize(("code", "what"), EXITS, ids=[what for _, what in EXITS])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_an_exception_of_any_class_is_named_with_its_line(environment: Write, code: str, what: str, kind: str) -> None:
    target = environment(returning(code).replace("    def", f"    {kind}"))
    (finding,) = amiss(target)
    assert (finding.severity, finding.place) == ("error", line_of(target, code))
    assert f"query API show: show(dish_id='d1') {what}" in finding.what
    assert "(3 calls)" in finding.what


FAULTS: dict[str, tuple[str, str, str]] = {
    "no data": (returning("return object()"), "error", "show(dish_id='d1') raises "),
    "a value inside itself": (returning("loop = []; loop.append(loop); return loop"), "error", "Circular reference"),
    "a generator without end": (returning("return itertools.count()"), "error", "an iterator of more than"),
    "a dead server": (returning("raise EnvironmentFailure('server down')"), "error", "server down (bad.py:"),
    "chance": (returning("return str(random.random())"), "error", "returned a different result in a second session"),
    "state that sessions share": (
        "    shared = []\n" + returning("self.shared.append(1); return str(len(self.shared))"),
        "error",
        "returned a different result in a second session: '1', then",
    ),
    "a thread of its own": (
        "    def __init__(self):\n        self.db = sqlite3.connect(':memory:')\n"
        + returning("return str(self.db.execute('select 1').fetchone())"),
        "error",
        "SQLite objects created in a thread can only be used in that same thread",
    ),
    "nothing ever": (returning("raise NotFound('none')"), "warning", "calls found anything"),
    "no value that is known": (SHOW.replace("dish_id", "dish"), "warning", "none is known for dish"),
    "no description": (SHOW.replace("dish_id: Its id.", ""), "warning", "the parameter dish_id has no description"),
    "no type": (SHOW.replace("dish_id: str", "dish_id"), "error", "the parameter dish_id has no type"),
    "no return type": (SHOW.replace(" -> str", ""), "warning", "no return type"),
    "no api": ("", "error", "it has no query API"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_nothing_else(environment: Write, name: str) -> None:
    body, severity, what = FAULTS[name]
    target = environment(body, **({"records": ""} if name == "no value that is known" else {}))
    findings = [f for f in amiss(target) if f.what != "it has no records for question templates"]
    assert [(f.severity, what in f.what) for f in findings] == [(severity, True)], [f.line() for f in findings]
    assert findings[0].todo
    if name == "a thread of its own":
        assert findings[0].place == line_of(target, "sqlite3.connect(")
        assert "check_same_thread=False" in findings[0].todo


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_call_without_end_is_given_up(environment: Write, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(calls, "SECONDS", 0.3)
    body = returning("while True: time.sleep(0.01)").replace("    def", f"    {kind}")
    (finding,) = amiss(environment(body))
    assert "show(dish_id='d1') does not end: nothing came within 0.3 s" in finding.what


@pytest.mark.parametrize(
    ("hook", "what"),
    [
        ("    def open(self):\n        sys.exit(2)\n", "open() fails: SystemExit: 2 (bad.py:"),
        ("    def close(self):\n        1 / 0\n", "close() fails: ZeroDivisionError: division by zero (bad.py:"),
        ("    version = property(lambda self: self.none)\n", "version fails: AttributeError"),
        ("    description = property(lambda self: DISHES['d9'])\n", "description fails: KeyError: 'd9'"),
    ],
)
def test_what_is_no_query_api_may_fail_as_well(environment: Write, hook: str, what: str) -> None:
    (finding,) = amiss(environment(hook + SHOW))
    assert (finding.severity, what in finding.what) == ("error", True), finding.line()


# Records

KINDS = {
    "another order": ("return [{'i': random.random()}]", "returns a different list on the second call"),
    "no list": ("return (n for n in itertools.count())", "returns a generator instead of a list"),
    "no data": ("return [{'id': object()}]", "returns values that are not data"),
    "an exception": ("return [{'id': 1 / 0}]", "raises ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize("name", KINDS)
def test_records_that_are_wrong_are_an_error(environment: Write, name: str) -> None:
    code, what = KINDS[name]
    records = f"{RECORDS.partition('return')[0]}{code}\n"
    finding = next(f for f in amiss(environment(SHOW, records=records)) if "records('dish')" in f.what)
    assert (finding.severity, what in finding.what) == ("error", True)


# Opened by its name


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("    def __init__(self):\n        raise KeyError('x')\n", "cannot be opened: KeyError: 'x'"),
        ("    def __init__(self):\n        sys.exit(1)\n", "cannot be opened: SystemExit: 1"),
        ("    sys.exit('not here')\n", "importing it fails: SystemExit: not here (bad.py:13, in Bad)"),
        (
            returning("yield DISHES[dish_id]").replace("def show", "async def look"),
            "query API look: it yields, and async generators cannot be returned as data: return a list",
        ),
    ],
)
def test_what_cannot_be_opened_is_an_error(
    environment: Write, body: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (finding,) = check_target(environment("    print('hello')\n" + body + SHOW))
    assert (finding.severity, what in finding.what) == ("error", True), finding.line()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["wiki", "aminer"])
def test_the_embedded_environments_are_right(name: str) -> None:
    assert [f.line() for f in check_target(name) if f.severity != "note"] == []


# Servers and tools of others

TOOLS = '''
from pathlib import Path
from langchain_core.tools import tool

@tool
def write(name: str = "x") -> str:
    """Write a file."""
    Path({mark!r}).touch()
    return "done"

def tools():
    """Files."""
    return [write]
'''
SERVER = '''
from pathlib import Path
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

app = MCPServer("files", instructions="Files.")

@app.tool(annotations=ToolAnnotations(readOnlyHint=True))
def look(name: str = "x") -> str:
    """Look at a file."""
    return name

@app.tool()
def write(name: str = "x") -> str:
    """Write a file."""
    Path({mark!r}).touch()
    return name

app.run()
'''


def lines(findings: list[Finding]) -> str:
    return "\n".join(f.line() for f in findings)


@pytest.mark.parametrize(
    ("package", "code", "name", "said"),
    [
        ("langchain_core", TOOLS, "langchain:{}:tools", "the parameter name has no description"),
        ("mcp", SERVER, f"mcp:{sys.executable} {{}}", "query API look: "),
    ],
)
def test_only_tools_that_say_they_read_are_called_unless_all_are_asked_for(
    package: str, code: str, name: str, said: str, tmp_path: Path
) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    mark, file = tmp_path / "mark", tmp_path / "tools.py"
    file.write_text(code.format(mark=str(mark)), encoding="utf-8")
    text = lines(check_target(name.format(file)))
    assert "not called, because they are not declared read-only: write; add --call to call them" in text
    assert said in text
    assert not mark.exists()
    assert "query API write: " in lines(check_target(name.format(file), call=True))
    assert mark.exists()


def test_of_an_http_api_only_get_operations_are_called(tmp_path: Path) -> None:
    from aiohttp import web

    from tests.serving import serving

    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.method)
        return web.json_response({"ok": True})

    app = web.Application()
    app.router.add_route("*", "/items", answer)
    operation = {"summary": "Items.", "responses": {"200": {"description": "ok"}}}
    paths = {"/items": {method: {"operationId": method, **operation} for method in ("get", "post", "delete")}}
    with serving(app) as address:
        document = {"openapi": "3.0.0", "info": {"title": "Items"}, "servers": [{"url": address}], "paths": paths}
        (tmp_path / "api.json").write_text(json.dumps(document), encoding="utf-8")
        text = lines(check_target(f"openapi:{tmp_path / 'api.json'}"))
        assert set(asked) == {"GET"}
        assert "not declared read-only: post, delete" in text
        check_target(f"openapi:{tmp_path / 'api.json'}", call=True)
    assert set(asked) == {"GET", "POST", "DELETE"}
