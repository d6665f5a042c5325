"""docs/placeholders.md is true: its command prints what the page says, its code gives what its comments say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from r_eval.analysis.metrics import published, qa
from r_eval.tasks.loaders.prgb import PrgbSettings
from r_eval.tasks.placeholders.world import RECORDS
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "placeholders.md"
CODE = documents.block(PAGE, "python", "covered_match").splitlines()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "prgb.jsonl"
    path.write_text(" ".join(documents.block(PAGE, "json", "golden_doc").split("\n")) + "\n", encoding="utf-8")
    (tmp_path / "world.yaml").write_text(documents.block(PAGE, "yaml", "kinds:"), encoding="utf-8")
    return path


def test_the_commands_print_what_the_page_says(data: Path) -> None:
    for command in documents.commands(PAGE):
        done = documents.typed(command.line, data.parent)
        assert done.returncode == 0, done.stderr
        assert documents.matches(done.stdout, command.expected), done.stdout


def test_the_table_of_sub_tasks_names_all_of_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in RECORDS)


def test_the_table_names_every_setting() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in PrgbSettings.model_fields)


@pytest.mark.parametrize("line", [line for line in CODE if "# " in line])
def test_each_call_gives_what_its_comment_says(line: str) -> None:
    call, _, said = line.partition("  # ")
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    arguments = [ast.literal_eval(argument) for argument in tree.args]
    assert repr({**vars(qa), **vars(published)}[tree.func.id](*arguments)) == said.partition(": ")[0]
