"""docs/corpus.md is true: its files are read, its grid runs, and its commands print what it says."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from r_eval.environments.corpus import Corpus
from r_eval.environments.corpus.retrievers import NAMES
from r_eval.environments.corpus.sources import embedded
from r_eval.llms.model_files import model_path
from tests import documents

pytest.importorskip("langchain_text_splitters", reason="needs langchain-text-splitters (extra retrieval)")

PAGE = Path(__file__).parents[3] / "docs" / "corpus.md"
TEXT = PAGE.read_text(encoding="utf-8")


def write_files(folder: Path) -> None:
    (folder / "documents.jsonl").write_text(documents.block(PAGE, "json", "chairs"), encoding="utf-8")
    (folder / "questions.jsonl").write_text(documents.block(PAGE, "json", "q1"), encoding="utf-8")
    (folder / "grid.yaml").write_text(documents.block(PAGE, "yaml", "name: pears"), encoding="utf-8")
    grid = (folder / "grid.yaml").read_text(encoding="utf-8")
    short = "llms: [{llm: gguf/smollm2-135m, max_tokens: 8}]\nlimits: {steps: 1}"
    (folder / "grid.yaml").write_text(grid.replace("llms: [gguf/smollm2-135m]", short), encoding="utf-8")


def test_the_documents_of_the_page_can_be_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    write_files(tmp_path)
    corpus = Corpus(str(tmp_path / "documents.jsonl"), chunk_size=64, overlap="10%")
    assert [passage.id for passage in corpus.retrieve("白色的花")] == ["3#1"]


@pytest.mark.parametrize("line", [command.line for command in documents.commands(PAGE)])
def test_every_command_runs_and_prints_what_the_page_says(
    tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "run" in line:
        if not model_path("smollm2-135m").exists():
            pytest.skip("the model smollm2-135m is not here: r-eval doctor --fetch")
    else:
        monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    write_files(tmp_path)
    expected = next(command.expected for command in documents.commands(PAGE) if command.line == line)
    done = documents.typed(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert documents.matches(done.stdout, expected), done.stdout


def test_every_setting_retriever_and_set_is_on_the_page() -> None:
    named = [*inspect.signature(Corpus).parameters, *NAMES, *embedded()]
    assert [name for name in named if f"`{name}`" not in TEXT] == []
