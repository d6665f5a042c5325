"""docs/crud.md is true: its commands run and print what the page says, and its tables name what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.tasks.base import installed, matching
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "crud.md"


def test_every_command_runs_and_prints_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "split_merged.json").write_text(documents.block(PAGE, "json", "event_summary"), encoding="utf-8")
    (tmp_path / "grid.yaml").write_text(documents.block(PAGE, "yaml", "split_merged"), encoding="utf-8")
    (tmp_path / "80000_docs").mkdir()
    (tmp_path / "80000_docs" / "documents_dup_part_1_part_1").write_text("鹭口大桥全长2340米。\n", encoding="utf-8")
    for command in documents.commands(PAGE):
        done = documents.typed(command.line, tmp_path)
        assert done.returncode == 0, f"{command.line}\n{done.stdout}{done.stderr}"
        assert documents.matches(done.stdout, command.expected), f"{command.line}\n{done.stdout}"


@pytest.mark.parametrize("name", [name for name in matching("crud/*") if not name.endswith("-en")])
def test_the_page_names_every_task_with_its_level_and_list(name: str) -> None:
    task = installed(name)
    assert isinstance(task.format, dict)
    (row,) = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` ")]
    assert f"| {task.level} |" in row
    assert row.endswith(f"| `{task.format['task']}` |")
