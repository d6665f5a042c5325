"""CRUD-RAG's published tasks, in files of its form with every fault that they are known to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.records import Question
from r_eval.tasks.loaders import load
from r_eval.tasks.loaders.crud_rag import EMPTY, LEAKED, TWICE, is_error_message
from tests.tasks.loaders.conftest import Write, only

EVENT = {"ID": "a1", "event": "青禾大桥通车", "text": "青禾大桥今日通车。", "summary": "大桥通车。"}
BEGINNING = {"ID": "a1", "event": "青禾大桥通车", "beginning": "青禾大桥今日通车。", "continuing": "桥长两公里。"}
ONE = {"ID": "a1", "event": "青禾大桥通车", "news1": "桥长两公里。", "questions": "桥有多长？", "answers": "两公里"}
TWO = {**ONE, "news2": "耗资三亿。", "questions": "桥长和造价？", "answers": "两公里，三亿", "thoughts": "先看桥长。"}
THREE = {**TWO, "news3": "历时四年。", "questions": "桥长、造价和工期？", "answers": "两公里，三亿，四年"}
HALLU = {
    "ID": "h1",
    "headLine": "大桥通车",
    "type": "num",
    "newsBeginning": "青禾大桥今日通车。",
    "hallucinatedContinuation": "桥长九公里。",
    "realContinuation": "桥长两公里。",
    "hallucinatedMod": "桥长两公里，并非九公里。",
    "allKeywords": {"九公里": "不合理"},
}
KEYS = {
    "event_summary": EVENT,
    "continuing_writing": BEGINNING,
    "hallu_modified": HALLU,
    "questanswer_1doc": ONE,
    "questanswer_2docs": TWO,
    "questanswer_3docs": THREE,
}


@pytest.fixture
def whole(write: Write) -> Path:
    """One record of every list, as published."""
    return write("split_merged.json", {key: [record] for key, record in KEYS.items()})


def of(path: Path, task: str) -> Question:
    return only(load(path, "crud-rag", settings={"task": task}))


@pytest.mark.parametrize(
    ("task", "question", "answer"),
    [
        ("event_summary", "青禾大桥通车", "大桥通车。"),
        ("continuing_writing", "青禾大桥今日通车。", "桥长两公里。"),
        ("questanswer_1doc", "桥有多长？", "两公里"),
        ("questanswer_2docs", "桥长和造价？", "两公里，三亿"),
        ("questanswer_3docs", "桥长、造价和工期？", "两公里，三亿，四年"),
    ],
)
def test_a_task_asks_its_own_list(whole: Path, task: str, question: str, answer: str) -> None:
    found = of(whole, task)
    assert (found.question, found.answers, found.query) == (question, [answer], "")


def test_a_continuation_to_correct_is_asked_with_its_beginning_and_looked_up_by_the_beginning(whole: Path) -> None:
    found = of(whole, "hallu_modified")
    assert found.query == HALLU["newsBeginning"]
    assert found.question == "报道开头: 青禾大桥今日通车。\n\n待改正的续写: 桥长九公里。"
    assert found.answers == ["桥长两公里，并非九公里。"]
    assert found.meta["type"] == "num"
    three = of(whole, "questanswer_3docs")
    assert (three.meta["sources"], three.context) == (["桥长两公里。", "耗资三亿。", "历时四年。"], [])
    assert "先看桥长" not in three.model_dump_json(), "thoughts give the answer away"


@pytest.mark.parametrize(
    ("key", "change", "why"),
    [
        ("continuing_writing", {"continuing": " \n"}, EMPTY),
        ("hallu_modified", {"hallucinatedMod": '{"code": 502, "msg": "upstream is gone"}'}, LEAKED),
        ("questanswer_2docs", {"ID": "a2"}, TWICE),
        ("questanswer_2docs", {"answers": "别的"}, "duplicate id"),
    ],
)
def test_a_record_that_makes_no_question_is_left_out_and_counted(
    write: Write, key: str, change: dict[str, Any], why: str
) -> None:
    data = load(write("x.json", {key: [KEYS[key], {**KEYS[key], **change}]}), "crud-rag")
    assert (data.n_questions, data.records, data.skipped) == (1, 2, {why: 1})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"questions": None}, "questions: must be a text"),
        ({"questions": " "}, "questions: is empty"),
        ({"ID": None}, "ID"),
    ],
)
def test_a_broken_record_is_named_with_its_list_and_number(write: Write, change: dict[str, Any], why: str) -> None:
    path = write("x.json", {"questanswer_1doc": [ONE, {**ONE, **change}]})
    data = load(path, "crud-rag", broken=1)
    assert data.faults[0].place == f"{path}: questanswer_1doc, record 2"
    assert data.faults[0].reason.startswith(why)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"error": {"message": "quota used up", "type": "x"}}', True),
        ("Error code: 429 - {'error': {'message': 'slow down'}}", True),
        ("<html><head><title>504</title></head></html>", True),
        ("This model's maximum context length is 4096 tokens.", True),
        ("记者从现场获悉，错误代码已经排除，502户居民恢复供电。", False),
        ('{"summary": "大桥通车"}', False),
    ],
)
def test_the_error_message_of_an_api_is_known(text: str, expected: bool) -> None:
    assert is_error_message(text) is expected
