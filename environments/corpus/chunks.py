"""The chunks of a corpus on disk: they are read by number and never all in memory.

A folder holds `texts`, `ids` and `titles` of the documents, each as one file of UTF-8 (`.bin`) and the places where
they begin (`.npy`); `chunks.npy`: for every chunk its document's number, and where it starts and ends in `texts.bin`;
`firsts.npy`: for every document the number of its first chunk; and a hash of it all.
"""

from __future__ import annotations

import hashlib
import mmap
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .documents import Document
from .splitting import split

FORMAT = 1


class Fingerprint:
    """Hash of all that documents say, in their order."""

    def __init__(self) -> None:
        self._found = hashlib.blake2b(digest_size=16)

    def passing(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents, which are counted in as they go by."""
        for document in documents:
            for part in document:
                raw = part.encode()
                self._found.update(b"%d:" % len(raw))
                self._found.update(raw)
            yield document

    def hex(self) -> str:
        return self._found.hexdigest()


def write_chunks(documents: Iterable[Document], size: int, overlap: int, folder: Path) -> None:
    """Cut documents into chunks of so many tokens, and write both."""
    chunks = array("q")
    with Writer(folder, "texts") as texts, Writer(folder, "ids") as ids, Writer(folder, "titles") as titles:
        for number, document in enumerate(documents):
            begin = texts.add(document.text)
            ids.add(document.id)
            titles.add(document.title)
            places = _byte_places(document.text)
            for start, end in split(document.text, size, overlap):
                chunks.extend((number, begin + int(places[start]), begin + int(places[end])))
    table = np.frombuffer(chunks, np.int64).reshape(-1, 3)
    np.save(folder / "chunks.npy", table)
    np.save(folder / "firsts.npy", np.flatnonzero(np.diff(table[:, 0], prepend=-1)))
    (folder / "digest").write_text(_digest(folder), encoding="ascii")


def _digest(folder: Path) -> str:
    found = hashlib.blake2b(digest_size=16)
    for name in ("texts.bin", "ids.bin", "ids.npy", "chunks.npy"):
        with (folder / name).open("rb") as file:
            found.update(hashlib.file_digest(file, "blake2b").digest())
    return found.hexdigest()


def _byte_places(text: str) -> NDArray[np.int64]:
    """Where every character starts in UTF-8, and the length of it all."""
    raw = np.frombuffer(text.encode(), np.uint8)
    return np.append(np.flatnonzero((raw & 0xC0) != 0x80), len(raw))


class Writer:
    """Writes texts that `Texts` reads."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.npy"
        self._file = (folder / f"{name}.bin").open("wb")
        self._starts = array("q", [0])

    def add(self, text: str) -> int:
        """Write a text; returns where it starts."""
        start = self._starts[-1]
        self._starts.append(start + self._file.write(text.encode()))
        return start

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        np.save(self._path, np.frombuffer(self._starts, np.int64))


class Texts(Sequence[str]):
    """Texts in a file: a sequence that reads what it is asked for."""

    def __init__(self, raw: bytes | mmap.mmap, spans: NDArray[np.int64]) -> None:
        self._raw, self._spans = raw, spans

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Texts: ...
    def __getitem__(self, number: int | slice) -> str | Texts:
        if isinstance(number, slice):
            return Texts(self._raw, self._spans[number])
        start, end = self._spans[number].tolist()
        return self._raw[start:end].decode()

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(len(self)))


class Chunks:
    """The chunks that `write_chunks` wrote.

    Attributes:
        texts: The chunks' texts, in the order of the documents.
        documents: How many documents there are.
        digest: Hash of the chunks' texts and ids.
    """

    def __init__(self, folder: Path) -> None:
        raw = _mapped(folder / "texts.bin")
        self._chunks, self._firsts = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in ("chunks", "firsts")
        )
        self.texts = Texts(raw, self._chunks[:, 1:])
        self._documents, self._ids, self._titles = (_texts(folder, name) for name in ("texts", "ids", "titles"))
        self.documents = len(self._ids)
        self.digest = (folder / "digest").read_text(encoding="ascii")

    def passage_id(self, chunk: int) -> str:
        """`<document's id>#<place in the document, from 1>`."""
        document = int(self._chunks[chunk, 0])
        return f"{self._ids[document]}#{chunk - int(self._firsts[document]) + 1}"

    def records(self) -> list[dict[str, Any]]:
        """The documents, as data."""
        rows = zip(self._ids, self._titles, self._documents, strict=True)
        return [{"id": key, "title": title, "text": text} for key, title, text in rows]


def _texts(folder: Path, name: str) -> Texts:
    starts = np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return Texts(_mapped(folder / f"{name}.bin"), np.stack([starts[:-1], starts[1:]], axis=1))


def _mapped(path: Path) -> bytes | mmap.mmap:
    if not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
