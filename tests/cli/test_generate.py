"""`r-eval generate`, and `data extract-triples`: what they write, what they say of what gives nothing, and mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.scaffold import new_domain
from r_eval.tasks.graphs.source import read_triples
from r_eval.tasks.questions import read_questions
from tests.commands import typed_here
from tests.tasks.graphs.scripts import name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The project of a new domain."""
    return new_domain("recipes", tmp_path / "recipes")


def edit(folder: Path, name: str, old: str, new: str) -> None:
    """A file of the project with a text replaced."""
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


def test_the_shipped_questions_are_what_the_templates_make(folder: Path) -> None:
    done = typed_here(["generate", "templates.yaml", "--out", "again.jsonl"], folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("again.jsonl: 20 questions; dropped: ")
    assert (folder / "again.jsonl").read_bytes() == (folder / "questions.jsonl").read_bytes()


def test_a_template_that_gives_nothing_is_named_and_the_status_is_1(folder: Path) -> None:
    edit(folder, "templates.yaml", 'found = find_dish(name=dish["name"])', 'found = find_dish(nome=dish["name"])')
    done = typed_here(["generate", "templates.yaml", "--out", "out.jsonl"], folder)
    assert (done.returncode, done.stderr) == (
        1,
        "r-eval: no question from: minutes-of-dish. r-eval check templates.yaml says why\n",
    )
    assert done.stdout.startswith("out.jsonl: 20 questions; dropped: ")


def test_an_environment_from_the_command_line_replaces_the_files(folder: Path) -> None:
    edit(folder, "templates.yaml", "./recipes.py", "wiki")
    words = ["generate", "recipes/templates.yaml", "--count", "3", "--out", "out.jsonl"]
    done = typed_here([*words, "--environment", "recipes/recipes.py"], folder.parent)
    assert done.stdout.startswith("out.jsonl: 3 questions; dropped: "), done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("raise NotFound(f", "raise OSError(f", "find_dish failed: OSError: No dish"),
        ('if kind == "dish":', 'if kind == "dish" and 1 / 0:', "ZeroDivisionError: division by zero (recipes.py:"),
    ],
    ids=["a query API raises", "records() raises"],
)
def test_an_environment_that_fails_is_one_sentence(folder: Path, old: str, new: str, said: str) -> None:
    edit(folder, "recipes.py", old, new)
    edit(folder, "templates.yaml", 'find_dish(name=dish["name"])', 'find_dish("")')
    done = typed_here(["generate", "templates.yaml", "--out", "out.jsonl"], folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "templates.yaml: the environment failed: " in done.stderr
    assert said in done.stderr


def test_a_graph_that_gives_nothing_shows_what_it_dropped(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("subject\trelation\tobject\nNorway\tcapital\tOslo\n", encoding="utf-8")
    words = 'relations: {capital: {forward: "Is Oslo the capital of {subject}?"}}'
    (tmp_path / "g.yaml").write_text(f"triples: t.tsv\ngraph:\n  {words}\n", encoding="utf-8")
    done = typed_here(["generate", "g.yaml", "--count", "3", "--out", "out.jsonl"], tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "r-eval: g.yaml: no question is left; dropped: 1 answer in question. "
        "answer in question, such as: Is Oslo the capital of Norway?\n",
    )


TEXT = "norway > capital > Oslo\nNorway > writer > Ibsen\nNorway > writer > Hamsun\n"
NAMED = "t.tsv: 3 triples; dropped: none\n"
KNOWN = "t.tsv: 2 triples; dropped: 1 known\n"


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/facts.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "names.txt").write_text("Norway\n", encoding="utf-8")
    (tmp_path / "known.tsv").write_text("subject\trelation\tobject\nNorway\tcapital\tOslo\n", encoding="utf-8")
    return tmp_path


def typed(facts: Path, *words: str, status: int = 0) -> str:
    done = typed_here([*words], facts)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def extract(facts: Path, documents: str, *words: str, status: int = 0) -> str:
    command = ("data", "extract-triples", documents, "--llm", name("reads_facts"), "--out", "t.tsv")
    return typed(facts, *command, *words, status=status)


def test_triples_of_a_folder_are_written_with_the_listed_names(facts: Path) -> None:
    assert extract(facts, "texts", "--names", "names.txt") == NAMED
    first = next(read_triples(facts / "t.tsv"))
    assert (first.triple[0], first.document) == ("Norway", "facts.txt")
    assert extract(facts, "texts", "--known", "known.tsv") == KNOWN
    (facts / "empty.txt").write_text("Nothing.", encoding="utf-8")
    assert "extracted no triple" in extract(facts, "empty.txt", status=2)


def test_questions_are_made_of_extracted_triples(facts: Path) -> None:
    extract(facts, "texts", "--names", "names.txt")
    graph = f"triples: t.tsv\ndocuments: texts\ngraph: {{types: [set], llm: '{name('words_it')}'}}\n"
    (facts / "graph.yaml").write_text(graph, encoding="utf-8")
    typed(facts, "generate", "graph.yaml", "--out", "q.jsonl")
    (question,) = read_questions(facts / "q.jsonl")
    assert (question.answers, question.program, question.context[0].text) == (["Hamsun; Ibsen"], None, TEXT.strip())
