"""Reads the documents of a corpus: JSON Lines, text with one document per line, folders of texts, lists of these.

- `.jsonl`: an object per line with `id` (text or number), `text` and perhaps `title`; other keys are ignored.
- `.txt`, and the names without an extension under which CRUD-RAG publishes its database: one document per line. A
  line's id is `<file name>:<line number>-<hash>`; the hash is of its text, so that an edited line gets another id.
- `.md`: one document.
- A folder: every `.txt` and `.md` file below it is a document, whose id is its path below the folder; every `.jsonl`
  file, and every one of CRUD-RAG's, holds documents as above. Other files and hidden ones are skipped.
- The name of an embedded set.

Files are read line by line; only the ids, which must differ, stay in memory. Control characters become spaces.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field, StrictInt, StrictStr

from r_eval.environments.json_lines import read_lines, read_records
from r_eval.errors import UserError
from r_eval.files import is_file, is_folder, user_path
from r_eval.plugins import unknown
from r_eval.text import printable

FOLDER = Path(__file__).parent / "documents"
PUBLISHED = re.compile(r"[^.]*|.*_part_\d+")
"""The names of CRUD-RAG's files: `documents_dup_part_1_part_1`, `documents_hallu.txt_part_1`."""


class SourceDocument(NamedTuple):
    """A text of the corpus, its id, and its title, which may be empty."""

    id: str
    text: str
    title: str = ""


class _Line(BaseModel):
    """A line of a `.jsonl` file."""

    id: StrictStr | StrictInt = Field(union_mode="left_to_right")
    text: StrictStr
    title: StrictStr | None = None


def embedded() -> list[str]:
    """The names of the embedded sets."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def read_documents(source: str | Sequence[str]) -> Iterator[SourceDocument]:
    """The documents that a setting names, in the order of the files; a folder's files are sorted by path.

    Raises:
        UserError: While they are read: a file is missing or of an unknown form, a line is wrong, two documents have
            one id, or there is no document.
    """
    sources = [source] if isinstance(source, str) else list(source)
    seen: set[str] = set()
    for one in sources:
        for place, document in _read_source(one):
            if not document.text.strip():
                raise UserError(f"{place}: the text is empty")
            if not document.id.strip() or "\n" in document.id:
                raise UserError(f"{place}: id {document.id!r} must be one line of text")
            if document.id in seen:
                raise UserError(f"{place}: duplicate id {document.id!r}: every document needs its own")
            seen.add(document.id)
            yield document
    if not seen:
        raise UserError(f"{', '.join(sources) or 'documents'}: there are no documents")


def _read_source(source: str) -> Iterator[tuple[str, SourceDocument]]:
    """Documents of one file, folder or set, each with its place for a message."""
    path = user_path(source)
    if is_folder(path):
        yield from _read_folder(path)
    elif is_file(path):
        if not _is_read(path):
            expected = ".jsonl (an object per line with id and text), .txt (a document per line), .md, or a folder"
            raise UserError(f"{path}: documents are read from {expected} of these")
        yield from _read_file(path, path.name, alone=True)
    elif source in embedded():
        yield from _read_file(FOLDER / f"{source}.jsonl", source, alone=True)
    elif path.suffix or len(path.parts) > 1:
        raise UserError(f"{source}: no such file or folder of documents")
    else:
        raise UserError(f"documents: no such file or folder, and {unknown('embedded set', source, embedded())}")


def _read_folder(folder: Path) -> Iterator[tuple[str, SourceDocument]]:
    for path in sorted(folder.rglob("*"), key=lambda found: found.relative_to(folder).parts):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not any(part.startswith(".") for part in name.split("/")) and _is_read(path):
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UserError(f"{path}: the link leads out of the folder: copy the file there instead")
            yield from _read_file(path, name, alone=False)


def _is_read(path: Path) -> bool:
    return path.suffix.lower() in (".jsonl", ".txt", ".md") or PUBLISHED.fullmatch(path.name) is not None


def _read_file(path: Path, name: str, alone: bool) -> Iterator[tuple[str, SourceDocument]]:
    """Documents of a file.

    Args:
        name: How the ids of its documents call it.
        alone: Whether the file is named itself, not found in a folder.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        for place, record in read_records(path, lambda _: _Line):
            yield place, SourceDocument(str(record.id), record.text, record.title or "")
    elif suffix == ".md" or (suffix == ".txt" and not alone):
        text = "\n".join(line for _, line in read_lines(path, blank=True))
        yield str(path), SourceDocument(name, printable(text))
    else:
        for place, line in read_lines(path):
            digest = hashlib.blake2b(line.encode(), digest_size=4).hexdigest()
            number = place.rpartition(":")[2]
            yield place, SourceDocument(f"{name}:{number}-{digest}", printable(line))
