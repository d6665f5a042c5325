"""Documents come from files as people have them, and a wrong line is told with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r_eval.environments.corpus import sources
from r_eval.environments.corpus.sources import Document, read_documents
from r_eval.errors import UserError


def written(path: Path, *lines: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(path)


def test_json_lines_give_id_text_and_title(tmp_path: Path) -> None:
    source = written(
        tmp_path / "d.jsonl", {"id": "a", "text": "One.", "title": "T", "more": [1]}, "", {"id": 7, "text": "二"}
    )
    assert list(read_documents(source)) == [Document("a", "One.", "T"), Document("7", "二")]


def test_a_line_of_a_text_is_a_document(tmp_path: Path) -> None:
    found = list(read_documents(written(tmp_path / "d.txt", "One.", "", "Two.")))
    assert [document.text for document in found] == ["One.", "Two."]
    assert [document.id.rpartition("-")[0] for document in found] == ["d.txt:1", "d.txt:3"]


def test_an_edited_line_gets_another_id_and_the_others_keep_theirs(tmp_path: Path) -> None:
    before = [d.id for d in read_documents(written(tmp_path / "d.txt", "One.", "Two."))]
    after = [d.id for d in read_documents(written(tmp_path / "d.txt", "One.", "Two!"))]
    assert before[0] == after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize("name", ["documents_dup_part_1_part_1", "documents_hallu.txt_part_1"])
def test_the_files_of_crud_rag_are_read_by_their_names(tmp_path: Path, name: str) -> None:
    assert len(list(read_documents(written(tmp_path / name, "一。", "二。")))) == 2


def test_control_characters_are_left_out_and_halves_of_characters_become_a_sign(tmp_path: Path) -> None:
    line = '{"id": "a\\u001b", "text": "Re\\u001b[31md\\ttab\\u202e \\ud800"}'
    assert list(read_documents(written(tmp_path / "d.jsonl", line))) == [Document("a", "Red\ttab \ufffd")]
    written(tmp_path / "d.txt", "Re\x1b[31md")
    assert [d.text for d in read_documents(str(tmp_path / "d.txt"))] == ["Red"]


def test_a_byte_order_mark_and_carriage_returns_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_bytes(b"\xef\xbb\xbfOne.\r\nTwo.\r\n")
    assert [d.text for d in read_documents(str(tmp_path / "d.txt"))] == ["One.", "Two."]


def test_a_line_separator_of_unicode_ends_no_line(tmp_path: Path) -> None:
    assert len(list(read_documents(written(tmp_path / "d.txt", "One\u2028still one\x85and one")))) == 1


def test_a_folder_holds_a_document_a_file(tmp_path: Path) -> None:
    written(tmp_path / "b.txt", "One.", "Still one.")
    written(tmp_path / "a" / "z.md", "# Two")
    written(tmp_path / "c.pdf", "no")
    written(tmp_path / ".git" / "x.txt", "no")
    assert list(read_documents(str(tmp_path))) == [Document("a/z.md", "# Two"), Document("b.txt", "One.\nStill one.")]


def test_a_folder_may_hold_files_of_many_documents(tmp_path: Path) -> None:
    written(tmp_path / "documents_dup_part_1_part_1", "一。", "二。")
    written(tmp_path / "more.jsonl", {"id": 1, "text": "三。"})
    assert [d.text for d in read_documents(str(tmp_path))] == ["一。", "二。", "三。"]


def test_a_list_is_read_in_its_order(tmp_path: Path) -> None:
    sources = [written(tmp_path / "b.txt", "B"), written(tmp_path / "a.jsonl", {"id": "x", "text": "A"})]
    assert [d.text for d in read_documents(sources)] == ["B", "A"]


def test_an_embedded_set_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "mini.jsonl", {"id": "m", "text": "Mini."})
    monkeypatch.setattr(sources, "FOLDER", tmp_path)
    assert list(read_documents("mini")) == [Document("m", "Mini.")]
    with pytest.raises(UserError, match="Did you mean mini"):
        list(read_documents("minni"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ("[1]", "the line: "),
        ('{"text": "x"}', "id: Field required"),
        ('{"id": true, "text": "x"}', "id.*must be a text, not True"),
        ('{"id": "a\\nb", "text": "x"}', "must be one line"),
        ('{"id": " ", "text": "x"}', "must be one line"),
        ('{"id": 1, "text": " "}', "the text is empty"),
        ('{"id": 1, "text": 5}', "text: must be a text, not 5"),
        ('{"id": 1, "text": "x", "title": []}', "title: must be a text, not "),
        ('{"id": "0", "text": "again"}', "duplicate id '0'"),
    ],
)
def test_a_wrong_line_is_told_with_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    source = written(tmp_path / "d.jsonl", {"id": "0", "text": "Right."}, line)
    with pytest.raises(UserError, match=r"d\.jsonl:2: .*" + said):
        list(read_documents(source))


def test_what_is_no_utf_8_is_told_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_bytes(b"One.\n" + "Zwölf.\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"d\.txt:2: not UTF-8 .*byte 3"):
        list(read_documents(str(tmp_path / "d.txt")))


def test_no_documents_at_all_are_a_mistake(tmp_path: Path) -> None:
    for source in (written(tmp_path / "d.txt", "", " "), str(tmp_path / "none")):
        Path(tmp_path / "none").mkdir(exist_ok=True)
        with pytest.raises(UserError, match="there are no documents"):
            list(read_documents(source))
    with pytest.raises(UserError, match="there are no documents"):
        list(read_documents([]))


@pytest.mark.parametrize(("name", "said"), [("x.txt", "no such file or folder"), ("nothing", "unknown embedded set")])
def test_a_file_that_is_not_there_is_told(name: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        list(read_documents(name))


def test_another_kind_of_file_is_refused_when_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"d\.json: documents are read from \.jsonl"):
        list(read_documents(written(tmp_path / "d.json", "[]")))
