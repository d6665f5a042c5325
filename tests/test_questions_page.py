"""docs/questions.md is true: its commands run, in order, and print what the page says; its files are read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from r_eval import Grid
from r_eval.tasks.loaders import formats
from r_eval.tasks.questions import read_questions
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "questions.md"
EXAMPLE = PAGE.parents[1] / "examples" / "wiki-graph.yaml"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the page says to write, after all its commands."""
    folder = tmp_path_factory.mktemp("questions")
    (folder / "templates.yaml").write_text(documents.block(PAGE, "yaml", "born-first"), encoding="utf-8")
    shutil.copy(EXAMPLE, folder)
    documents.follow(PAGE, folder, passed_over=lambda line: "results.json" in line and answer(folder))
    return folder


def answer(folder: Path) -> bool:
    """Write results from outside, right in the first private question; no command is passed over."""
    first = read_questions(folder / "private.jsonl")[0]
    text = documents.block(PAGE, "json", "PUBLIC_ID")
    text = text.replace("PUBLIC_ID", first.id).replace("PUBLIC_ANSWER", first.answers[0])
    (folder / "results.json").write_text(text, encoding="utf-8")
    return False


def test_every_command_runs_and_prints_what_the_page_says(desk: Path) -> None:
    assert sorted(path.name for path in desk.glob("*.season.json")) == [
        "graph.season.json",
        "next.season.json",
        "private.season.json",
        "public.season.json",
        "questions.season.json",
    ]


def test_the_tasks_of_the_page_are_entries_of_a_grid() -> None:
    entries = yaml.safe_load(documents.block(PAGE, "yaml", "hotpot_dev"))
    grid = Grid(llms=["openai/m"], workflows=["direct"], **entries)
    assert [t.data is not None for t in grid.tasks] == [True] * 4


def test_every_format_of_a_published_file_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in sorted(formats()) if f"`{name}`" not in text] == []


def test_the_public_file_of_the_page_holds_no_answer(desk: Path) -> None:
    public = [json.loads(line) for line in (desk / "public.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {key for question in public for key in question} == {"id", "question"}
