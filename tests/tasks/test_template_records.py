"""Records of templates in files: a domain behind an MCP server, which has none of its own, gets templated questions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.commands import typed_here

SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("prices")


@server.tool()
def price(fruit: str) -> float:
    """Look up what one fruit costs, in euros."""
    return {"梨": 0.6, "تفاح": 0.4, "pêche": 1.2}[fruit]


server.run()
'''
TEMPLATES = """
environment: "mcp:PYTHON server.py"
records: {fruit: ./fruit.jsonl}
templates:
  - id: price
    level: KS
    from: fruit
    question: What does one {{ fruit.name }} cost?
    program: answer = price(fruit=fruit["name"])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("mcp", reason="mcp is not installed (extra: mcp)")
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    (tmp_path / "templates.yaml").write_text(TEMPLATES.replace("PYTHON", sys.executable), encoding="utf-8")
    records = [{"name": name} for name in ("梨", "تفاح", "pêche")]
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (tmp_path / "fruit.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def test_questions_are_made_of_a_files_records_over_an_mcp_server(folder: Path) -> None:
    done = typed_here(("generate", "templates.yaml", "--count", "3", "--out", "questions.jsonl"), folder)
    assert done.returncode == 0, done.stderr
    questions = [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]
    assert {q["question"]: q["answers"] for q in questions} == {
        "What does one 梨 cost?": ["0.6"],
        "What does one تفاح cost?": ["0.4"],
        "What does one pêche cost?": ["1.2"],
    }
