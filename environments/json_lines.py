"""What wiki, aminer and corpus share: files of records, one JSON object per line, and how texts are compared."""

from __future__ import annotations

import functools
import heapq
import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError
from rapidfuzz import process

from r_eval.errors import UserError, describe_invalid
from r_eval.fingerprints import file_hash
from r_eval.text import clean_data, printable

Model = TypeVar("Model", bound=BaseModel)
_BATCH = 2000
"""Texts compared in one call: rapidfuzz lets no other thread run meanwhile."""
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "½": " 1/2"}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bb\u02bc\u02bd\u00b4`", "'")
    | dict.fromkeys("\u201c\u201d", '"')
)


def read_lines(path: Path, blank: bool = False) -> Iterator[tuple[str, str]]:
    """The lines of a UTF-8 file, each with its place (`file:line`) for messages.

    Args:
        path: The file.
        blank: Whether blank lines are read too; they always count.

    Raises:
        UserError: The file cannot be read, or a line is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    reason = f"{error.reason} at byte {error.start + 1} of the line"
                    raise UserError(f"{path}:{number}: not UTF-8 ({reason})") from None
                if blank or line.strip():
                    yield f"{path}:{number}", line
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def read_records(path: Path, model: Callable[[Any], type[Model]]) -> Iterator[tuple[str, Model]]:
    """The records of a file, each with its place (`file:line`) for messages. Control characters are left out.

    Args:
        path: The file.
        model: Chooses the model that validates a line's value.

    Raises:
        UserError: The file cannot be read, or a line is invalid; names the line and the field.
    """
    for place, line in read_lines(path):
        try:
            value = clean_data(json.loads(line), clean=printable)
            yield place, model(value).model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise UserError(f"{place}: {where}: {describe_invalid(first)}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{place}: not a JSON object ({error})") from None


class FileStore:
    """Base of what is read from a file of records into memory and never changes, so that threads may share it.

    Attributes:
        path: The file.
        version: Hash of the file's content.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version = file_hash(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The store of a file: one object for all, until the file changes."""
        try:
            found = path.stat()
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from None
        kind: Any = cls
        store: Self = _open(kind, path.resolve(), found.st_size, found.st_mtime_ns)
        return store

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return type(self).open, (self.path,)


@functools.lru_cache(maxsize=8)
def _open(cls: Any, path: Path, size: int, changed: int) -> Any:
    return cls(path)


def plain(text: str) -> str:
    """A text for comparing it with others: no case, no accents, one sort of dash, apostrophe and space.

    >>> plain("Émile  Zola’s “Germinal”")
    'emile zola\\'s "germinal"'
    """
    folded = text.casefold().translate(_LETTERS)
    if not folded.isascii():
        decomposed = unicodedata.normalize("NFKD", folded)
        folded = "".join(char for char in decomposed if not unicodedata.combining(char)).translate(_LETTERS)
    return " ".join(folded.split())


def most_similar(
    text: str, among: Sequence[str], scorer: Callable[..., float], cutoff: float, limit: int
) -> list[tuple[float, int]]:
    """Scores and indices of the texts that are most similar to a text, best first; ties keep their order.

    Args:
        text: What is compared.
        among: The texts.
        scorer: One of rapidfuzz's similarities.
        cutoff: The least score, in the scorer's unit.
        limit: The most results.
    """
    found: list[tuple[float, int]] = []
    for start in range(0, len(among), _BATCH):
        batch = among[start : start + _BATCH]
        scored = process.extract(text, batch, scorer=scorer, processor=None, score_cutoff=cutoff, limit=limit)
        found += [(score, -(start + index)) for _, score, index in scored]
    return [(score, -index) for score, index in heapq.nlargest(limit, found)]
