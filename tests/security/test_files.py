"""Grids, templates and questions are data: nothing in them makes an object, fills the memory or names a way out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import r_eval
from r_eval.analysis.submissions import read_results
from r_eval.checks.questions import check_questions, environment_for
from r_eval.environments.tools.openapi_document import parse
from r_eval.errors import UserError
from r_eval.files import MOST_VALUES, read_yaml
from r_eval.grid import Grid
from r_eval.tasks.base import task_files
from r_eval.tasks.graphs.graph_file import read_graph_file
from r_eval.tasks.placeholders.world import read_world
from r_eval.tasks.questions import read_questions, write_questions
from r_eval.tasks.seasons import Season, write_season
from r_eval.tasks.templates.schema import read_templates

LAUGHS = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10))
BOMBS = {
    "aliases": f"a0: &a0 [lol, lol]\n{LAUGHS}\n",
    "merges": "a0: &a0 {k: 1}\n"
    + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 9)),
    "itself": "a: &a [*a]\n",
    "itself, as a mapping": "a: &a {b: *a}\n",
}
READERS: dict[str, Callable[[Path], Any]] = {
    "grid": Grid.load,
    "templates": read_templates,
    "graph": read_graph_file,
    "placeholders": read_world,
    "openapi": lambda path: parse(path.read_text(encoding="utf-8"), str(path)),
}
TAGS = ["!!python/object/apply:os.system ['touch mark']", "!!python/name:os.system", "!!python/module:os", "!evil x"]


@pytest.mark.parametrize("bomb", sorted(BOMBS))
@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_few_lines_that_mean_billions_are_refused_at_once(reader: str, bomb: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(BOMBS[bomb], encoding="utf-8")
    with pytest.raises((UserError, ValueError), match=r"contains itself|expands to more than"):
        READERS[reader](path)


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_tag_makes_no_object(reader: str, tag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.yaml"
    path.write_text(f"name: {tag}\n", encoding="utf-8")
    with pytest.raises((UserError, ValueError), match="could not determine a constructor for the tag"):
        READERS[reader](path)
    assert not (tmp_path / "mark").exists()


def test_aliases_that_mean_little_are_read_as_ever() -> None:
    text = "a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: 3}\n"
    assert read_yaml(text) == yaml.safe_load(text)
    assert MOST_VALUES > 10_000


@pytest.mark.parametrize("reader", [read_questions, read_results], ids=["questions", "a submission"])
def test_a_file_without_an_end_fills_no_memory(reader: Callable[[Path], Any]) -> None:
    with pytest.raises(UserError, match=r"/dev/zero: (longer than|not a regular file)"):
        reader(Path("/dev/zero"))


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A question file with programs, without a season."""
    path = tmp_path / "here" / "questions.jsonl"
    path.parent.mkdir()
    write_questions(path, read_questions(task_files()["aminer/soay-easy"].with_name("soay-easy.questions.jsonl"))[:2])
    return path


EVIL = "from pathlib import Path\n\nPath({mark!r}).touch()\n\nfrom tests.workflow_contract import Pantry\n"


@pytest.mark.parametrize(
    "name", ["../evil.py:Pantry", "{absolute}/evil.py:Pantry", "link.py:Pantry", "mcp:touch {mark}", "antigravity:x",
             "openapi:http://127.0.0.1:9/openapi.json", "langchain:../evil.py:Pantry", "../evil.py",
             "{absolute}/evil.py", "link.py"]
)  # fmt: skip
def test_a_season_beside_questions_names_no_code_elsewhere(name: str, questions: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "evil.py").write_text(EVIL.format(mark=str(mark)), encoding="utf-8")
    (questions.parent / "link.py").symlink_to(tmp_path / "evil.py")
    environment = name.format(absolute=tmp_path, mark=mark)
    write_season(questions, Season(environment=environment, environment_version="1", count=2, seed=0))
    assert environment_for(questions) is None
    assert any("its programs were not run" in finding.what for finding in check_questions(questions))
    assert not mark.exists()


def test_a_season_may_name_what_is_installed(questions: Path) -> None:
    write_season(questions, Season(environment="aminer", environment_version="1", count=2, seed=0))
    assert environment_for(questions) == ("aminer", {})


def test_ids_and_names_of_tasks_stay_in_the_runs_folder(questions: Path, tmp_path: Path) -> None:
    outward = [
        question.model_copy(update={"id": f"../../../out-{n}\x00/{n}"})
        for n, question in enumerate(read_questions(questions))
    ]
    write_questions(questions, outward)
    (tmp_path / "llm.py").write_text('def reply(request):\n    return "Ada"\n', encoding="utf-8")
    task = {"task": "../../../evil/x", "questions": str(questions), "environment": "aminer"}
    llm = {"llm": f"scripted/{tmp_path / 'llm.py'}:reply", "name": "../../evil"}
    grid = Grid(workflows=[{"workflow": "direct", "name": "../../evil"}], llms=[llm], tasks=[task])
    before = set(tmp_path.rglob("*"))
    run = r_eval.run(grid, out=tmp_path / "a" / "b" / "run")
    run.report(figures=False)
    assert run.state == "complete"
    made = {path for path in set(tmp_path.rglob("*")) - before if "__pycache__" not in path.parts}
    assert {path for path in made if not path.is_relative_to(run.path)} == {tmp_path / "a", tmp_path / "a" / "b"}


@pytest.mark.parametrize("key", ["$ref", "environment", "path"])
def test_a_question_has_no_key_that_names_a_file(key: str, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        f'{{"id": "1", "question": "q", "answers": ["a"], "level": "KS", "{key}": "/etc/passwd"}}\n', "utf-8"
    )
    with pytest.raises(UserError, match=f"unknown key '{re.escape(key)}'"):
        read_questions(path)
