"""`r-eval call`: the query APIs of an environment, what an LLM is shown of them, and calls made by hand."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.commands import R_EVAL, typed_here

PANTRY = '''
from r_eval.environments.base import Environment, query_api


class Pantry(Environment):
    """Dishes
    of 東京.

    Not on the first lines."""

    def __init__(self, shelf: int = 1, labels: str | list[str] = "x") -> None:
        self.shelf = shelf * len(labels)

    @query_api
    def count(self, dish: str, times: int = 1) -> int:
        """Count the letters of a dish."""
        return len(dish) * times * self.shelf

    @query_api
    def bare(self) -> str:
        return "\\x1b[31mred"

    @query_api
    def odd(self) -> list[float]:
        """Numbers that JSON lacks."""
        return [float("nan"), float("inf"), 1]

    @query_api
    def broken(self) -> str:
        """Fail."""
        return {}["nothing"]
'''


@pytest.fixture
def pantry(tmp_path: Path) -> Path:
    (tmp_path / "pantry.py").write_text(PANTRY, encoding="utf-8")
    return tmp_path


def call(folder: Path, *words: str, status: int = 0) -> str:
    done = typed_here(["call", *words], folder)
    assert done.returncode == status, done.stderr
    assert done.stderr == "" or status == 2
    return done.stderr if status == 2 else done.stdout


def test_an_environment_alone_lists_its_apis(pantry: Path) -> None:
    assert call(pantry, "pantry.py:Pantry").splitlines() == [
        "Dishes of 東京.",
        "  count(dish: str, times: int = 1) -> int",
        "      Count the letters of a dish.",
        "  bare() -> str",
        "      (no docstring: models see no description)",
        "  odd() -> list[float]",
        "      Numbers that JSON lacks.",
        "  broken() -> str",
        "      Fail.",
        "next: r-eval call pantry.py:Pantry count dish=..., or r-eval call pantry.py:Pantry --prompt react",
    ]
    (pantry / "東 京.py").write_text(PANTRY, encoding="utf-8")
    assert "next: r-eval call '東 京.py:Pantry' count" in call(pantry, "東 京.py:Pantry")
    listed = json.loads(call(pantry, "pantry.py:Pantry", "--json"))
    assert [api["name"] for api in listed] == ["count", "bare", "odd", "broken"]
    assert listed[0]["parameters"]["required"] == ["dish"]


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        ("react", "- Search[entity]: Find the page"),
        ("pal", "def Search(entity: str) -> str:"),
        ("fc", "[tool Search]\nFind the page"),
        ("dfsdt", "[tool Lookup]"),
        ("direct", "<question>"),
    ],
)
def test_a_prompt_is_what_the_workflow_sends(tmp_path: Path, workflow: str, said: str) -> None:
    text = call(tmp_path, "wiki", "--prompt", workflow)
    assert said in text
    assert "[user]\n" in text
    request = json.loads(call(tmp_path, "wiki", "--prompt", workflow, "--json"))
    assert all(message["content"] in text for message in request["messages"])
    assert [tool["name"] for tool in request["tools"]] == re.findall(r"^\[tool (\w+)\]$", text, re.MULTILINE)


def test_several_calls_share_a_session(tmp_path: Path) -> None:
    words = ["Search", "entity=Kenya", "--", "Lookup", "keyword=capital", "--", "Lookup", "keyword=member"]
    first, second, third = call(tmp_path, "wiki", *words).split("\n\n")
    assert first.startswith("Kenya is a country")
    assert second.startswith("(Result 1 / 1) Kenya")
    assert third.startswith("(Result 1 / 1) Kenya")
    results = json.loads(call(tmp_path, "wiki", "--json", *words))
    assert [result["observation"] for result in results] == [first, second, third.rstrip()]


def test_values_are_coerced_settings_are_the_environments_and_nothing_acts_on_the_terminal(pantry: Path) -> None:
    assert call(pantry, "pantry.py:Pantry", "count", "dish=a=b", "times=2") == "6\n"
    assert call(pantry, "pantry.py:Pantry", "bare") == "\\u001b[31mred\n"
    assert call(pantry, "pantry.py:Pantry", "broken", status=1).startswith("broken failed: KeyError: 'nothing'")
    assert call(pantry, "pantry.py:Pantry", "count", "dish=ab", "--set", "shelf=3") == "6\n"
    assert call(pantry, "pantry.py:Pantry", "count", "dish=a", "--set", 'labels=["汤", "x"]') == "2\n"
    assert call(pantry, "pantry.py:Pantry", "count", "dish=a", "--set", "labels=[汤]") == "3\n"
    failed = call(pantry, "pantry.py:Pantry", "count", "dsh=ab", "--json", status=1)
    assert json.loads(failed)["error"] == "bad_arguments"
    assert json.loads(call(pantry, "pantry.py:Pantry", "odd", "--json"))["value"] == [None, None, 1]


LOUD = """
import ctypes, logging, os, subprocess, sys
from r_eval.environments.base import Environment, query_api

print("import")
logging.basicConfig(stream=sys.stdout)

class Loud(Environment):
    def open(self):
        print("open")
        return super().open()

    @query_api
    def say(self) -> int:
        print("call")
        logging.warning("log")
        sys.__stdout__.write("stream ")
        ctypes.CDLL(None).puts(b"C")
        os.write(1, b"descriptor")
        subprocess.run(["echo", "child"])
        return 1
"""


def test_whatever_a_plug_in_prints_is_not_among_the_json(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD, encoding="utf-8")
    command = [str(R_EVAL), "call", "loud.py:Loud", "say", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["value"] == 1
    assert {*done.stderr.replace("descriptor", "descriptor ").split()} >= {
        "import", "open", "call", "WARNING:root:log", "stream", "C", "descriptor", "child"
    }  # fmt: skip


def test_null_is_no_value_and_what_may_be_anything_is_read_as_json(tmp_path: Path) -> None:
    parameters = "n: int = 7, s: str = 's', b: bool = False, of: list[int] = None, any=None, q: str | None = ''"
    head = "from r_eval.environments import query_api\n@query_api\ndef back"
    (tmp_path / "typed.py").write_text(f"{head}({parameters}): return [n, s, b, of, any, q]", encoding="utf-8")
    typed = {
        "n=null s=null b=null of=null any=null q=null": [7, "s", False, None, None, None],
        "n=3 s=3 b=true of=[1,2] any=3 q=[1]": [3, "3", True, [1, 2], 3, "[1]"],
        'n="3" s="3" b="true" any="3" q="3"': [3, '"3"', True, None, "3", '"3"'],
        'any={"a":[1]} of=[1.0] q=a=b': [7, "s", False, [1], {"a": [1]}, "a=b"],
        "any=[1": [7, "s", False, None, "[1", ""],
    }
    words = [word for line in typed for word in ["back", *line.split(), "--"]]
    results = json.loads(call(tmp_path, "typed.py", "--json", *words))
    assert [result["value"] for result in results] == list(typed.values())
