"""Reads data files record by record: JSON lists, JSON Lines, CSV. Never more of a file than one record is in memory."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from r_eval.errors import UserError
from r_eval.tasks.loaders.streaming import JsonStream, NotJson

BOM = b"\xef\xbb\xbf"
PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files begin."""
LONGEST = 64 * 2**20
"""Bytes of the longest line that is read; a longer one is no record of any known dataset."""


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What stands in a file before a format has looked at it; `place` is `FILE:LINE`, or the record's number."""

    place: str
    data: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """A record that is broken."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


class NotThisForm(UserError):
    """A file can be opened, but from some place on it is not of the form that it is read in."""


def json_records(path: Path, inside: str = "") -> Iterator[Record | Fault]:
    """The records of a JSON list or of JSON Lines, whichever the file is.

    Args:
        inside: Key of the list, where the file is one object that holds it.

    Raises:
        UserError: The file cannot be read, or is a list that is not JSON from some record on.
    """
    first = first_character(path)
    if inside and first == "{":
        return _list_items(path, inside)
    return _list_items(path) if first == "[" else _json_lines(path)


def json_members(path: Path) -> Iterator[Record]:
    """The members of one JSON object, as (key, value).

    Raises:
        UserError: The file cannot be read, or is not JSON from some member on.
    """
    with _streamed(path) as stream:
        for line, key, value in stream.members():
            yield Record(f"{path}:{line}", (key, value))
        stream.finish()


def json_lists(path: Path) -> Iterator[Record]:
    """The items of all lists that are members of one JSON object, as (the list's key, item).

    Raises:
        UserError: The file cannot be read, or is not JSON from some item on.
    """
    with _streamed(path) as stream:
        number, current = 0, ""
        for line, key, item in stream.listed():
            number = number + 1 if key == current else 1
            current = key
            yield Record(f"{path}:{line}: {key}, record {number}", (key, item))
        stream.finish()


def _list_items(path: Path, inside: str = "") -> Iterator[Record]:
    with _streamed(path) as stream:
        if inside:
            for _ in stream.members(stop=inside):
                pass
        for number, (line, item) in enumerate(stream.items(), 1):
            yield Record(f"{path}:{line}: record {number}", item)
        if not inside:
            stream.finish()


@contextlib.contextmanager
def _streamed(path: Path) -> Iterator[JsonStream]:
    """The one stream of a file; what is wrong with it while it is read becomes one sentence."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield JsonStream(file)
    except NotJson as error:
        raise NotThisForm(f"{path}:{error.line}: not valid JSON: {_short(error)}") from None
    except UnicodeDecodeError as error:
        raise NotThisForm(f"{path}: not UTF-8 text ({error.reason})") from None
    except OSError as error:
        raise UserError(_unreadable(path, error)) from None


def _json_lines(path: Path) -> Iterator[Record | Fault]:
    for place, text in lines(path):
        if isinstance(text, Fault):
            yield text
            continue
        try:
            yield Record(place, json.loads(text))
        except (ValueError, RecursionError) as error:
            yield Fault(place, f"not valid JSON ({_short(error)})")


def lines(path: Path) -> Iterator[tuple[str, str | Fault]]:
    """The lines of a text file that hold anything, each with its place; a fault where one is not UTF-8 or too long.

    Raises:
        UserError: The file cannot be read.
    """
    with opened(path) as file:
        number = 0
        while line := file.readline(LONGEST):
            number += 1
            place = f"{path}:{number}"
            if len(line) == LONGEST and not line.endswith(b"\n"):
                while (rest := file.readline(LONGEST)) and not rest.endswith(b"\n"):
                    pass
                yield place, Fault(place, f"longer than {LONGEST // 2**20} MiB")
                continue
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                yield place, Fault(place, f"not UTF-8 text ({error.reason})")
                continue
            if text.strip():
                yield place, text


def csv_records(path: Path) -> Iterator[Record | Fault]:
    """The rows of a CSV file with a heading, each a mapping; tabs or semicolons are told from commas by the heading.

    Raises:
        UserError: The file cannot be read, or is not CSV from some line on.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            heading = file.readline(LONGEST)
            file.seek(0)
            delimiter = max(",\t;", key=heading.count)
            rows = csv.DictReader(file, delimiter=delimiter, strict=True)
            for row in rows:
                place = f"{path}:{rows.line_num}"
                if None in row or None in row.values():
                    yield Fault(place, "not as many fields as the heading has")
                else:
                    yield Record(place, row)
    except (csv.Error, UnicodeDecodeError) as error:
        raise NotThisForm(f"{path}: not valid CSV in UTF-8: {_short(error)}") from None
    except OSError as error:
        raise UserError(_unreadable(path, error)) from None


def opened(path: Path) -> IO[bytes]:
    """A file opened for reading, behind its byte order mark.

    Raises:
        UserError: It cannot be read, or is packed.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise UserError(_unreadable(path, error)) from None
    opening = file.read(8)
    for start, kind in PACKED.items():
        if opening.startswith(start):
            file.close()
            raise UserError(f"{path}: is packed ({kind}); unpack it first")
    file.seek(len(BOM) if opening.startswith(BOM) else 0)
    return file


def first_character(path: Path) -> str:
    """The first character of a file that is no space; "" of an empty one."""
    with opened(path) as file:
        while block := file.read(4096):
            if text := block.lstrip():
                return chr(text[0])
    return ""


def _unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such data file"
    return f"{path}: cannot be read ({error.strerror or error})"


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
