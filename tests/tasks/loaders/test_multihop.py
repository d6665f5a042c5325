"""HotpotQA, 2WikiMultihopQA and MuSiQue in the forms in which they are published."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.records import Document, Question
from r_eval.tasks.loaders import Data, load
from tests.tasks.loaders.conftest import Write

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
    "entity_ids": "Q1_Q2",
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


def only(data: Data) -> Question:
    (question,) = data.questions
    return question


def test_hotpotqa_keeps_all_that_is_known_of_a_question(as_list: Write) -> None:
    question = only(load(as_list("h.json", [HOTPOT]), "hotpotqa"))
    assert (question.id, question.question, question.answers) == (HOTPOT["_id"], HOTPOT["question"], ["Ostholm"])
    assert (question.level, question.evidence) == ("KA", [])
    assert question.context == [
        Document(title="Bakkaroy (Norway)", text="It is 12 m tall. It is red."),
        Document(title="Ostholm", text="It is old. It is 30 m tall."),
    ]
    assert (question.meta["type"], question.meta["difficulty"]) == ("comparison", "medium")
    assert [list(fact) for fact in question.meta["supporting_facts"]] == HOTPOT["supporting_facts"]


@pytest.mark.parametrize("left_out", [(), ("entity_ids", "answer_id")])
def test_2wiki_of_either_release_keeps_its_triples(as_list: Write, left_out: tuple[str, ...]) -> None:
    record = {key: value for key, value in TWO_WIKI.items() if key not in left_out}
    question = only(load(as_list("w.json", [record]), "2wikimultihopqa"))
    assert (question.answers, question.meta["triples"]) == (["Ostholm"], TWO_WIKI["evidences"])


@pytest.mark.parametrize("answer", ["yes", "No", "7"])
def test_an_answer_that_is_in_any_text_rests_on_the_pages_names(as_list: Write, answer: str) -> None:
    question = only(load(as_list("h.json", [{**HOTPOT, "answer": answer}]), "hotpotqa"))
    assert question.evidence == ["Bakkaroy", "Ostholm"]


def test_2wiki_takes_the_aliases_of_its_answers_from_their_own_file(as_list: Write, as_lines: Write) -> None:
    aliases = as_lines("aliases.json", [{"Q_id": "Q2", "aliases": ["Ostholm Light"], "demonyms": []}])
    data = load(as_list("w.json", [TWO_WIKI]), "2wikimultihopqa", settings={"aliases": str(aliases)})
    assert only(data).answers == ["Ostholm", "Ostholm Light"]


def test_musique_unanswerable_twins_are_left_out_and_counted(as_lines: Write) -> None:
    twin = {**MUSIQUE, "answerable": False}
    data = load(as_lines("m.jsonl", [twin, MUSIQUE, {**twin, "id": "3hop1__1_2_3"}]), "musique")
    question = only(data)
    assert (question.id, question.answers, question.meta["hops"]) == (MUSIQUE["id"], ["Kingdom of Sund", "Sund"], 2)
    assert (data.records, data.skipped) == (3, {"unanswerable": 2})
