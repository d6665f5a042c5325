"""Documents come from files as people have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.environments.corpus import sources
from r_eval.environments.corpus.sources import SourceDocument, read_documents
from r_eval.errors import UserError
from tests.environments.conftest import json_lines


def test_json_lines_give_id_text_and_title_without_control_characters(tmp_path: Path) -> None:
    odd = '{"id": "c\\u001b", "text": "Re\\u001b[31md\\ttab\\u202e \\ud800"}'
    lines = {"id": "a", "text": "One.", "title": "T", "more": [1]}, "", {"id": 7, "text": "二"}, odd
    expected = [SourceDocument("a", "One.", "T"), SourceDocument("7", "二"), SourceDocument("c", "Red\ttab \ufffd")]
    assert list(read_documents(json_lines(tmp_path / "d.jsonl", *lines))) == expected


def test_a_line_of_a_text_is_a_document_whose_id_follows_its_text(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_bytes("\ufeffOne\u2028still one.\r\n\r\nRe\x1b[31md\r\n".encode())
    before = list(read_documents(str(path)))
    assert [document.text for document in before] == ["One\u2028still one.", "Red"]
    assert [document.id.rpartition("-")[0] for document in before] == ["d.txt:1", "d.txt:3"]
    path.write_bytes("\ufeffOne\u2028still one.\r\n\r\nTwo!\r\n".encode())
    after = list(read_documents(str(path)))
    assert (before[0] == after[0], before[1].id == after[1].id) == (True, False)


def test_a_folder_holds_a_document_a_file_or_files_of_many(tmp_path: Path) -> None:
    json_lines(tmp_path / "b.txt", "One.", "Still one.")
    json_lines(tmp_path / "a" / "Z.MD", "# Two")
    json_lines(tmp_path / "c.pdf", "no")
    json_lines(tmp_path / ".git" / "x.txt", "no")
    assert list(read_documents(str(tmp_path))) == [
        SourceDocument("a/Z.MD", "# Two"),
        SourceDocument("b.txt", "One.\nStill one."),
    ]
    names = ("documents_dup_part_1_part_1", "documents_hallu.txt_part_1")  # as CRUD-RAG publishes them
    many = [json_lines(tmp_path / "many" / name, f"{name} 一。", f"{name} 二。") for name in names]
    json_lines(tmp_path / "many" / "more.jsonl", {"id": 1, "text": "三。"})
    assert [d.text[-2:] for d in read_documents(str(tmp_path / "many"))] == ["一。", "二。", "一。", "二。", "三。"]
    assert [d.text.split()[0] for d in read_documents(many[::-1])] == [names[1], names[1], names[0], names[0]]


def test_an_embedded_set_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    json_lines(tmp_path / "mini.jsonl", {"id": "m", "text": "Mini."})
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    assert list(read_documents("mini")) == [SourceDocument("m", "Mini.")]
    with pytest.raises(UserError, match="Did you mean mini"):
        list(read_documents("minni"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.txt", "One.\nZwölf.\n".encode("latin-1"), r"d\.txt:2: not UTF-8 .*byte 3"),
        ("d.txt", b"\n \n", "there are no documents"),
        ("d.json", b"[]", r"d\.json: documents are read from \.jsonl"),
        ("d.txt", None, "no such file or folder"),
        ("", None, "there are no documents"),
    ],
)
def test_what_cannot_be_read_is_the_persons_error(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(read_documents(str(tmp_path / name)))
