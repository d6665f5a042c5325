"""docs/agents.md and examples/agents/ are true: the grid of the page runs, and so does every example whose packages are
installed."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import shutil
from pathlib import Path

import pytest

from r_eval import load_run
from r_eval.environments.base import Environment
from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.testing import Talker, played
from r_eval.workflows.agent import VARIABLES, Agent
from r_eval.workflows.base import Limits
from tests import documents

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


def is_installed(file: str) -> bool:
    if file.endswith(".mjs"):
        return shutil.which("node") is not None
    tree = ast.walk(ast.parse((EXAMPLES / file).read_text(encoding="utf-8")))
    modules = [node.module or "" for node in tree if isinstance(node, ast.ImportFrom)]
    return all(importlib.util.find_spec(module.partition(".")[0]) is not None for module in modules)


@pytest.mark.parametrize("file", FILES)
def test_an_example_looks_things_up_and_answers(file: str, pantry: Environment) -> None:
    if not is_installed(file):
        pytest.skip(f"what {file} needs is not installed")
    program = "node" if file.endswith(".mjs") else "python"
    episode = played(Agent(command=[program, str(EXAMPLES / file)]), Talker(calling), pantry, Limits())
    assert (episode.answer, episode.outcome.kind) == ("omelette", "finished"), episode.outcome
    calls = [(step.api, step.error) for step in episode.steps if step.kind == "call"]
    assert sorted(calls) == [("find_dish", None), ("ingredients", None)]


def test_the_page_has_every_example_setting_and_variable() -> None:
    assert sorted(re.findall(r"^\| `(\w+\.m?(?:py|js))` \|", TEXT, re.MULTILINE)) == FILES
    settings = [setting for setting in inspect.signature(Agent).parameters if f"| `{setting}" not in TEXT]
    assert settings == []
    for variable, key in VARIABLES.items():
        assert f"| `{variable}` | `{key}` |" in TEXT
