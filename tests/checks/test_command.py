"""`r-eval check` as it is typed: what it prints, and its exit status."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.checks.conftest import SHOW
from tests.commands import typed_here

WRONG = "recipes.py", "templates.yaml", "questions.jsonl", "grid.yaml", "nothing.jsonl"


def test_a_whole_project_is_checked_with_one_command(recipes: Path) -> None:
    done = typed_here(["check", *WRONG[:4]], recipes)
    assert (done.returncode, done.stderr) == (0, "")
    assert "recipes.py:42: note: query API find_dish: " in done.stdout
    assert all(": note: " in line for line in done.stdout.splitlines())


def test_one_error_among_many_targets_ends_with_2_and_the_rest_is_checked(recipes: Path) -> None:
    done = typed_here(["check", *reversed(WRONG)], recipes)
    assert done.returncode == 2
    first, *others = done.stdout.splitlines()
    assert first == "nothing.jsonl: error: no such question file; nothing else was checked there"
    assert "grid.yaml: note: 5 cells, 15 episodes" in others


def test_json_gives_every_finding_with_its_five_fields(recipes: Path) -> None:
    (recipes / "recipes.py").write_text(
        re.sub(r'"""Show a dish.*?"""', "pass", (recipes / "recipes.py").read_text(encoding="utf-8"), flags=re.DOTALL),
        encoding="utf-8",
    )
    done = typed_here(["check", "recipes.py", "--json"], recipes)
    findings = json.loads(done.stdout)
    assert {tuple(f) for f in findings} == {("target", "place", "severity", "what", "todo")}
    (error,) = [f for f in findings if f["severity"] == "error"]
    assert error == {
        "target": "recipes.py",
        "place": "recipes.py:58",
        "severity": "error",
        "what": "query API dish_details: no docstring",
        "todo": "describe it in the first line: it becomes the tool's description",
    }
    assert done.returncode == 2


def test_settings_of_an_environment_are_given_as_to_call(environment: Callable[..., str], tmp_path: Path) -> None:
    target = environment("    def __init__(self, shelf: int) -> None:\n        self.shelf = shelf\n" + SHOW)
    bare, given = (typed_here(["check", target, *words], tmp_path) for words in ([], ["--set", "shelf=3"]))
    assert (bare.returncode, "shelf" in bare.stdout) == (2, True)
    assert (given.returncode, ": error: " in given.stdout) == (0, False), given.stdout
