"""Reads the records of datasets: JSON lists and objects, JSON Lines, CSV, Parquet and the Hugging Face Hub.

A record is a pair of its place (`FILE:LINE` or `FILE: record N`) and its data, which is an `InvalidRecord` if a line
cannot be parsed. A JSON list or object is read as a whole, or through ijson if larger than WHOLE; other files record by
record.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_folder

HUB = "hf:"
TABLES = (".csv", ".tsv")
"""File name suffixes of CSV files."""
BOM = b"\xef\xbb\xbf"
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""The first bytes of compressed files."""
NOT_UTF8 = "{}: not UTF-8 text; save the file in UTF-8"
WHOLE = 500 * 2**20
"""Maximum bytes of a JSON file that is read as a whole; in memory it takes about five times as much."""

Records = Iterator[tuple[str, Any]]


class InvalidRecord(ValueError):
    """A record violates the format; the message says how."""


def literal(text: str) -> Any:
    """The value that a text writes as JSON or as Python does.

    Raises:
        ValueError: It writes none.
    """
    for read in (json.loads, ast.literal_eval):
        failures = contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError)
        with failures, warnings.catch_warnings(action="ignore"):  # about "\\d" and the like
            return read(text.strip())
    raise ValueError("is neither JSON nor as Python writes it")


class NotThisForm(UserError):
    """A file is not valid in the form in which it is read."""

    def __init__(self, path: Path | str, form: str, error: object) -> None:
        super().__init__(f"{path}: not valid {form}: {' '.join(str(error).split())[:120]}")


def records(source: str | Path, inside: str = "") -> Records:
    """The records of a dataset in any form.

    Args:
        source: A file, or `hf:ORGANISATION/NAME` (see `hub_source`).
        inside: Key of the list, if the file is an object that contains it.

    Raises:
        MissingExtra: A required library is not installed.
        UserError: The dataset cannot be read.
    """
    if str(source).startswith(HUB):
        return _of_hub(str(source))
    path = Path(source)
    first = first_character(path)
    if first == "[" or (inside and first == "{"):
        return _of_json(path, inside if first == "{" else "")
    if first == "P" and path.open("rb").read(4) == b"PAR1":
        return _of_parquet(path)
    return _of_table(path) if path.suffix.lower() in TABLES and first != "{" else _of_lines(path)


def json_members(path: Path) -> Iterator[tuple[str, Any]]:
    """The keys and values of one JSON object.

    Raises:
        MissingExtra: The file needs ijson, which is not installed.
        UserError: The file cannot be read, or is not one JSON object.
    """
    value: Any = dict(_streamed(path, "")) if _is_large(path) else _whole(path)
    if not isinstance(value, dict):
        raise NotThisForm(path, "JSON", "not one object")
    return iter(value.items())


def _of_json(path: Path, inside: str) -> Records:
    if _is_large(path):
        items = _streamed(path, f"{inside}.item" if inside else "item")
    else:
        value = _whole(path)
        members = value.get(inside) if inside else value
        items = iter(members if isinstance(members, list) else [])
    return ((f"{path}: record {number}", item) for number, item in enumerate(items, 1))


def _is_large(path: Path) -> bool:
    with open_data(path) as file:
        return os.fstat(file.fileno()).st_size > WHOLE


def _whole(path: Path) -> Any:
    try:
        with open_data(path) as file:
            return json.loads(file.read())
    except json.JSONDecodeError as error:
        raise NotThisForm(f"{path}:{error.lineno}", "JSON", error) from None
    except UnicodeDecodeError:
        raise UserError(NOT_UTF8.format(path)) from None
    except (ValueError, RecursionError) as error:
        raise NotThisForm(path, "JSON", error) from None


def _streamed(path: Path, prefix: str) -> Iterator[Any]:
    """The items of a large file at a prefix of ijson; the members of the object if the prefix is ""."""
    try:
        import ijson
    except ImportError:
        raise MissingExtra("ijson", "datasets", f"reading {path}, which is over {WHOLE // 2**20} MiB") from None
    with open_data(path) as file:
        read = ijson.items if prefix else ijson.kvitems
        try:
            yield from read(file, prefix, use_float=True)
        except UnicodeDecodeError:
            raise UserError(NOT_UTF8.format(path)) from None
        except (ijson.JSONError, RecursionError) as error:
            raise NotThisForm(path, "JSON", error) from None


def _of_parquet(path: Path) -> Records:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"reading {path}") from None
    try:
        rows = (row for batch in parquet.ParquetFile(path).iter_batches() for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            yield f"{path}: record {number}", row
    except (ArrowException, OSError, ValueError) as error:
        raise NotThisForm(path, "Parquet", error) from None


def _of_lines(path: Path) -> Records:
    for place, text in lines(path):
        try:
            yield place, json.loads(text)
        except (ValueError, RecursionError) as error:
            yield place, InvalidRecord(f"not valid JSON ({str(error)[:120]})")


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """The non-empty lines of a text file, each with its place.

    Bytes that are not UTF-8 become lone surrogates, which make a question invalid.

    Raises:
        UserError: The file cannot be read.
    """
    with open_data(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path}:{number}", line.decode(errors="surrogateescape")


def _of_table(path: Path) -> Records:
    """The rows of a CSV file as mappings; the header determines the delimiter (comma, tab or semicolon)."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            heading = file.readline()
            file.seek(0)
            csv.field_size_limit(WHOLE)  # a document may be longer than the library's limit
            delimiter = max(",\t;", key=heading.count)
            rows = csv.DictReader(file, delimiter=delimiter, strict=True, skipinitialspace=True)
            rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
            for row in rows:
                whole = None not in row and None not in row.values()
                if not whole or any(row.values()):  # spreadsheets leave empty rows
                    place = f"{path}:{rows.line_num}"
                    yield place, row if whole else InvalidRecord("not as many fields as the heading")
    except UnicodeDecodeError:
        raise UserError(NOT_UTF8.format(path)) from None
    except csv.Error as error:
        raise NotThisForm(f"{path}:{rows.line_num + 1}", "CSV", error) from None


def open_data(path: Path) -> IO[bytes]:
    """Open a file for reading, after its byte order mark.

    Raises:
        UserError: The file cannot be read or is compressed.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise UserError(f"{path}: no such data file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    magic = file.read(8)
    if kind := next((kind for start, kind in COMPRESSED.items() if magic.startswith(start)), None):
        file.close()
        advice = "is a workbook; save it as CSV" if path.suffix == ".xlsx" else f"is packed ({kind}); unpack it first"
        raise UserError(f"{path}: {advice}")
    file.seek(len(BOM) if magic.startswith(BOM) else 0)
    return file


def first_character(path: Path) -> str:
    """The first non-space character of a file; "" for an empty one."""
    with open_data(path) as file:
        while block := file.read(4096):
            if text := block.lstrip():
                return chr(text[0])
    return ""


def hub_source(name: str, config: str | None, split: str | None) -> str:
    """The source for `records`: `hf:ORGANISATION/NAME#CONFIGURATION/SPLIT`."""
    return f"{HUB}{name}#{config or ''}/{split or ''}"


def local(name: str, folder: Path) -> str:
    """A dataset's name for `datasets`: a folder relative to the grid's, if it exists."""
    return str(folder / name) if name and is_folder(folder / name) else name


def _of_hub(source: str) -> Records:
    """The records of a dataset of the Hub, streamed; by default of its only split."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets", f"data: {HUB}...") from None
    name, _, place = (source if "#" in source else f"{source}#").removeprefix(HUB).rpartition("#")
    config, _, split = place.partition("/")
    try:
        splits = [split] if split else list(map(str, datasets.get_dataset_split_names(name, config or None)))
        if len(splits) == 1:
            stream = datasets.load_dataset(name, config or None, split=splits[0], streaming=True)
            for number, row in enumerate(stream, 1):
                yield f"{HUB}{name}: record {number} of {splits[0]}", row
    except Exception as error:  # noqa: BLE001 - the library may raise anything
        text = " ".join(str(error).split())[:300] or "cannot be read"
        raise UserError(f"{HUB}{name}: {type(error).__name__}: {text}") from None
    if len(splits) != 1:
        raise UserError(f"{HUB}{name}: name one of its splits with split: {', '.join(splits)}")
