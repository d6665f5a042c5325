"""Question files: read whole or refused by line, and chosen the same way every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval import UserError
from r_eval.records import Question
from r_eval.tasks.base import custom, installed, matching
from r_eval.tasks.questions import choose, read_questions, write_questions

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
QUESTIONS = st.lists(
    st.builds(
        Question,
        id=TEXT,
        question=TEXT.filter(str.strip),
        answers=st.lists(TEXT.filter(str.strip), min_size=1, max_size=3),
        level=st.sampled_from(["KS", "KU", "KA"]),
        program=st.none() | TEXT,
        evidence=st.lists(TEXT, max_size=2),
        meta=st.dictionaries(TEXT, TEXT | st.integers(-5, 5), max_size=2),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda q: q.id,
)


def question(number: int, text: str | None = None) -> Question:
    return Question(id=f"q{number}", question=text or f"Question {number}?", answers=[str(number)], level="KS")


def many(count: int) -> list[Question]:
    return [question(n) for n in range(count)]


# Files


@given(QUESTIONS)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, questions: list[Question]) -> None:
    path = tmp_path_factory.getbasetemp() / "questions.jsonl"
    write_questions(path, questions)
    assert read_questions(path) == questions


def test_one_answer_may_be_a_text_and_fields_that_are_not_known_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "a", "question": "?", "answers": "1998"}', encoding="utf-8")
    (read,) = read_questions(tmp_path / "q.jsonl")
    assert (read.answers, read.level) == (["1998"], "KS")
    write_questions(tmp_path / "new" / "q.jsonl", [question(1)])
    line = json.loads((tmp_path / "new" / "q.jsonl").read_text(encoding="utf-8"))
    assert set(line) == {"id", "question", "answers", "level"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", r"q\.jsonl: holds no question"),
        (b"\xff\xfe", r"q\.jsonl:1: byte 0xff is not UTF-8"),
        (b'{"id": "a", "question": "?"}\n', r"q\.jsonl:1: the key answers is missing; a public question file has none"),
        (b'{"id": "a", "question": "?", "answers": "", "level": "KS"}', r"q\.jsonl:1: answers: an empty answer"),
        (b'{"id": "a", "question": "?", "answer": ["a"], "level": "KS"}', r"q\.jsonl:1: .*Did you mean answers\?"),
        (b"id,question,answer", r"q\.jsonl:1: not valid JSON .*data: FILE reads CSV"),
        (b"[" * 100_000, r"q\.jsonl:1: "),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else "",
)
def test_a_file_that_cannot_be_read_is_refused_by_its_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "q.jsonl").write_bytes(content)
    with pytest.raises(UserError, match=complaint) as raised:
        read_questions(tmp_path / "q.jsonl")
    assert "\n" not in str(raised.value)


# Choosing


@given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 5))
def test_fewer_samples_are_the_first_of_more(few: int, more: int, shots: int) -> None:
    shown = [question(100 + n) for n in range(5)]
    small, _ = choose(many(30), shown, 3, shots, few)
    large, _ = choose(many(30), shown, 3, shots, few + more)
    assert large[: len(small)] == small
    assert len(small) == min(few, 30)


def test_what_is_shown_is_not_asked_by_id_nor_by_text() -> None:
    shown = [question(3, "Other words?"), question(99, "Question 5?")]
    asked, chosen = choose(many(8), shown, 0, 2, None)
    assert {q.id for q in asked} == {f"q{n}" for n in (0, 1, 2, 4, 6, 7)}
    assert sorted(q.id for q in chosen) == ["q3", "q99"]


# Tasks


def task(**changes: Any) -> Any:
    questions = changes.pop("questions", many(2))
    return custom(changes.pop("name", "own"), questions, changes.pop("environment", "aminer"), changes.pop("shown", []))


def test_the_version_changes_with_all_that_is_asked_or_shown() -> None:
    versions = [
        task().version,
        task(environment="other").version,
        task(questions=many(3)).version,
        task(questions=[question(0), question(1, "Other words?")]).version,
        task(shown=[question(9)]).version,
    ]
    assert len(set(versions)) == len(versions)
    assert task().version == task(name="renamed").version == versions[0]


def test_a_glob_selects_tasks_in_the_order_of_their_ids() -> None:
    assert matching("aminer/*") == ["aminer/soay-easy", "aminer/profiling", "aminer/soay-hard"]
    ids = [installed(name).id for name in matching("*")]
    assert ids == sorted(ids)
    assert matching("aminer/soay-easy") == ["aminer/soay-easy"]
