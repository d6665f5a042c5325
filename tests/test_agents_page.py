"""docs/agents.md and examples/agents/ are true: the grid of the page runs, and so does every example whose packages are
installed, here or for the Python that R_EVAL_AGENTS_PYTHON names.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval import load_run
from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.workflows.agent import VARIABLES, Agent
from r_eval.workflows.base import Limits
from tests import documents
from tests.workflow_contract import Pantry, Talker, played

pytest.importorskip("mcp", reason="the MCP SDK is not installed (extra: mcp)")
PAGE = Path(__file__).parents[1] / "docs" / "agents.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = PAGE.parents[1] / "examples" / "agents"
FILES = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".mjs"))


def test_the_grid_of_the_page_runs(tmp_path: Path) -> None:
    for kind in ("python", "yaml"):
        text = documents.block(PAGE, kind, "\n")
        (tmp_path / text.partition("\n")[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    shutil.copy(EXAMPLES / "plain.py", tmp_path)
    documents.hurry(tmp_path / "grid.yaml")
    documents.follow(PAGE, tmp_path)
    episodes = list(load_run(tmp_path / "runs" / "agents").episodes())
    assert {episode.workflow for episode in episodes} == {"plain", "mine", "fc"}
    assert all(episode.outcome.kind == "finished" and episode.usage.calls for episode in episodes)


def calling(request: Request) -> Reply:
    """Two calls at once, then the answer, as a call where the agent wants it so."""
    if any("egg" in message.content for message in request.messages[2:]):
        if "final_answer" in (tool.name for tool in request.tools):
            return Reply("", (ToolCall("", "final_answer", {"answer": "omelette"}),), "tool_calls")
        return Reply("omelette")
    calls = (ToolCall("", "find_dish", {"name": "ome"}), ToolCall("", "ingredients", {"dish": "omelette"}))
    return Reply("I look.", calls, "tool_calls")


PYTHON = os.environ.get("R_EVAL_AGENTS_PYTHON", sys.executable)


def missing(file: str) -> str:
    """What an example needs and is not installed."""
    if file.endswith(".mjs"):
        return "" if shutil.which("node") else "node"
    tree = ast.walk(ast.parse((EXAMPLES / file).read_text(encoding="utf-8")))
    modules = sorted({(node.module or "").partition(".")[0] for node in tree if isinstance(node, ast.ImportFrom)})
    code = f"import importlib.util; print(*(m for m in {modules} if importlib.util.find_spec(m) is None))"
    return subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    "file", [file if "plain" in file else pytest.param(file, marks=pytest.mark.slow) for file in FILES]
)
def test_an_example_looks_things_up_and_answers(file: str) -> None:
    if lacking := missing(file):
        pytest.skip(f"{file} needs {lacking}, which {PYTHON} lacks")
    program = "node" if file.endswith(".mjs") else PYTHON
    episode = played(Agent(command=[program, str(EXAMPLES / file)]), Talker(calling), Pantry(), Limits())
    assert (episode.answer, episode.outcome.kind) == ("omelette", "finished"), episode.outcome
    calls = [(step.api, step.error) for step in episode.steps if step.kind == "call"]
    assert sorted(calls) == [("find_dish", None), ("ingredients", None)]


def test_the_page_has_every_example_setting_and_variable() -> None:
    assert sorted(re.findall(r"^\| `(\w+\.m?(?:py|js))` \|", TEXT, re.MULTILINE)) == FILES
    settings = [setting for setting in inspect.signature(Agent).parameters if f"| `{setting}" not in TEXT]
    assert settings == []
    for variable, key in VARIABLES.items():
        assert f"| `{variable}` | `{key}` |" in TEXT
