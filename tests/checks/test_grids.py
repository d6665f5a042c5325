"""What the check of a grid finds; and `r-eval check` as it is typed: what it prints, and its exit status."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from r_eval.checks import Finding
from r_eval.checks import check_target as check
from r_eval.tasks.seasons import Season, write_season
from tests.checks.conftest import SHOW
from tests.commands import typed_here


def found(recipes: Path, old: str, new: str) -> list[Finding]:
    path = recipes / "grid.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return [finding for finding in check(str(path)) if not finding.what.startswith("LLM calls")]


def test_a_grid_says_what_a_cell_may_cost_and_where_documents_are(recipes: Path) -> None:
    context = [{"title": "Ågård", "text": "Eggs."}]
    question = {"id": "1", "question": "?", "answers": ["a"], "context": context, "level": "KS"}
    (recipes / "q.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    grid = {
        "workflows": ["react", "dfsdt", "direct"],
        "llms": ["openai/m"],
        "tasks": [{"task": "t", "questions": "q.jsonl", "environment": "wiki", "passages": "environment"}],
        "shots": 0,
        "limits": {"steps": 5, "tokens": 9000},
    }
    (recipes / "grid.yaml").write_text(json.dumps(grid), encoding="utf-8")
    assert [finding.what for finding in check(str(recipes / "grid.yaml")) if finding.severity == "note"] == [
        "LLM calls per cell, at most: react 6 (6 per episode), dfsdt 21 (21 per episode), direct 1 (1 per episode); at "
        "most 9,000 tokens per episode",
        "task 't': passages: environment (the questions' own documents are behind the query APIs only)",
        "3 cells, 3 episodes",
    ]


def test_an_oracle_without_programs_and_shots_without_demonstrations_are_warnings(recipes: Path) -> None:
    questions = recipes / "questions.jsonl"
    questions.write_text('{"id": "1", "question": "?", "answers": ["a"], "level": "KS"}\n', encoding="utf-8")
    findings = found(recipes, "    demonstrations: questions.jsonl", "    #")
    assert {f.severity for f in findings[:-1]} == {"warning"}
    assert "has no program" in findings[0].what
    assert "has no demonstrations, though shots is 2" in findings[1].what


def test_the_environment_that_a_grid_names_is_checked(recipes: Path) -> None:
    module = recipes / "recipes.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace('if kind == "dish":', 'if kind == "dish":\n        1 / 0'), encoding="utf-8")
    (finding, size) = found(recipes, "", "")
    assert finding.severity == "error"
    assert "records('dish') raises ZeroDivisionError: division by zero" in finding.what
    assert finding.place.rpartition(":")[0].endswith("recipes.py")
    assert (finding.target, size.what) == (str(recipes / "grid.yaml"), "5 cells, 15 episodes")


def test_the_question_files_and_the_templates_that_they_were_made_from_are_checked(recipes: Path) -> None:
    assert typed_here(["generate", "templates.yaml", "--count", "6", "--out", "made.jsonl"], recipes).returncode == 0
    questions, templates = recipes / "made.jsonl", recipes / "templates.yaml"
    lines = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    lines[2]["answers"] = ["Ελλάδα"]
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    templates.write_text(templates.read_text(encoding="utf-8").replace("from: dish", "from: dishes"), encoding="utf-8")
    findings = {f.place.rpartition("/")[2]: f.what for f in found(recipes, "questions: questions", "questions: made")}
    assert "a program that gives another answer" in findings["made.jsonl:3"]
    assert any(
        place.startswith("templates.yaml:") and "no records of kind 'dishes'" in findings[place] for place in findings
    )


def test_nothing_of_a_live_source_that_a_grid_names_is_called(tmp_path: Path) -> None:
    environment = "environment: {environment: wiki, source: live, api_url: 'http://127.0.0.1:9/api.php'}"
    question = {"id": "1", "question": "Where?", "answers": ["Oslo"], "level": "KS", "program": "answer = Search('a')"}
    (tmp_path / "q.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    task = f"{{task: t, questions: q.jsonl, {environment}}}"
    grid = f"workflows: [oracle]\nllms: [gguf/smollm2-135m]\nshots: 0\ntasks:\n- {task}\n"
    (tmp_path / "grid.yaml").write_text(grid, encoding="utf-8")
    left_out, programs, size = (f.line() for f in check(str(tmp_path / "grid.yaml")))
    assert "not called, because they are not declared read-only: Search, Lookup; add --call to call them" in left_out
    assert "its programs were not run: they call external tools or services; add --call to run them" in programs
    assert size.endswith("note: 1 cell, 1 episode")


def test_questions_may_not_name_templates_that_run_another_environment(recipes: Path) -> None:
    mark = recipes / "mark"
    template = "{id: a, level: KS, from: dish, question: Q, program: answer = 1}"
    evil = f"environment: 'mcp:touch {mark}'\ntemplates:\n- {template}\n"
    (recipes / "evil.yaml").write_text(evil, encoding="utf-8")
    season = Season(environment="", environment_version="1", count=20, file="evil.yaml")
    write_season(recipes / "questions.jsonl", season)
    check(str(recipes / "grid.yaml"))
    assert not mark.exists()


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
