"""Reads the records of data files: JSON lists and objects, JSON Lines, CSV, Parquet.

A JSON list or object is read at once, and through ijson where it is larger than WHOLE; the rest record by record.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from r_eval.errors import MissingExtra, UserError

BOM = b"\xef\xbb\xbf"
PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files begin."""
PARQUET = b"PAR1"
WHOLE = 500 * 2**20
"""Bytes of the largest JSON list or object that is read at once; in memory it takes about five times as many."""
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
    """The records of a JSON list, of JSON Lines or of a Parquet file, whichever the file is.

    Args:
        inside: Key of the list, where the file is one object that holds it.

    Raises:
        MissingExtra: What reads such a file is not installed.
        UserError: The file cannot be read, or is not JSON.
    """
    first = first_character(path)
    if first == "P" and is_parquet(path):
        return _parquet_records(path)
    if first == "[" or (inside and first == "{"):
        prefix = "item" if first == "[" else f"{inside}.item"
        found = _streamed(path, prefix) if _is_large(path) else iter(_listed(_whole(path), inside))
        return (Record(f"{path}: record {number}", item) for number, item in enumerate(found, 1))
    return _json_lines(path)


def json_members(path: Path) -> Iterator[Record]:
    """The members of one JSON object, as (key, value).

    Raises:
        MissingExtra: It is so large that it needs ijson, which is not installed.
        UserError: The file cannot be read, or is not JSON.
    """
    value: Any = _streamed(path, "") if _is_large(path) else _whole(path)
    if not isinstance(value, dict | Iterator):
        raise NotThisForm(f"{path}: not one JSON object")
    members = value.items() if isinstance(value, dict) else value
    return (Record(f"{path}: {key}", (key, member)) for key, member in members)


def json_lists(path: Path) -> Iterator[Record]:
    """The items of all lists that are members of one JSON object, as (the list's key, item).

    Raises:
        MissingExtra, UserError: As `json_members`.
    """
    for member in json_members(path):
        key, value = member.data
        for number, item in enumerate(value if isinstance(value, list) else (), 1):
            yield Record(f"{member.place}, record {number}", (key, item))


def _listed(value: Any, inside: str) -> list[Any]:
    if inside and isinstance(value, dict):
        value = value.get(inside)
    return value if isinstance(value, list) else []


def _is_large(path: Path) -> bool:
    with opened(path) as file:
        return os.fstat(file.fileno()).st_size > WHOLE


def _whole(path: Path) -> Any:
    """What a JSON file says."""
    at = path.stat()
    return _parsed(path, at.st_mtime_ns, at.st_size)


@functools.lru_cache(maxsize=1)
def _parsed(path: Path, changed: int, size: int) -> Any:
    """A JSON file, kept while its format is told and it is read; `forget` lets it go."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise NotThisForm(f"{path}:{error.lineno}: not valid JSON: {_short(error)}") from None
    except UnicodeDecodeError as error:
        raise NotThisForm(f"{path}: not UTF-8 text ({error.reason})") from None
    except (ValueError, RecursionError) as error:
        raise NotThisForm(f"{path}: not valid JSON: {_short(error)}") from None
    except OSError as error:
        raise UserError(_unreadable(path, error)) from None


forget = _parsed.cache_clear


def _streamed(path: Path, prefix: str) -> Iterator[Any]:
    """The items at a prefix of ijson's of a file that is too large to be read at once; members where it is ""."""
    try:
        import ijson
    except ImportError:
        raise MissingExtra("ijson", "datasets", f"reading {path}, which is over {WHOLE // 2**20} MiB") from None
    with opened(path) as file:
        read = ijson.items if prefix else ijson.kvitems
        try:
            yield from read(file, prefix, use_float=True)
        except (ijson.JSONError, UnicodeDecodeError, RecursionError) as error:
            raise NotThisForm(f"{path}: not valid JSON: {_short(error)}") from None


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet does."""
    with opened(path) as file:
        return file.read(len(PARQUET)) == PARQUET


def _parquet_records(path: Path) -> Iterator[Record]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"reading {path}") from None
    try:
        rows = (row for batch in parquet.ParquetFile(path).iter_batches() for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            yield Record(f"{path}: record {number}", row)
    except (ArrowException, OSError, ValueError) as error:
        raise NotThisForm(f"{path}: not valid Parquet: {_short(error)}") from None


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
        UserError: The file cannot be read, or is not CSV in UTF-8 from some line on.
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
    except UnicodeDecodeError as error:
        raise NotThisForm(f"{path}: not UTF-8 text ({error.reason}); save the table as CSV in UTF-8") from None
    except csv.Error as error:
        raise NotThisForm(f"{path}: not valid CSV: {_short(error)}") from None
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


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:120]
