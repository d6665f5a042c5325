"""Opens what a corpus is searched with: its chunks, and a retriever's index of them, built once and shared.

Chunks are known by a hash of the documents and of how they are cut, an index by a hash of the chunks and of the
retriever's identity. So a sweep over retrievers cuts the documents once, and all tasks over one corpus have one index.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from r_eval.errors import UserError

from . import splitting
from .chunks import FORMAT, Chunks, Fingerprint, write_chunks
from .documents import Document, read_documents
from .kept import kept
from .retrievers.base import Indexed, Retriever

_OPENED: WeakValueDictionary[str, Any] = WeakValueDictionary()
_OPENING = threading.RLock()


def open_chunks(source: str | Sequence[str], size: int, overlap: int) -> Chunks:
    """The chunks of documents; see `documents` and `splitting`.

    Raises:
        UserError: The documents cannot be read, or the chunks not be written.
    """
    fingerprint = Fingerprint()
    for _ in fingerprint.passing(read_documents(source)):
        pass
    content = fingerprint.hex()
    key = f"chunks-{short_hash([FORMAT, splitting.VERSION, content, size, overlap])}"

    def write(folder: Path) -> None:
        write_chunks(_unchanged(source, content), size, overlap, folder)

    with _OPENING:
        found: Chunks | None = _OPENED.get(key)
        if found is None:
            found = _OPENED[key] = kept(key, write, Chunks)
        return found


def open_retriever(retriever: Retriever, chunks: Chunks) -> Retriever:
    """The retriever, or one like it that is open, ready to search the chunks.

    Raises:
        UserError: An index cannot be written.
    """
    key = f"retriever-{_key(retriever, chunks)}"
    with _OPENING:
        found: Retriever | None = _OPENED.get(key)
        if found is None:
            _prepare(retriever, chunks)
            found = _OPENED[key] = retriever
        return found


def _prepare(retriever: Retriever, chunks: Chunks) -> None:
    for part in retriever.parts:
        _prepare(part, chunks)
    if isinstance(retriever, Indexed):
        kept(
            f"{type(retriever).__name__.lower()}-{_key(retriever, chunks)}",
            lambda folder: retriever.build(chunks.texts, folder),
            lambda folder: retriever.open(chunks.texts, folder),
        )


def _key(retriever: Retriever, chunks: Chunks) -> str:
    return short_hash([type(retriever).__qualname__, retriever.identity(), chunks.digest])


def _unchanged(source: str | Sequence[str], content: str) -> Iterator[Document]:
    """The documents once more, seen to be those of the hash when all are read."""
    fingerprint = Fingerprint()
    yield from fingerprint.passing(read_documents(source))
    if fingerprint.hex() != content:
        raise UserError(f"{source}: the documents changed while they were read; try again")


def short_hash(value: Any) -> str:
    """Hash of plain data, the same on every machine."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=10).hexdigest()
