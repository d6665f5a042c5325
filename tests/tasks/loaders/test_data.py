"""Data sets as a whole: what is counted, what is put up with, and what is said of a file that is another."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import load
from r_eval.tasks.questions import in_order
from tests.tasks.loaders.conftest import Write


def row(number: int, **changes: Any) -> dict[str, Any]:
    return {"id": str(number), "question": f"What is {number}?", "answer": "it", **changes}


def test_a_sample_holds_the_questions_that_the_seed_puts_first(write: Write) -> None:
    path = write("q.jsonl", [row(n) for n in range(40)])
    first = in_order(load(path, "jsonl").questions, seed=7)[:5]
    assert in_order(load(path, "jsonl", samples=5, seed=7).questions, seed=7) == first


def test_broken_records_are_counted_and_the_first_is_shown_with_its_line(write: Write) -> None:
    path = write("q.jsonl", [row(0), row(1, answer=""), *(row(n) for n in range(2, 200))])
    data = load(path, "jsonl")
    assert (data.records, data.n_broken) == (200, 1)
    assert data.notes() == f"1 of 200 records are broken and not used, such as {path}:2: answers: is empty"


def test_more_broken_records_than_allowed_are_an_error_that_shows_the_first(write: Write) -> None:
    path = write("q.jsonl", [row(0), *(row(n, answer="") for n in range(1, 6)), *(row(n) for n in range(6, 100))])
    with pytest.raises(UserError) as raised:
        load(path, "jsonl")
    text = str(raised.value)
    assert text.startswith(f"{path}: 5 of 100 records are broken, more than broken: 0.01 allows: {path}:2: ")
    assert f"{path}:4: " in text
    assert f"{path}:5: " not in text


def test_a_file_of_another_format_is_told_by_what_it_is(write: Write) -> None:
    path = write("h.json", [{"question": "What?", "answer": "it", "type": "bridge"}])
    with pytest.raises(UserError, match=r"h\.json: expected MuSiQue: .*; found a file of the format 'hotpotqa'"):
        load(path, "musique")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", r"holds no question \(it holds no record\)"),
        (b"{}", "expected MuSiQue: .*id is missing"),
        (b'[{"a": 1, "b": 2}]', r"expected MuSiQue: .*; found records with the keys a, b"),
        (gzip.compress(b"[]", mtime=0), r"x\.json: is packed \(gzip\); unpack it first"),
        ('[{"question": "Où?"}]'.encode("latin-1"), "not UTF-8 text; save the file in UTF-8"),
    ],
)
def test_a_file_without_records_is_told_by_what_it_is(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(UserError, match=said):
        load(tmp_path / "x.json", "musique")


def test_a_question_that_no_file_can_hold_is_broken(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(
        '{"question": "\\ud800?", "answer": "it"}\n{"question": "b?", "answer": "it"}\n', encoding="utf-8"
    )
    assert load(tmp_path / "q.jsonl", "jsonl", broken=0.5).n_broken == 1
