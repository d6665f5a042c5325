"""Graph questions from file to question, over the embedded wiki, small files of triples and scripted LLMs."""

from __future__ import annotations

import asyncio
import collections
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.records import Question
from r_eval.tasks.base import open_environment
from r_eval.tasks.graphs.graph import TYPES
from r_eval.tasks.graphs.graph_file import GraphFile, read_graph_file
from r_eval.tasks.graphs.pipeline import generate
from r_eval.tasks.graphs.source import TripleFile, TripleSource
from r_eval.tasks.solving import same_values, solve
from r_eval.tasks.templates import Generated
from tests.tasks.graphs.scripts import name

WIKI = Path(__file__).parents[3] / "examples/wiki-graph.yaml"


def same(answer: str, golds: Sequence[str]) -> float:
    return float(answer in golds)


def generate_questions(file: GraphFile, source: TripleSource, sandbox: Sandbox, count: int = 100) -> Generated:
    return asyncio.run(generate(file, source, sandbox, count, 0, same))


@pytest.fixture(scope="module")
def wiki() -> Environment:
    return open_environment("wiki")


@pytest.fixture(scope="module")
def of_wiki(wiki: Environment, sandbox: Sandbox) -> list[Question]:
    """A hundred questions of the example."""
    return generate_questions(read_graph_file(WIKI), TripleSource(wiki, "wiki"), sandbox).questions


def test_the_examples_programs_give_their_answers(of_wiki: list[Question], wiki: Environment, sandbox: Sandbox) -> None:
    assert collections.Counter(q.meta["type"] for q in of_wiki) == dict.fromkeys(TYPES, 20)
    assert len({q.id for q in of_wiki}) == len({q.question.casefold() for q in of_wiki}) == len(of_wiki)
    assert {(q.meta["type"] == "simple", q.level) for q in of_wiki} == {(True, "KS"), (False, "KA")}
    solved = asyncio.run(solve(of_wiki, wiki, sandbox))
    assert len(solved) == len(of_wiki)
    assert all(same_values(run.answer, run.question.answers[0]) for run in solved)


NORDIC = [
    ("Norway", "capital", "Oslo"),
    ("Sweden", "capital", "Stockholm"),
    ("Norway", "currency", "krone"),
    ("Sweden", "currency", "krona"),
    ("Oslo", "population", "709\u00a0037"),
    ("Stockholm", "population", "984,748"),
    ("Norway", "writer", "Ibsen"),
    ("Norway", "writer", "Hamsun"),
]
WORDS: dict[str, Any] = {
    "capital": {
        "forward": "What is the capital of {subject}?",
        "subject": {"kind": "country", "clause": "whose capital is {object}"},
    },
    "currency": {"forward": "What is paid in {subject}?"},
    "population": {"larger": "Where do more people live, in {first} or {second}?"},
    "writer": {"forward_all": "Who wrote in {subject}?"},
}


@pytest.fixture
def nordic(tmp_path: Path) -> TripleSource:
    """A file of triples, and a document for each of their subjects."""
    lines = ["subject\trelation\tobject\tdocument", *("\t".join([*t, f"d-{t[0]}"]) for t in NORDIC)]
    (tmp_path / "t.tsv").write_text("\n".join(lines), encoding="utf-8")
    subjects = sorted({subject for subject, _, _ in NORDIC})
    documents = [{"id": f"d-{name}", "title": name, "text": f"Of {name}."} for name in subjects]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return TripleSource(TripleFile(tmp_path / "t.tsv"), "t.tsv", tmp_path / "d.jsonl")


def graph_file(**graph: Any) -> GraphFile:
    graph.setdefault("relations", WORDS)
    return GraphFile.model_validate({"triples": "t.tsv", "graph": graph})


def by_question(generated: Generated) -> dict[str, str]:
    return {q.question: q.answers[0] for q in generated.questions}


def test_words_make_questions_of_a_file(nordic: TripleSource, sandbox: Sandbox) -> None:
    assert by_question(generate_questions(graph_file(), nordic, sandbox)) == {
        "What is the capital of Norway?": "Oslo",
        "What is the capital of Sweden?": "Stockholm",
        "What is paid in Norway?": "krone",
        "What is paid in Sweden?": "krona",
        "What is paid in the country whose capital is Oslo?": "krone",
        "What is paid in the country whose capital is Stockholm?": "krona",
        "Who wrote in Norway?": "Hamsun; Ibsen",
        "Where do more people live, in Oslo or Stockholm?": "Stockholm",
    }


def test_questions_over_a_corpus_name_the_documents_and_come_without(nordic: TripleSource, sandbox: Sandbox) -> None:
    questions = generate_questions(graph_file(types=["set"]), nordic, sandbox).questions
    assert [[document.title for document in q.context] for q in questions] == [["Norway"]]
    nordic.is_corpus = True
    for question in generate_questions(graph_file(types=["set", "comparison"]), nordic, sandbox).questions:
        named = {"set": ["Norway"], "comparison": ["Oslo", "Stockholm"]}[question.meta["type"]]
        assert question.context == []
        assert sorted(question.meta["text_ids"]) == [f"d-{name}" for name in named]
        assert sorted(question.meta["sources"]) == [f"Of {name}." for name in named]


def test_a_question_of_which_a_document_is_missing_is_dropped(nordic: TripleSource, sandbox: Sandbox) -> None:
    nordic.documents = {"d-Norway": nordic.documents["d-Norway"]}
    generated = generate_questions(graph_file(types=["simple"]), nordic, sandbox)
    assert by_question(generated) == {"What is the capital of Norway?": "Oslo", "What is paid in Norway?": "krone"}
    assert generated.dropped["document missing"] == 2


class Atlas(Environment):
    """Countries and capitals."""

    def triples(self) -> Any:
        yield from (t for t in NORDIC if t[1] == "capital")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("answer = missing({entity})", "program fails"),
        ("answer = [{entity}]", "program gives another answer"),
        ('answer = ["Oslo" if {entity} == "Norway" else "Stockholm"]', "evidence not observed"),
    ],
)
def test_a_question_that_its_program_does_not_bear_out_is_dropped(sandbox: Sandbox, program: str, reason: str) -> None:
    words = {"capital": {**WORDS["capital"], "program": {"forward": "capital"}}}
    file = GraphFile.model_validate({"environment": "a", "graph": {"relations": words, "program": program}})
    found = generate_questions(file, TripleSource(Atlas(), "a"), sandbox)
    assert (found.questions, found.dropped[reason]) == ([], 2)


def by_llm(nordic: TripleSource, sandbox: Sandbox, function: str, **graph: Any) -> Generated:
    return generate_questions(graph_file(relations={}, llm=name(function), **graph), nordic, sandbox)


@pytest.mark.parametrize(
    ("function", "reason"), [("blabs", "answer in question"), ("rambles", "no question in the reply")]
)
def test_what_an_llm_words_badly_is_dropped(nordic: TripleSource, sandbox: Sandbox, function: str, reason: str) -> None:
    found = by_llm(nordic, sandbox, function, types=["simple"])
    assert not found.questions
    assert found.dropped[reason] > 0


def test_a_number_per_type_is_not_made_up_by_other_types(nordic: TripleSource, sandbox: Sandbox) -> None:
    file = graph_file(types=["simple", "comparison"], per_type=2)
    found = generate_questions(file, nordic, sandbox, count=4).questions
    assert collections.Counter(q.meta["type"] for q in found) == {"simple": 2, "comparison": 1}


def test_a_question_about_no_named_entity_of_its_documents_is_dropped(nordic: TripleSource, sandbox: Sandbox) -> None:
    file = graph_file(types=["simple"], filters={"entities": name("finds_names")})
    assert "entities" not in generate_questions(file, nordic, sandbox).dropped
    for document in nordic.documents.values():
        document.text = "Of nothing."
    found = generate_questions(file, nordic, sandbox)
    assert (found.questions, found.dropped["no named entity"]) == ([], 4)


def test_questions_that_name_their_entities_least_and_most_are_trimmed(nordic: TripleSource, sandbox: Sandbox) -> None:
    found = generate_questions(graph_file(types=["simple"], filters={"trim": 0.3}), nordic, sandbox)
    assert len(found.questions) == 4
    inflected = by_llm(nordic, sandbox, "inflects_one", types=["simple"], filters={"trim": 0.2})
    assert inflected.dropped["trimmed"] >= 1
    assert all("Norwa?" not in question.question for question in inflected.questions)
