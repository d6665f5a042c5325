"""Reads the documents of a corpus: JSON Lines, text with one document a line, folders of texts, lists of these.

- `.jsonl`: an object a line with `id` (a text or a number), `text` and perhaps `title`; other keys are left.
- `.txt`, and the names without an extension under which CRUD-RAG publishes its database: one document a line. A line's
  id is `<file name>:<line number>-<hash>`; the hash is of its text, so that an edited line gets another id.
- `.md` alone is one document.
- A folder: every `.txt` and `.md` file below it is a document, whose id is its path below the folder; every `.jsonl`
  file, and every one of CRUD-RAG's, holds documents as above. Other files and hidden ones are left.
- The name of an embedded set.

Files are read line by line; nothing is kept but the ids, which must differ.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from r_eval.errors import UserError
from r_eval.files import is_file, is_folder
from r_eval.plugins import unknown

FOLDER = Path(__file__).parent / "documents"
PUBLISHED = re.compile(r"[^.]*|.*_part_\d+")
"""The names of CRUD-RAG's files: `documents_dup_part_1_part_1`, `documents_hallu.txt_part_1`."""


class Document(NamedTuple):
    """A text of the corpus, and what it is known by; the title may be empty."""

    id: str
    text: str
    title: str = ""


def embedded() -> list[str]:
    """The names of the embedded sets."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def read_documents(source: str | Sequence[str]) -> Iterator[Document]:
    """The documents that a setting names, in the order of the files; a folder's files are sorted by path.

    Raises:
        UserError: While they are read: a file is missing or of a form that is not read, a line is wrong, two documents
            have one id, or there is no document.
    """
    sources = [source] if isinstance(source, str) else list(source)
    seen: set[str] = set()
    for one in sources:
        for place, document in _of_source(one):
            if document.id in seen:
                raise UserError(f"{place}: the id {document.id!r} is there twice: every document needs its own")
            seen.add(document.id)
            yield document
    if not seen:
        raise UserError(f"{', '.join(sources) or 'documents'}: there are no documents")


def _of_source(source: str) -> Iterator[tuple[str, Document]]:
    """Documents of one file, folder or set, each with its place for a message."""
    path = Path(source)
    if is_folder(path):
        return _of_folder(path)
    if is_file(path):
        return _of_file(path, path.name, alone=True)
    if source in embedded():
        name = f"{source}.jsonl"
        return _of_file(FOLDER / name, name, alone=True)
    if path.suffix or len(path.parts) > 1:
        raise UserError(f"{source}: no such file or folder of documents")
    raise UserError(f"documents: no such file or folder, and {unknown('embedded set', source, embedded())}")


def _of_folder(folder: Path) -> Iterator[tuple[str, Document]]:
    for path in sorted(folder.rglob("*"), key=lambda found: found.relative_to(folder).parts):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not any(part.startswith(".") for part in name.split("/")) and _is_read(path):
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UserError(f"{path}: a link that leads out of the folder: copy there what it stands for")
            yield from _of_file(path, name, alone=False)


def _is_read(path: Path) -> bool:
    return path.suffix in (".jsonl", ".txt", ".md") or PUBLISHED.fullmatch(path.name) is not None


def _of_file(path: Path, name: str, alone: bool) -> Iterator[tuple[str, Document]]:
    """Documents of a file.

    Args:
        name: How the ids of its documents call it.
        alone: Whether the file is named itself, and not found in a folder.
    """
    if not _is_read(path):
        raise UserError(
            f"{path}: documents are read from .jsonl (an object a line with id and text), .txt (a document a line), "
            ".md, or a folder of these"
        )
    if path.suffix == ".jsonl":
        return _objects(path)
    if path.suffix == ".md" or (path.suffix == ".txt" and not alone):
        return _whole(path, name)
    return _lines(path, name)


def _objects(path: Path) -> Iterator[tuple[str, Document]]:
    for place, line in _decoded(path):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{place}: not JSON ({error})") from None
        if not isinstance(value, dict):
            raise UserError(f"{place}: expected an object with id and text, not {_kind(value)}")
        key, text, title = value.get("id"), value.get("text"), value.get("title")
        if isinstance(key, bool) or not isinstance(key, str | int | float):
            raise UserError(f"{place}: id must be a text or a number, not {_kind(key)}")
        if not isinstance(text, str):
            raise UserError(f"{place}: text must be a text, not {_kind(text)}")
        if not isinstance(title, str | None):
            raise UserError(f"{place}: title must be a text, not {_kind(title)}")
        yield place, _checked(place, Document(str(key), text, title or ""))


def _lines(path: Path, name: str) -> Iterator[tuple[str, Document]]:
    for place, line in _decoded(path):
        digest = hashlib.blake2b(line.encode(), digest_size=4).hexdigest()
        yield place, _checked(place, Document(f"{name}:{place.rpartition(':')[2]}-{digest}", line))


def _whole(path: Path, name: str) -> Iterator[tuple[str, Document]]:
    text = "\n".join(line for _, line in _decoded(path, blank=True))
    yield str(path), _checked(str(path), Document(name, text))


def _decoded(path: Path, blank: bool = False) -> Iterator[tuple[str, str]]:
    """The lines of a file without their ends, each with `file:line`; blank ones only where they are wanted."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                place = f"{path}:{number}"
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise UserError(
                        f"{place}: not UTF-8 ({error.reason} at byte {error.start + 1} of the line)"
                    ) from None
                if blank or line.strip():
                    yield place, line
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None


def _checked(place: str, document: Document) -> Document:
    """The document, if it can be stored and shown."""
    if not document.text.strip():
        raise UserError(f"{place}: the text is empty")
    if not document.id.strip() or any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in document.id):
        raise UserError(f"{place}: id {document.id!r} must be one line of text")
    try:
        "".join(document).encode()
    except UnicodeEncodeError:
        raise UserError(f"{place}: holds half a character (a lone surrogate), which is no text") from None
    return document


def _kind(value: object) -> str:
    names = {type(None): "nothing", bool: "a truth value", dict: "an object", list: "a list", str: "a text"}
    return names.get(type(value), "a number")
