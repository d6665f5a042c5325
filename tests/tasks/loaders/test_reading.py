"""Records of JSON lists, JSON Lines and CSV, each with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import reading
from r_eval.tasks.loaders.reading import Fault, NotThisForm, Record, csv_records, json_members, json_records, lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_a_list_and_lines_give_the_same_records(path: Path, tmp_path: Path) -> None:
    path.write_text('[{"a": 1},\n {"a": 2}]', encoding="utf-8")
    (tmp_path / "lines").write_text('{"a": 1}\n\n{"a": 2}\n', encoding="utf-8")
    found = [[r.data for r in json_records(p) if isinstance(r, Record)] for p in (path, tmp_path / "lines")]
    assert found[0] == found[1] == [{"a": 1}, {"a": 2}]


def test_a_record_of_a_list_has_its_line_and_number(path: Path) -> None:
    path.write_text('[{"a": 1},\n {"a": 2}]', encoding="utf-8")
    assert [r.place for r in json_records(path)] == [f"{path}:1: record 1", f"{path}:2: record 2"]


def test_a_line_that_is_not_json_is_a_fault_and_the_next_is_read(path: Path) -> None:
    path.write_text('{"a": 1}\n{"a": \n{"a": 3}\n', encoding="utf-8")
    found = list(json_records(path))
    assert isinstance(found[1], Fault)
    assert str(found[1]).startswith(f"{path}:2: not valid JSON")
    assert found[2] == Record(f"{path}:3", {"a": 3})


def test_a_line_nested_too_deeply_is_a_fault(path: Path) -> None:
    path.write_text('{"a":' + "[" * 200_000 + "\n", encoding="utf-8")
    assert isinstance(next(json_records(path)), Fault)


def test_a_line_that_is_not_utf8_is_a_fault(path: Path) -> None:
    path.write_bytes(b'{"a": "\xff"}\n{"a": 2}\n')
    found = list(json_records(path))
    assert isinstance(found[0], Fault)
    assert isinstance(found[1], Record)


def test_a_line_longer_than_the_bound_is_a_fault_and_is_passed_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST", 16)
    path.write_text("x" * 100 + "\nshort\n", encoding="utf-8")
    found = list(lines(path))
    assert isinstance(found[0][1], Fault)
    assert found[1] == (f"{path}:2", "short\n")


def test_a_list_that_is_cut_off_is_an_error_with_its_line(path: Path) -> None:
    path.write_text('[{"a": 1},\n {"a": ', encoding="utf-8")
    with pytest.raises(NotThisForm, match=r"data:2: not valid JSON"):
        list(json_records(path))


def test_the_list_inside_an_object_is_read(path: Path) -> None:
    path.write_text('{"head": {"x": [1]},\n "rows": [{"a": 1}], "tail": 0}', encoding="utf-8")
    assert [r.data for r in json_records(path, inside="rows") if isinstance(r, Record)] == [{"a": 1}]


def test_the_members_of_an_object_are_read(path: Path) -> None:
    path.write_text('{"a": {"x": 1}, "b": 2}', encoding="utf-8")
    assert [r.data for r in json_members(path)] == [("a", {"x": 1}), ("b", 2)]


def test_a_byte_order_mark_is_passed_over(path: Path) -> None:
    for text in ('[{"a": 1}]', '{"a": 1}\n'):
        path.write_text(text, encoding="utf-8-sig")
        assert [r.data for r in json_records(path) if isinstance(r, Record)] == [{"a": 1}]


def test_a_missing_file_is_an_error_for_people(path: Path) -> None:
    with pytest.raises(UserError, match="no such data file"):
        list(json_records(path))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_of_a_table_is_told_from_its_heading(path: Path, delimiter: str) -> None:
    path.write_text(f'question{delimiter}answer\n"a, b; c\n d"{delimiter}2\n', encoding="utf-8")
    assert [r.data for r in csv_records(path) if isinstance(r, Record)] == [{"question": "a, b; c\n d", "answer": "2"}]


def test_a_row_with_too_few_or_too_many_fields_is_a_fault(path: Path) -> None:
    path.write_text("a,b\n1\n1,2\n1,2,3\n", encoding="utf-8")
    found = list(csv_records(path))
    assert [isinstance(r, Fault) for r in found] == [True, False, True]
    assert found[0].place == f"{path}:2"


def test_a_table_that_is_not_text_is_an_error_for_people(path: Path) -> None:
    path.write_bytes(b"a,b\n\xff,\xff\n")
    with pytest.raises(UserError, match="not valid CSV"):
        list(csv_records(path))
