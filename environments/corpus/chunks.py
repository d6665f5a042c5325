"""The chunks of a corpus on disk, and the cache folders in which they and the indexes lie.

A cache folder is built under another name and renamed in one step, so what is there is whole. Processes that build the
same at once end with one of the folders. Chunks are memory-mapped and read by number.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import shutil
import tempfile
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload
from weakref import WeakValueDictionary

import numpy as np

from r_eval.errors import UserError
from r_eval.files import cache_folder
from r_eval.fingerprints import short_hash

from . import splitting
from .sources import Document, read_documents

Opened = TypeVar("Opened")
FORMAT = 2
"""Increase it when the files change."""
_DAMAGED = (OSError, ValueError, KeyError, EOFError)
"""What reading a folder raises whose files are not as they were written."""
_BUILDING = threading.RLock()
_SHARED: WeakValueDictionary[str, Any] = WeakValueDictionary()


def build_or_load(name: str, build: Callable[[Path], None], load: Callable[[Path], Opened]) -> Opened:
    """What `load` reads from a cache folder, which `build` fills if it is missing or damaged.

    Raises:
        UserError: The folder cannot be written.
    """
    folder = cache_folder() / "indexes" / name
    with _BUILDING:
        if folder.is_dir():
            with suppress(*_DAMAGED):
                return load(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as draft:
                built = Path(draft, "built")
                built.mkdir()
                build(built)
                _move(built, folder, load)
            return load(folder)
        except OSError as error:
            if error.errno is None:  # raised by a library that `build` uses, not by a file
                raise
            why = error.strerror or str(error)
            hint = "R_EVAL_CACHE names another folder for it"
            raise UserError(f"{folder}: the index cannot be written ({why}); {hint}") from None


def _move(built: Path, folder: Path, load: Callable[[Path], object]) -> None:
    try:
        built.rename(folder)
    except OSError:
        try:
            load(folder)  # another process was first
        except _DAMAGED:
            shutil.rmtree(folder, ignore_errors=True)
            built.rename(folder)


def share(key: str, make: Callable[[], Opened]) -> Opened:
    """What `make` returns: one object for all of this process, as long as somebody uses it."""
    with _BUILDING:
        found: Opened | None = _SHARED.get(key)
        if found is None:
            found = _SHARED[key] = make()
        return found


class Chunks(Sequence[str]):
    """The chunks' texts, in the order of the documents.

    Attributes:
        documents: How many documents there are.
        digest: Hash of the chunks' texts and ids.
    """

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.documents, self.digest = int(about["documents"]), str(about["digest"])
        self._ends: Any = np.load(folder / "ends.npy", mmap_mode="r")
        with (folder / "chunks.bin").open("rb") as file:
            self._raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self._raw) != self._ends[-1]:
            raise ValueError(f"{folder} holds {len(self._raw)} bytes, not {self._ends[-1]}")

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        return self.passage(number)[1]

    def passage(self, number: int) -> tuple[str, str]:
        """A chunk's id (`<document's id>#<place in the document, from 1>`) and text."""
        key, _, text = self._raw[self._ends[number] : self._ends[number + 1]].decode().partition("\n")
        return key, text


def write_chunks(documents: Iterable[Document], size: int, overlap: int, folder: Path) -> None:
    """Cut documents into chunks of at most `size` tokens, and write these for `Chunks`."""
    ends, count, digest = array("q", [0]), 0, hashlib.blake2b(digest_size=16)
    with (folder / "chunks.bin").open("wb") as file:
        for count, document in enumerate(documents, 1):  # noqa: B007  how many there were is written below
            for place, text in enumerate(splitting.split(document.text, size, overlap), 1):
                record = f"{document.id}#{place}\n{text}".encode()
                digest.update(b"%d:%b" % (len(record), record))
                ends.append(ends[-1] + file.write(record))
    np.save(folder / "ends.npy", np.frombuffer(ends, np.int64))
    about = {"documents": count, "digest": digest.hexdigest()}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def open_chunks(source: str | Sequence[str], size: int, overlap: int) -> Chunks:
    """The chunks of documents, known by a hash of the documents and of how they are cut.

    Args:
        source: See `read_documents`.
        size: The most tokens of a chunk.
        overlap: The most tokens that a chunk repeats of the one before it.

    Raises:
        UserError: The documents cannot be read, or the chunks not be written.
    """
    content = _content_hash(read_documents(source))

    def build(folder: Path) -> None:
        write_chunks(read_documents(source), size, overlap, folder)

    name = f"chunks-{short_hash([FORMAT, splitting.VERSION, content, size, overlap])}"
    return share(name, lambda: build_or_load(name, build, Chunks))


def _content_hash(documents: Iterator[Document]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for document in documents:
        digest.update(json.dumps(document).encode())
    return digest.hexdigest()
