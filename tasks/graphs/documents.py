"""Plain documents: a text file, a folder of them, or JSON Lines with `id` (or `title`) and `text`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from r_eval.files import read_text
from r_eval.records import Document

SPLITS = re.compile(r"\n\s*\n|\n|(?<=[.!?。！？])\s*")
"""Where a text may be parted: paragraphs, lines, sentences."""


def read_documents(path: Path) -> Iterator[tuple[str, Document]]:
    """The documents of a file or folder with their ids, in order.

    Raises:
        UserError: There is none, a file cannot be read, a line is no document, or an id stands twice.
    """
    seen: set[str] = set()
    for key, document, where in _documents(path):
        if key in seen:
            raise UserError(f"{where}: the document id '{key}' stands twice")
        seen.add(key)
        yield key, document
    if not seen:
        raise UserError(f"{path}: holds no document (.txt or .md files, or JSON Lines with 'text')")


def _documents(path: Path) -> Iterator[tuple[str, Document, str]]:
    if path.is_dir():
        for file in sorted(p for p in path.rglob("*") if p.suffix in (".txt", ".md") and p.is_file()):
            yield file.relative_to(path).as_posix(), Document(title=file.stem, text=_text(file)), str(file)
    elif path.suffix in (".jsonl", ".json"):
        yield from _lines(path)
    else:
        yield path.name, Document(title=path.stem, text=_text(path)), str(path)


def _lines(path: Path) -> Iterator[tuple[str, Document, str]]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            data: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: not valid JSON ({error})") from None
        if not isinstance(data, dict) or not isinstance(data.get("text"), str):
            raise UserError(f"{where}: expected an object with a 'text'")
        key = str(data.get("id", data.get("title", number)))
        yield key, Document(title=str(data.get("title", key)), text=data["text"]), where


def _text(path: Path) -> str:
    return read_text(path, "file or folder")


def chunks(text: str, longest: int) -> list[str]:
    """A text in parts of at most so many characters, parted at the end of a sentence where there is one."""
    parts: list[str] = []
    start = 0
    while len(text) - start > longest:
        window = text[start : start + longest]
        ends = [match.end() for match in SPLITS.finditer(window) if match.end() > 0]
        end = start + (ends[-1] if ends and ends[-1] > longest // 2 else longest)
        parts.append(text[start:end])
        start = end
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]
