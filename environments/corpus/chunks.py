"""The chunks of a corpus, and the cache folders in which they and the indexes lie.

A cache folder is built under another name and renamed in one step, so what is there is whole. Processes that build the
same at once end with one of the folders.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from r_eval.errors import UserError
from r_eval.files import cache_folder
from r_eval.fingerprints import short_hash

from . import splitting
from .sources import read_documents

Opened = TypeVar("Opened")
FORMAT = 3
"""Increase it when the files change."""
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
            with suppress(OSError, ValueError, KeyError, EOFError):  # its files are not as they were written
                return load(folder)
            shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as draft:
                built = Path(draft, "built")
                built.mkdir()
                build(built)
                with suppress(OSError):  # another process may have been first
                    built.rename(folder)
            return load(folder)
        except OSError as error:
            if error.errno is None:  # raised by a library that `build` uses, not by a file
                raise
            why = error.strerror or str(error)
            hint = "R_EVAL_CACHE names another folder for it"
            raise UserError(f"{folder}: the index cannot be written ({why}); {hint}") from None


def share(key: str, make: Callable[[], Opened]) -> Opened:
    """What `make` returns: one object for all of this process, as long as somebody uses it."""
    with _BUILDING:
        found: Opened | None = _SHARED.get(key)
        if found is None:
            found = _SHARED[key] = make()
        return found


class Chunks:
    """The chunks of documents, in their order.

    Attributes:
        ids: A chunk's is `<document's id>#<place in the document, from 1>`.
        texts: As long as `ids`.
        documents: How many documents there are.
        digest: Hash of the chunks' texts and ids.
    """

    def __init__(self, folder: Path) -> None:
        with (folder / "chunks.jsonl").open(encoding="utf-8") as file:
            self.documents, number, self.digest = json.loads(file.readline())
            rows = [json.loads(line) for line in file]
        if len(rows) != number:
            raise ValueError(f"{folder} holds {len(rows)} chunks, not {number}")
        self.ids: list[str] = [key for key, _ in rows]
        self.texts: list[str] = [text for _, text in rows]


def open_chunks(source: str | Sequence[str], size: int, overlap: int) -> Chunks:
    """The chunks of documents, known by a hash of the documents and of how they are cut.

    Args:
        source: See `read_documents`.
        size: The most tokens of a chunk.
        overlap: The most tokens that a chunk repeats of the one before it.

    Raises:
        UserError: The documents cannot be read, or the chunks not be written.
    """
    content = hashlib.blake2b(digest_size=16)
    for document in read_documents(source):
        content.update(json.dumps(document).encode())

    def build(folder: Path) -> None:
        documents = list(read_documents(source))
        rows = [
            json.dumps([f"{document.id}#{place}", text], ensure_ascii=False) + "\n"
            for document in documents
            for place, text in enumerate(splitting.split(document.text, size, overlap), 1)
        ]
        digest = hashlib.blake2b("".join(rows).encode(), digest_size=16).hexdigest()
        with (folder / "chunks.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines([json.dumps([len(documents), len(rows), digest]) + "\n", *rows])

    name = f"chunks-{short_hash([FORMAT, splitting.VERSION, content.hexdigest(), size, overlap])}"
    return share(name, lambda: build_or_load(name, build, Chunks))
