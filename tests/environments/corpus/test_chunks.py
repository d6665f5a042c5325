"""Chunks are on disk and come back by number as the slices that they are."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.corpus.chunks import Chunks, Fingerprint, write_chunks
from r_eval.environments.corpus.documents import Document
from r_eval.environments.corpus.splitting import split

DOCUMENTS = [
    Document("a", "第一句。 Second one. 👩‍🔬 Third one is here, and it is longer than the others are.", "Title"),
    Document("b", "é"),
    Document("c", "x " * 200),
]


def chunks_of(documents: list[Document], folder: Path, size: int = 16, overlap: int = 4) -> Chunks:
    write_chunks(documents, size, overlap, folder)
    return Chunks(folder)


def test_every_chunk_is_a_slice_of_its_document(tmp_path: Path) -> None:
    expected = [d.text[start:end] for d in DOCUMENTS for start, end in split(d.text, 16, 4)]
    assert list(chunks_of(DOCUMENTS, tmp_path).texts) == expected


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_any_text_comes_back(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chunks = chunks_of([Document(str(n), text) for n, text in enumerate(texts)], Path(folder), overlap=0)
        assert ["".join(record["text"].split()) for record in chunks.records()] == ["".join(t.split()) for t in texts]
        assert "".join("".join(chunks.texts).split()) == "".join("".join(texts).split())


def test_ids_count_the_chunks_of_each_document(tmp_path: Path) -> None:
    chunks = chunks_of(DOCUMENTS, tmp_path)
    ids = [chunks.passage_id(number) for number in range(len(chunks.texts))]
    first, last = (sum(key.startswith(f"{name}#") for key in ids) for name in "ac")
    assert ids == [*(f"a#{n + 1}" for n in range(first)), "b#1", *(f"c#{n + 1}" for n in range(last))]
    assert min(first, last) > 1


def test_documents_come_back_with_their_titles(tmp_path: Path) -> None:
    assert chunks_of(DOCUMENTS, tmp_path).records()[:2] == [
        {"id": "a", "title": "Title", "text": DOCUMENTS[0].text},
        {"id": "b", "title": "", "text": "é"},
    ]


def test_a_slice_is_a_sequence_of_texts_too(tmp_path: Path) -> None:
    texts = chunks_of(DOCUMENTS, tmp_path).texts
    assert list(texts[1:3]) == [texts[1], texts[2]]
    assert texts[-1] == list(texts)[-1]


def test_another_id_makes_another_digest(tmp_path: Path) -> None:
    found = []
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        found.append(chunks_of([Document(name, "The same.")], tmp_path / name).digest)
    assert found[0] != found[1]


def test_a_fingerprint_tells_where_one_text_ends() -> None:
    found = []
    for documents in ([Document("a", "bc")], [Document("ab", "c")], [Document("a", "b"), Document("c", "")]):
        fingerprint = Fingerprint()
        list(fingerprint.passing(documents))
        found.append(fingerprint.hex())
    assert len(set(found)) == 3
