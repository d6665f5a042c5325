"""`r-eval check` as it is typed: what it prints, and its exit status."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

R_EVAL = Path(sys.executable).with_name("r-eval")
WRONG = "recipes.py:Recipes", "templates.yaml", "questions.jsonl", "grid.yaml", "nothing.jsonl"


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(R_EVAL), "check", *words], cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


def test_a_whole_project_is_checked_with_one_command(recipes: Path) -> None:
    done = typed(recipes, *WRONG[:4])
    assert (done.returncode, done.stderr) == (0, "")
    assert "recipes.py:52: note: query API find_dish: " in done.stdout
    assert all(": note: " in line for line in done.stdout.splitlines())


def test_one_error_among_many_targets_ends_with_2_and_the_rest_is_checked(recipes: Path) -> None:
    done = typed(recipes, *reversed(WRONG))
    assert done.returncode == 2
    first, *others = done.stdout.splitlines()
    assert first == "nothing.jsonl: error: no such question file; nothing else was checked there"
    assert "grid.yaml: note: 5 cells, 15 episodes" in others


def test_json_gives_every_finding_with_its_five_fields(recipes: Path) -> None:
    (recipes / "recipes.py").write_text(
        re.sub(r'"""Show a dish.*?"""', "pass", (recipes / "recipes.py").read_text(encoding="utf-8"), flags=re.DOTALL),
        encoding="utf-8",
    )
    done = typed(recipes, "recipes.py:Recipes", "--json")
    findings = json.loads(done.stdout)
    assert {tuple(f) for f in findings} == {("target", "place", "severity", "what", "todo")}
    (error,) = [f for f in findings if f["severity"] == "error"]
    assert error == {
        "target": "recipes.py:Recipes",
        "place": "recipes.py:68",
        "severity": "error",
        "what": "query API dish_details: no docstring",
        "todo": "say in its first line what it does: models are told it",
    }
    assert done.returncode == 2


def test_a_python_file_without_a_class_is_no_target(recipes: Path) -> None:
    done = typed(recipes, "recipes.py")
    assert done.returncode == 2
    assert "expected an environment such as file.py:Class" in done.stdout
