"""Documents, and files of triples."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.errors import UserError
from r_eval.tasks.graphs.documents import chunks, read_documents
from r_eval.tasks.graphs.tables import Row, read_triples, write_triples

words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


def test_a_text_file_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "oslo.txt").write_text("Oslo lies in Norway.", encoding="utf-8")
    ((key, document),) = read_documents(tmp_path / "oslo.txt")
    assert (key, document.title, document.text) == ("oslo.txt", "oslo", "Oslo lies in Norway.")


def test_a_folder_holds_a_document_a_file(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c.txt", "b/a.md", "x.png"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    assert [key for key, _ in read_documents(tmp_path)] == ["b/a.md", "c.txt"]


def test_json_lines_hold_a_document_a_line(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": 7, "text": "a"}\n\n{"title": "T", "text": "b"}\n', encoding="utf-8")
    assert [(k, d.title, d.text) for k, d in read_documents(tmp_path / "d.jsonl")] == [("7", "7", "a"), ("T", "T", "b")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "d.jsonl:1: not valid JSON"),
        ('{"id": 1}', "d.jsonl:1: expected an object with a 'text'"),
        ('{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}', "d.jsonl:2: the document id '1' stands twice"),
        ("", "holds no document"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "d.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        list(read_documents(tmp_path / "d.jsonl"))


@given(st.text(alphabet="ab. \n", max_size=300), st.integers(1, 40))
def test_parts_hold_the_whole_text_and_are_short(text: str, longest: int) -> None:
    parts = chunks(text, longest)
    assert all(len(part) <= longest for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_text_is_parted_between_sentences() -> None:
    assert chunks("One two. Three four. Five.", 21) == ["One two. Three four.", "Five."]


@given(st.lists(st.builds(Row, st.tuples(words, words, words), words, st.tuples(words, words, words)), max_size=5))
def test_triples_are_read_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("triples") / "t.tsv"
    write_triples(path, rows)
    assert list(read_triples(path)) == rows


def test_three_columns_are_enough(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("object\tsubject\trelation\nOslo\tNorway\tcapital\n", encoding="utf-8")
    assert list(read_triples(tmp_path / "t.tsv")) == [Row(("Norway", "capital", "Oslo"))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Norway\tcapital\tOslo\n", "t.tsv:1: no column subject, relation, object"),
        ("subject\trelation\tobject\nNorway\tcapital\n", "t.tsv:2: 2 cells, and 3 columns"),
        ("subject\trelation\tobject\nNorway\t\tOslo\n", "t.tsv:2: an empty subject"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        list(read_triples(tmp_path / "t.tsv"))
