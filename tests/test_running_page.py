"""docs/running.md is true: its grid is read, and its command prints what the page says."""

from __future__ import annotations

from pathlib import Path

from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "running.md"


def test_every_command_runs_over_the_grid_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(documents.block(PAGE, "yaml", "budgeted"), encoding="utf-8")
    for command in documents.commands(PAGE):
        done = documents.typed(command.line, tmp_path)
        assert done.returncode == 0, done.stderr
        assert documents.matches(done.stdout, command.expected), done.stdout
    assert not (tmp_path / "runs").exists()
