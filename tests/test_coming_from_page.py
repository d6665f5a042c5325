"""docs/coming-from.md is true: its grids run over the files that it shows, and what it names is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from r_eval import Grid, run
from r_eval.analysis.scoring import ensure_scored
from r_eval.api import Run
from tests import documents

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"
TEXT = PAGE.read_text(encoding="utf-8")
OLD = {"input": "Were both born in Nairobi?", "outputs": ["no"], "dataset": "hotpotqa", "_id": "a1", "language": "en"}
OWN = {"id": "1", "question": "What does a pear cost?", "answers": ["0.6"], "level": "KS"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page shows, by the names in their first lines, and those that it takes for granted."""
    for kind, text in documents.blocks(PAGE):
        if kind in ("python", "yaml") and (name := re.match(r"# (\w+\.(?:py|yaml))\n", text)):
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
    others = {
        "samples.jsonl": documents.block(PAGE, "json", "target"),
        "3-1_hotpotqa.jsonl": json.dumps(OLD),
        "questions.jsonl": json.dumps(OWN),
        "talker.py": 'def talk(request):\n    return "It is Nairobi."\n',
    }
    for name, text in others.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def carried_out(folder: Path, grid: str) -> Run:
    done = run(Grid.load(folder / grid), folder / "run")
    assert done.state == "complete"
    return done


def test_a_file_of_the_published_r_eval_is_read_as_it_is(folder: Path) -> None:
    (episode,) = carried_out(folder, "published.yaml").episodes()
    assert (episode.question, episode.golds, episode.domain) == (OLD["input"], OLD["outputs"], "wiki")


def test_samples_and_a_scorer_of_inspect_are_a_task_and_a_metric(folder: Path) -> None:
    done = carried_out(folder, "inspect.yaml")
    ensure_scored(done.folder)
    (score,) = [score for cell in done.folder.cells() for score in done.folder.scores(cell).values()]
    assert (score["score"], score["metric"]) == (1.0, "./scorer.py:includes")


def test_tools_and_chat_model_of_langchain_are_environment_and_llm(folder: Path) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed (extra: langchain)")
    (episode,) = carried_out(folder, "langchain.yaml").episodes()
    assert (episode.workflow, episode.llm) == ("react", "langchain/moved.py:chat")
