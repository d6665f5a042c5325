"""KQA Pro, COPEN, KoLA and profiling in the forms in which they are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.records import Question
from r_eval.tasks.loaders import load
from tests.tasks.loaders.conftest import Write

KQA: dict[str, Any] = {
    "question": "How many lighthouses of Sund are taller than 20 metres?",
    "choices": ["3", "4", "5"],
    "program": [{"function": "FindAll", "dependencies": [], "inputs": []}],
    "sparql": "SELECT ?x",
    "answer": "4",
}
CSJ: dict[str, Any] = {
    "query": {"id": "Q1", "name": "Ada Byron"},
    "candidates": [{"id": "Q2", "name": "Ostholm"}, {"id": "Q3", "name": "Alan Turing"}],
    "label": "Q3",
}
CPJ: dict[str, Any] = {"text": "lighthouses have lamps.", "concept": {"name": "lighthouse", "pos": [0, 1]}, "label": 1}
CIC: dict[str, Any] = {
    "sentence": "Ada Byron wrote notes on the engine.",
    "entity": {"name": "Ada Byron", "pos": [0, 9]},
    "concept_chains": [["dbo_Agent", "dbo_Person"], ["dbo_Agent", "dbo_Writer"]],
    "label": "12_Writer",
}
PROFILE: dict[str, Any] = {
    "title_text": "Ada Byron - Staff - Sund University",
    "org": "Sund University",
    "name": "Ada Byron",
    "title": "Professor(Emeritus)",
}


def one(path: Path, format: str) -> Question:
    (question,) = load(path, format).questions
    return question


PLAIN = {**{k: v for k, v in CIC.items() if k != "concept_chains"}, "candidates": ["Agent", "Writer"]}


@pytest.mark.parametrize(
    ("format", "record", "gold", "shown"),
    [
        ("copen-csj", CSJ, "Alan Turing", ["Ada Byron", "Ostholm", "Alan Turing"]),
        ("copen-cpj", {**CPJ, "label": 0}, "false", ["lighthouses have lamps?"]),
        ("copen-cic", CIC, "Writer", ["Agent, Person, Writer"]),
        ("copen-cic", PLAIN, "Writer", ["Agent", "Writer"]),
        ("profiling", PROFILE, "Professor", [PROFILE["title_text"]]),
    ],
)
def test_a_question_of_understanding_shows_its_choices(
    as_list: Write, format: str, record: dict[str, Any], gold: str, shown: list[str]
) -> None:
    question = one(as_list("c.json", [record]), format)
    assert (question.answers, question.level) == ([gold], "KU")
    assert [text for text in shown if text not in question.question] == []


def kola(path: Path, *texts: str, answer: str = "Sund;Varn", id: str = "id1295") -> Path:
    states = [
        {
            "instance": {
                "input": {"text": text},
                "references": [{"output": {"text": answer}, "tags": ["correct"]}],
                "split": "test",
                "id": id,
            },
            "request": {},
        }
        for text in texts
    ]
    path.write_text(
        json.dumps({"adapter_spec": {"max_tokens": 64}, "request_states": states}, indent=4), encoding="utf-8"
    )
    return path


def test_kola_demonstrations_in_front_of_the_question_are_cut_off(tmp_path: Path) -> None:
    text = "Q: Where is Lund?\nA: It is here. So the answer is: here.\nQ: Where is Ostholm? \nA: "
    assert one(kola(tmp_path / "k.json", text), "kola").question == "Where is Ostholm?"


@pytest.mark.parametrize(("name", "level"), [("1-1_a.json", "KS"), ("2-3_a.json", "KU"), ("3-4_a.json", "KA")])
def test_kola_level_is_that_of_the_files_name(tmp_path: Path, name: str, level: str) -> None:
    assert one(kola(tmp_path / name, "Where is Ostholm?"), "kola").level == level
