"""docs/custom-domain.md is true: every command in it runs, in order, and prints what the page says."""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from r_eval.llms.pull import model_path
from r_eval.tasks.questions import read_questions
from r_eval.tasks.templates import Template
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "custom-domain.md"
COMMANDS = documents.commands(PAGE)
OTHERS = {"langchain:": "langchain_core", "mcp:": "mcp", "openapi:": "jsonschema"}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of an API of fruit prices."""

    class Prices(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"/prices/pear": 0.6}[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Prices) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def needs(line: str) -> str | None:
    """The package that a command needs and that is not here."""
    for scheme, package in OTHERS.items():
        if scheme in line and importlib.util.find_spec(package) is None:
            return package
    return None


def test_every_command_of_the_page_runs_and_prints_what_it_says(tmp_path: Path, port: int) -> None:
    if not model_path("smollm2-135m").exists():
        pytest.skip("the model smollm2-135m is not here: r-eval pull smollm2-135m")
    folder = tmp_path
    for command in COMMANDS:
        words = command.line.split()
        if words[0] == "cd":
            folder = folder / words[1]
            write_files(folder, port)
        elif needs(command.line) is None:
            done = documents.typed(command.line, folder)
            assert done.returncode == 0, f"{command.line}\n{done.stdout}{done.stderr}"
            assert not command.expected or documents.matches(done.stdout, command.expected), (
                f"{command.line}\n{done.stdout}"
            )
    assert (folder / "runs" / "recipes" / "report" / "index.html").is_file()


def write_files(folder: Path, port: int) -> None:
    """The files that the page shows whole: their first line is their name."""
    for kind, text in documents.blocks(PAGE):
        if kind in ("python", "yaml") and (name := re.match(r"# (\w+\.(?:py|yaml))\n", text)):
            (folder / name[1]).write_text(text.replace("127.0.0.1:8000", f"127.0.0.1:{port}"), encoding="utf-8")


@pytest.mark.parametrize("scheme", OTHERS)
def test_the_page_shows_every_way_without_a_class(scheme: str) -> None:
    if (package := needs(scheme)) is not None:
        pytest.skip(f"{package} is not installed")
    assert any(scheme in command.line for command in COMMANDS)


def test_the_template_of_the_page_is_the_scaffolds() -> None:
    shown = Template.model_validate(yaml.safe_load(documents.block(PAGE, "yaml", "id: minutes-of-dish"))[0])
    scaffold = PAGE.parents[1] / "r_eval" / "scaffold" / "domain" / "templates.yaml.tmpl"
    first = yaml.safe_load(scaffold.read_text(encoding="utf-8"))["templates"][0]
    assert shown == Template.model_validate(first)


def test_the_question_of_the_page_is_a_question(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text(documents.block(PAGE, "json", "mango"), encoding="utf-8")
    assert read_questions(tmp_path / "questions.jsonl")[0].answers == ["Mango Sticky Rice"]


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("a\nb\nc\n", "a\n...\nc\n", True),
        ("a\nc\n", "a\n...\nc\n", True),
        ("a  \n", "a\n", True),
        ("a: 12 calls\n", "a: ...\n", True),
        ("a\nb\n", "a\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_dots_stand_for_any_lines(printed: str, expected: str, same: bool) -> None:
    assert documents.matches(printed, expected) is same
