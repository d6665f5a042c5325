"""Tables of questions, with columns that a person names."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import load
from tests.tasks.loaders.conftest import Write, only


@pytest.mark.parametrize(
    ("name", "content"), [("t.csv", "Q,A\nWhere?,here\n"), ("t.jsonl", '{"Q": "Where?", "A": "here"}')]
)
def test_a_file_whose_columns_are_named_needs_no_format(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert only(load(tmp_path / name, settings={"columns": {"question": "Q", "answers": "A"}})).answers == ["here"]


def test_a_column_that_is_not_there_is_named_with_those_that_are(write: Write) -> None:
    path = write("q.jsonl", [{"Q": "Where?", "answer": "here"}])
    with pytest.raises(UserError, match=r"q\.jsonl:1: has no column P; it has Q, answer"):
        load(path, "jsonl", settings={"columns": {"question": "P"}})


def test_a_level_that_is_none_of_ours_is_passed_over_unless_its_column_is_named(write: Write) -> None:
    path = write("q.jsonl", [{"id": "1", "question": "Where?", "answers": ["here"], "level": "hard"}])
    assert only(load(path, "jsonl", level="KS")).level == "KS"
    with pytest.raises(UserError, match="level: is none of KS, KU, KA"):
        load(path, "jsonl", settings={"columns": {"level": "level"}})


@pytest.mark.parametrize(
    ("cell", "answers"),
    [
        ("here", ["here"]),
        ('["here", "there"]', ["here", "there"]),
        ("['here', \"Ann's\", 3]", ["here", "Ann's", "3"]),
        ("['New York' \"Ann's\"\n 'there']", ["New York", "Ann's", "there"]),
        (r"['\d']", [r"\d"]),
        ("[x", ["[x"]),
        ("[Kenya] and ['x']", ["[Kenya] and ['x']"]),
        ("[0-9]", ["[0-9]"]),
        ("[" * 500, ["[" * 500]),
    ],
    ids=["a text", "JSON", "pandas", "numpy", "a backslash", "open", "brackets", "a pattern", "deep"],
)
def test_a_cell_of_csv_holds_one_answer_or_a_list_as_json_pandas_or_numpy_write_it(
    tmp_path: Path, cell: str, answers: list[str]
) -> None:
    quoted = '"' + cell.replace('"', '""') + '"'
    (tmp_path / "q.csv").write_text(f"question,answer\nWhere?,{quoted}\n", encoding="utf-8")
    assert only(load(tmp_path / "q.csv", "csv")).answers == answers


@pytest.mark.parametrize(
    "content",
    [
        "question, answer\nWhere?, here\n",
        "question,answer\nWhere?,here\n,\n",
        f"question,answer,text\nWhere?,here,{'x' * 200_000}\n",
    ],
    ids=["a space follows each comma", "an empty row", "a long cell"],
)
def test_a_table_is_read_as_spreadsheets_and_people_write_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "q.csv").write_text(content, encoding="utf-8")
    assert only(load(tmp_path / "q.csv")).answers == ["here"]


@pytest.mark.parametrize(("value", "answers"), [("1998.0", ["1998"]), ("true", ["yes"]), ("NaN", [])])
def test_a_number_of_pandas_is_written_as_people_write_it(tmp_path: Path, value: str, answers: list[str]) -> None:
    lines = '{"question": "When?", "answer": %s}\n{"question": "Who?", "answer": "Ann"}\n'
    (tmp_path / "q.jsonl").write_text(lines % value, encoding="utf-8")
    assert [q.answers for q in load(tmp_path / "q.jsonl", broken=0.5).questions] == [
        *([answers] if answers else []),
        ["Ann"],
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("squad.jsonl", '{"question": "Who?", "answers": {"text": ["a"]}}', r"columns: \(answers.text\)"),
        ("q.tsv", 'question\tanswer\n"Heroes" by whom?\tBowie\n', r"q\.tsv:2: not valid CSV"),
        ("q.json", '[{"question": "Who?"},]', r"q\.json:1: not valid JSON"),
        ("q.json", '{"question": "Who?"} {"question": "Whom?"}', r"q\.json:1: not valid JSON \(Extra data"),
        ("q.xlsx", "PK\x03\x04", "is a workbook; save it as CSV"),
    ],
)
def test_a_table_that_cannot_be_read_says_what_to_do(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        load(tmp_path / name)
