"""`r-eval data extract-triples`, and `generate` with a graph file."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.tasks.graphs.source import read_triples
from r_eval.tasks.questions import read_questions
from tests.commands import typed_here
from tests.tasks.graphs.scripts import name

EXAMPLE = Path(__file__).parents[2] / "examples/wiki-graph.yaml"
TEXT = "norway > capital > Oslo\nNorway > writer > Ibsen\nNorway > writer > Hamsun\n"
NAMED = "t.tsv: 3 triples; dropped: none\n"
KNOWN = "t.tsv: 2 triples; dropped: 1 known\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/facts.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "names.txt").write_text("Norway\n", encoding="utf-8")
    (tmp_path / "known.tsv").write_text("subject\trelation\tobject\nNorway\tcapital\tOslo\n", encoding="utf-8")
    return tmp_path


def typed(folder: Path, *words: str, status: int = 0) -> str:
    done = typed_here([*words], folder)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def extract(folder: Path, documents: str, *words: str, status: int = 0) -> str:
    command = ("data", "extract-triples", documents, "--llm", name("reads_facts"), "--out", "t.tsv")
    return typed(folder, *command, *words, status=status)


def test_triples_of_a_folder_are_written_with_the_listed_names(folder: Path) -> None:
    assert extract(folder, "texts", "--names", "names.txt") == NAMED
    first = next(read_triples(folder / "t.tsv"))
    assert (first.triple[0], first.document) == ("Norway", "facts.txt")
    assert extract(folder, "texts", "--known", "known.tsv") == KNOWN
    (folder / "empty.txt").write_text("Nothing.", encoding="utf-8")
    assert "extracted no triple" in extract(folder, "empty.txt", status=2)


def test_questions_are_made_of_extracted_triples(folder: Path) -> None:
    extract(folder, "texts", "--names", "names.txt")
    graph = f"triples: t.tsv\ndocuments: texts\ngraph: {{types: [set], llm: '{name('words_it')}'}}\n"
    (folder / "graph.yaml").write_text(graph, encoding="utf-8")
    typed(folder, "generate", "graph.yaml", "--out", "q.jsonl")
    (question,) = read_questions(folder / "q.jsonl")
    assert (question.answers, question.program, question.context[0].text) == (["Hamsun; Ibsen"], None, TEXT.strip())
