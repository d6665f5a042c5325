"""docs/beyond-accuracy.md: its grid runs, and its report has the tables whose headings the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from r_eval import Grid, load_run, run
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "beyond-accuracy.md"
EXAMPLES = PAGE.parents[1] / "examples"
LLM = '''"""Reads nothing, calls a search once more after a failure, and answers."""


def reply(request):
    text = request.messages[0].content
    return "Thought: none" + chr(10) + "Action: Search[Kenya]" if "Action" in text else "Nairobi"
'''


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("beyond")
    (folder / "llm.py").write_text(LLM, encoding="utf-8")
    entries = yaml.safe_load((EXAMPLES / "beyond-accuracy.yaml").read_text(encoding="utf-8"))
    entries["llms"] = [{"llm": f"scripted/{folder / 'llm.py'}:reply", "name": "model"}]
    entries["samples"] = 2
    (folder / "grid.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    run(Grid.load(folder / "grid.yaml"), folder / "run")
    return load_run(folder / "run").report(figures=False).parent / "tables"


def test_the_grid_gives_the_table_that_the_page_speaks_of(tables: Path) -> None:
    assert "`faithful`" in PAGE.read_text(encoding="utf-8")
    assert (tables / "faithful.csv").read_text(encoding="utf-8").count("\n") > 1


def test_the_commands_of_the_page_name_grids_that_are_there() -> None:
    lines = documents.block(PAGE, "sh", "beyond-accuracy.yaml").splitlines()
    grids = [line.split()[2] for line in lines]
    assert [Grid.load(PAGE.parents[1] / grid).name for grid in grids] == ["beyond-accuracy", "placeholder"]
