"""Records of JSON lists, JSON Lines and CSV, each with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import load, reading
from r_eval.tasks.loaders.reading import InvalidRecord, json_members, records


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.tsv"


def test_a_line_that_is_not_json_is_a_fault_and_the_next_is_read(path: Path) -> None:
    path.write_bytes(b'{"a": 1}\n{"a": \n{"a": 3}\n{"a": "\xff"}\n{"a":' + b"[" * 200_000 + b"\n")
    found = list(records(path))
    assert [isinstance(data, InvalidRecord) for _, data in found] == [False, True, False, False, True]
    assert (found[1][0], str(found[1][1])[:14]) == (f"{path}:2", "not valid JSON")
    assert found[2] == (f"{path}:3", {"a": 3})


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_of_a_table_is_told_from_its_heading(path: Path, delimiter: str) -> None:
    path.write_text(f'question{delimiter}answer\n"a, b; c\n d"{delimiter}2\n', encoding="utf-8")
    assert [data for _, data in records(path)] == [{"question": "a, b; c\n d", "answer": "2"}]


def test_a_table_in_another_encoding_says_how_to_save_it(path: Path) -> None:
    path.write_bytes("question,answer\nWie heißt es?,Köln\n".encode("cp1252"))
    with pytest.raises(UserError, match="not UTF-8 text; save the file in UTF-8"):
        load(path)


def test_a_large_file_is_read_through_ijson_with_the_same_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ijson")
    rows = [{"a": 1, "b": [1.5, "北"]}, {"a": None}]
    for value, read in [
        (rows, lambda: records(path)),
        ({"x": 1, "in": rows}, lambda: records(path, "in")),
        ({"x": rows, "y": rows}, lambda: json_members(path)),
    ]:
        path.write_text(json.dumps(value), encoding="utf-8-sig")
        monkeypatch.setattr(reading, "WHOLE", 500)
        whole = list(read())
        monkeypatch.setattr(reading, "WHOLE", 5)
        assert list(read()) == whole != []
    path.write_text('[{"a": 1}, {"a":', encoding="utf-8")
    with pytest.raises(UserError, match="not valid JSON"):
        list(records(path))


def test_a_parquet_file_is_read_by_the_same_key_as_the_others(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    rows = [{"question": f"Où {n}?", "answers": ["là", "ici"]} for n in range(3)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "q.parquet")
    data = load(tmp_path / "q.parquet")
    assert [(q.question, q.answers) for q in data.questions] == [(row["question"], row["answers"]) for row in rows]
    (tmp_path / "q.parquet").write_bytes((tmp_path / "q.parquet").read_bytes()[:-9])
    with pytest.raises(UserError, match="not valid Parquet"):
        load(tmp_path / "q.parquet", "jsonl")
