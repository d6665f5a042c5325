"""Chunks come back from disk by number; a cache folder is built once, is whole or not there, and is built anew when it
is damaged."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from r_eval.environments.corpus.chunks import Chunks, build_or_load, open_chunks
from r_eval.environments.corpus.sources import SourceDocument
from r_eval.environments.corpus.splitting import split
from tests.environments.conftest import json_lines

pytest.importorskip("langchain_text_splitters", reason="needs langchain-text-splitters (extra retrieval)")

DOCUMENTS = [
    SourceDocument("a", "第一句。 Second one. 👩‍🔬 Third one. " * 5, "T"),
    SourceDocument("b", "é"),
    SourceDocument("c", "x " * 99),
]


def chunks_of(folder: Path, *documents: SourceDocument) -> Chunks:
    return open_chunks(json_lines(folder / "d.jsonl", *(one._asdict() for one in documents)), 16, 4)


def test_every_chunk_has_its_place_in_its_document_and_another_id_or_text_makes_another_digest(tmp_path: Path) -> None:
    chunks = chunks_of(tmp_path, *DOCUMENTS)
    expected = [(f"{d.id}#{n}", text) for d in DOCUMENTS for n, text in enumerate(split(d.text, 16, 4), 1)]
    assert list(zip(chunks.ids, chunks.texts, strict=True)) == expected
    pairs = [("x", "The same."), ("y", "The same."), ("x", "Another.")]
    assert len({chunks_of(tmp_path, SourceDocument(*pair)).digest for pair in pairs}) == 3


class Building:
    """Writes a folder of one file and counts how often."""

    count = 0

    def build(self, folder: Path) -> None:
        self.count += 1
        (folder / "file").write_text("content", encoding="utf-8")

    def get(self) -> str:
        return build_or_load("it", self.build, self.load)

    def load(self, folder: Path) -> str:
        text = (folder / "file").read_text(encoding="utf-8")
        if text != "content":
            raise ValueError("damaged")
        return text


@pytest.mark.parametrize("damage", ["none", "changed", "deleted"])
def test_what_is_there_is_not_built_again_and_what_is_damaged_is(cache: Path, damage: str) -> None:
    building = Building()
    building.get()
    if damage == "changed":
        (cache / "indexes" / "it" / "file").write_text("cont", encoding="utf-8")
    elif damage == "deleted":
        (cache / "indexes" / "it" / "file").unlink()
    assert building.get() == "content"
    assert building.count == (1 if damage == "none" else 2)
    assert [path.name for path in (cache / "indexes").iterdir()] == ["it"]


def _slowly(folder: Path) -> None:
    time.sleep(0.5)
    (folder / "file").write_text("content", encoding="utf-8")


def _process(number: int) -> str:
    return build_or_load("it", _slowly, lambda folder: (folder / "file").read_text(encoding="utf-8"))


def test_processes_that_build_at_once_end_with_one_folder(cache: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(_process, range(3), chunksize=1) == ["content"] * 3
    assert [path.name for path in (cache / "indexes").iterdir()] == ["it"]
