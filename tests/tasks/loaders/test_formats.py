"""Each published format by one record of it: how it is recognised, and the question that it becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.records import Document
from r_eval.tasks.loaders import format_of, load
from r_eval.tasks.loaders.data import format_by_name
from r_eval.tasks.loaders.soay import answer_of
from tests.tasks.loaders.conftest import Write, only

HOTPOT: dict[str, Any] = {
    "_id": "5a7a06935542990198eaf050",
    "question": "Which of the two lighthouses is taller, Bakkaroy (Norway) or Ostholm?",
    "answer": "Ostholm",
    "type": "comparison",
    "level": "medium",
    "supporting_facts": [["Bakkaroy (Norway)", 0], ["Ostholm", 1]],
    "context": [
        ["Bakkaroy (Norway)", ["It is 12 m tall.", "It is red."]],
        ["Ostholm", ["It is old.", " It is 30 m tall."]],
    ],
}
TWO_WIKI: dict[str, Any] = {
    **{key: value for key, value in HOTPOT.items() if key != "level"},
    "evidences": [["Bakkaroy", "height", "12 m"], ["Ostholm", "height", "30 m"]],
    "answer_id": "Q2",
}
MUSIQUE: dict[str, Any] = {
    "id": "2hop__482757_12019",
    "paragraphs": [
        {"idx": 0, "title": "Ostholm", "paragraph_text": "It stands on Varn.", "is_supporting": True},
        {"idx": 1, "title": "Lund", "paragraph_text": "A town.", "is_supporting": False},
    ],
    "question": "Of which country is the island of Ostholm a part?",
    "question_decomposition": [{"id": 1, "question": "?", "answer": "Varn", "paragraph_support_idx": None}],
    "answer": "Kingdom of Sund",
    "answer_aliases": ["Sund"],
    "answerable": True,
}
SOAY: dict[str, Any] = {
    "Query": "Ada Byron 在哪里?",
    "Query_en": "Where does Ada Byron of Sund work?",
    "Answer": "Sund University",
    "Entity_Information": {"name": "Ada Byron"},
}
CIC: dict[str, Any] = {
    "sentence": "Ada Byron wrote notes on the engine.",
    "entity": {"name": "Ada Byron", "pos": [0, 9]},
    "concept_chains": [["dbo_Agent", "dbo_Person"], ["dbo_Agent", "dbo_Writer"]],
    "label": "12_Writer",
}
RECORDS: dict[str, Any] = {
    "2wikimultihopqa": TWO_WIKI,
    "copen-cic": CIC,
    "copen-cpj": {"text": "lighthouses have lamps.", "concept": {"name": "lighthouse", "pos": [0, 1]}, "label": 0},
    "copen-csj": {
        "query": {"id": "Q1", "name": "Ada Byron"},
        "candidates": [{"id": "Q2", "name": "Ostholm"}, {"id": "Q3", "name": "Alan Turing"}],
        "label": "Q3",
    },
    "hotpotqa": HOTPOT,
    "jsonl": {"question": "Where?", "answers": ["here"]},
    "kqapro": {
        "question": "How many lighthouses of Sund are taller than 20 metres?",
        "choices": ["3", "4", "5"],
        "program": [{"function": "FindAll", "dependencies": [], "inputs": []}],
        "sparql": "SELECT ?x",
        "answer": "4",
    },
    "musique": MUSIQUE,
    "profiling": {
        "title_text": "Ada Byron - Staff - Sund University",
        "org": "Sund University",
        "name": "Ada Byron",
        "title": "Professor(Emeritus)",
    },
    "soay": SOAY,
}


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_file_is_recognised_by_its_first_records(write: Write, name: str) -> None:
    records = [RECORDS[name]] * 2
    assert format_of(write("one", [{"question": "What?"}, *records])) == format_of(write("two.jsonl", records)) == name


def test_triples_are_recognised_by_their_first_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("Q1\tP31\tQ2\n", encoding="utf-8")
    assert format_of(tmp_path / "t.txt") == "wikidata5m"


@pytest.mark.parametrize("text", ["", "text", '[{"a": 1}]'])
def test_a_file_of_no_format_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text, encoding="utf-8")
    assert format_of(tmp_path / "x") is None


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(UserError, match=r"unknown format 'hotpot'\. Did you mean hotpotqa"):
        format_by_name("hotpot")


@pytest.mark.parametrize(
    ("format", "change", "answers", "level", "visible"),
    [
        ("copen-csj", {}, ["Alan Turing"], "KU", "Ada Byron: Ostholm, Alan Turing?"),
        ("copen-cpj", {}, ["false"], "KU", "lighthouses have lamps?"),
        ("copen-cic", {}, ["Writer"], "KU", "Agent, Person, Writer"),
        ("copen-cic", {"concept_chains": [], "candidates": ["Agent", "Writer"]}, ["Writer"], "KU", "Agent, Writer"),
        ("profiling", {}, ["Professor"], "KU", "Ada Byron - Staff - Sund University"),
        ("kqapro", {}, ["4"], "KA", "How many lighthouses"),
        ("musique", {}, ["Kingdom of Sund", "Sund"], "KA", "Of which country"),
        ("2wikimultihopqa", {"answer_id": None}, ["Ostholm"], "KA", "Which of the two"),
        ("soay", {"Answer": ["Sund", "Varn"]}, ["Sund;Varn"], "KA", "Where does Ada Byron of Sund work?"),
    ],
)
def test_a_record_becomes_a_question(
    write: Write, format: str, change: dict[str, Any], answers: list[str], level: str, visible: str
) -> None:
    question = only(load(write("x.json", [{**RECORDS[format], **change}]), format))
    assert (question.answers, question.level) == (answers, level)
    assert visible in question.question


# Multi-hop questions


def test_hotpotqa_keeps_all_that_is_known_of_a_question(write: Write) -> None:
    question = only(load(write("h.json", [HOTPOT]), "hotpotqa"))
    assert (question.id, question.question, question.answers) == (HOTPOT["_id"], HOTPOT["question"], ["Ostholm"])
    assert question.evidence == []
    assert question.context == [
        Document(title="Bakkaroy (Norway)", text="It is 12 m tall. It is red."),
        Document(title="Ostholm", text="It is old. It is 30 m tall."),
    ]
    assert (question.meta["type"], question.meta["difficulty"]) == ("comparison", "medium")
    assert [list(fact) for fact in question.meta["supporting_facts"]] == HOTPOT["supporting_facts"]


@pytest.mark.parametrize("answer", ["yes", "No", "7"])
def test_an_answer_that_is_in_any_text_rests_on_the_pages_names(write: Write, answer: str) -> None:
    question = only(load(write("h.json", [{**HOTPOT, "answer": answer}]), "hotpotqa"))
    assert question.evidence == ["Bakkaroy", "Ostholm"]


def test_2wiki_takes_the_aliases_of_its_answers_from_their_own_file(write: Write) -> None:
    aliases = write("aliases.json", [{"Q_id": "Q2", "aliases": ["Ostholm Light"], "demonyms": []}])
    question = only(load(write("w.json", [TWO_WIKI]), "2wikimultihopqa", settings={"aliases": str(aliases)}))
    assert (question.answers, question.meta["triples"]) == (["Ostholm", "Ostholm Light"], TWO_WIKI["evidences"])


def test_musique_unanswerable_twins_are_left_out_and_counted(write: Write) -> None:
    twin = {**MUSIQUE, "answerable": False}
    data = load(write("m.jsonl", [twin, MUSIQUE, {**twin, "id": "3hop1__1_2_3"}]), "musique")
    assert (only(data).meta["hops"], data.records, data.skipped) == (2, 3, {"unanswerable": 2})


# KoLA and SoAyBench


@pytest.mark.parametrize(("name", "level"), [("1-1_a.json", "KS"), ("2-3_a.json", "KU"), ("3-4_a.json", "KA")])
def test_kola_has_the_level_of_its_name_and_no_demonstrations(write: Write, name: str, level: str) -> None:
    text = "Q: Where is Lund?\nA: It is here. So the answer is: here.\nQ: Where is Ostholm? \nA: "
    references = [{"output": {"text": "Sund"}, "tags": ["correct"]}]
    state = {"instance": {"input": {"text": text}, "references": references, "split": "test", "id": "id1295"}}
    question = only(load(write(name, {"adapter_spec": {}, "request_states": [state]}), "kola"))
    assert (question.question, question.level) == ("Where is Ostholm?", level)


def test_easy_are_the_templates_of_one_call_and_the_eighth_is_one_of_them(write: Write) -> None:
    for number in (1, 8, 9):
        write(f"soay/{number}.jsonl", [{**SOAY, "Query_en": f"Question {number}-{n}?"} for n in range(2)])
    folder = write("soay/readme.txt", "").parent
    data = load(folder, "soay", settings={"difficulty": "easy"})
    assert {q.meta["template"] for q in data.questions} == {1, 8}
    assert data.skipped == {"not easy": 2}


def test_soay_comes_in_chinese_and_without_records_that_lack_an_answer(write: Write) -> None:
    data = load(write("1.jsonl", [SOAY, {**SOAY, "Answer": ""}]), "soay", settings={"language": "zh"})
    assert (only(data).question, data.skipped) == (SOAY["Query"], {"without an answer": 1})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.0, "12"),
        ({"info": {"name": "KDD"}, "issue": "", "volume": ""}, "KDD"),
        ([{"name": "Ada Byron", "interest": ["logic"]}, {"name": "Alan Turing"}], "Ada Byron;Alan Turing"),
        (["", None, {}], ""),
    ],
)
def test_an_answer_that_is_no_text_becomes_one(value: Any, text: str) -> None:
    assert answer_of(value) == text
