"""The commands about graphs as they are typed: extract-triples, and generate with a graph file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.tasks.graphs.tables import read_triples
from r_eval.tasks.questions import read_questions
from tests.tasks.graphs.scripts import name

R_EVAL = Path(sys.executable).with_name("r-eval")
EXAMPLE = Path(__file__).parents[2] / "examples/wiki-graph.yaml"
TEXT = "norway > capital > Oslo\nNorway > writer > Ibsen\nNorway > writer > Hamsun\n"
READER = name("reads_facts")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/facts.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "names.txt").write_text("Norway\n", encoding="utf-8")
    (tmp_path / "known.tsv").write_text("subject\trelation\tobject\nNorway\tcapital\tOslo\n", encoding="utf-8")
    return tmp_path


def typed(folder: Path, *words: str, status: int = 0) -> str:
    ran = subprocess.run(
        [str(R_EVAL), *words], cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert ran.returncode == status, ran.stderr
    return ran.stderr if status else ran.stdout


def test_triples_of_a_folder_are_written_in_the_lists_names(folder: Path) -> None:
    said = typed(folder, "extract-triples", "texts", "--llm", READER, "--names", "names.txt", "--out", "t.tsv")
    assert said == "t.tsv: 3 triples; dropped: none\n"
    first = next(read_triples(folder / "t.tsv"))
    assert (first.triple[0], first.raw[0], first.document) == ("Norway", "norway", "facts.txt")


def test_known_facts_are_left_out(folder: Path) -> None:
    said = typed(folder, "extract-triples", "texts", "--llm", READER, "--known", "known.tsv", "--out", "t.tsv")
    assert said == "t.tsv: 2 triples; dropped: 1 known\n"


def test_documents_without_facts_end_in_words(folder: Path) -> None:
    (folder / "empty.txt").write_text("Nothing.", encoding="utf-8")
    said = typed(folder, "extract-triples", "empty.txt", "--llm", READER, "--out", "t.tsv", status=2)
    assert "no triple came of it" in said


def test_questions_are_made_of_extracted_triples(folder: Path) -> None:
    typed(folder, "extract-triples", "texts", "--llm", READER, "--names", "names.txt", "--out", "t.tsv")
    graph = f"triples: t.tsv\ndocuments: texts\ngraph: {{types: [set], llm: '{name('words_it')}'}}\n"
    (folder / "graph.yaml").write_text(graph, encoding="utf-8")
    typed(folder, "generate", "graph.yaml", "--out", "q.jsonl")
    (question,) = read_questions(folder / "q.jsonl")
    assert (question.answers, question.program, question.context[0].text) == (["Hamsun; Ibsen"], None, TEXT)


def test_the_example_makes_the_questions_that_are_asked_for(folder: Path) -> None:
    said = typed(folder, "generate", str(EXAMPLE), "--count", "10", "--out", "q.jsonl")
    assert said.startswith("q.jsonl: 10 questions; dropped: ")


def test_questions_over_a_file_of_triples_are_checked_without_an_environment(folder: Path) -> None:
    words = "relations:\n    capital:\n      forward: What is the capital of {subject}?\n"
    (folder / "graph.yaml").write_text(f"triples: known.tsv\ngraph:\n  {words}", encoding="utf-8")
    typed(folder, "generate", "graph.yaml", "--out", "q.jsonl")
    assert "q.jsonl: note: season 1.0.0 over triples" in typed(folder, "check", "q.jsonl")


def test_a_file_of_triples_takes_no_environment(folder: Path) -> None:
    (folder / "graph.yaml").write_text("triples: known.tsv\ngraph: {llm: openai/x}\n", encoding="utf-8")
    said = typed(folder, "generate", "graph.yaml", "--environment", "wiki", "--out", "q.jsonl", status=2)
    assert "--environment cannot replace that" in said
