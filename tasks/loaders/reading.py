"""Reads the records of data sets: JSON lists and objects, JSON Lines, CSV, Parquet, and those of the Hugging Face Hub.

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
from r_eval.files import is_folder

HUB = "hf:"
TABLES = (".csv", ".tsv")
"""How the names of files in CSV end."""
BOM = b"\xef\xbb\xbf"
PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files begin."""
WHOLE = 500 * 2**20
"""Bytes of the largest JSON list or object that is read at once; in memory it takes about five times as many."""


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

    def __init__(self, path: Path | str, form: str, error: BaseException) -> None:
        super().__init__(f"{path}: not valid {form}: {' '.join(str(error).split())[:120]}")


def records(source: str | Path, inside: str = "") -> Iterator[Record | Fault]:
    """The records of a data set, whichever form it has.

    Args:
        source: A file, or `hf:ORGANISATION/NAME` (see `hub_source`).
        inside: Key of the list, where the file is one object that holds it.

    Raises:
        MissingExtra: What reads it is not installed.
        UserError: It cannot be read.
    """
    if str(source).startswith(HUB):
        return _of_hub(str(source))
    path = Path(source)
    first = first_character(path)
    if first == "[" or (inside and first == "{"):
        return _of_list(path, inside if first == "{" else "")
    if first == "P" and path.open("rb").read(4) == b"PAR1":
        return _of_parquet(path)
    return _of_table(path) if path.suffix.lower() in TABLES and first != "{" else _of_lines(path)


def json_members(path: Path) -> Iterator[Record]:
    """The members of one JSON object, as (key, value).

    Raises:
        MissingExtra: It is so large that it needs ijson, which is not installed.
        UserError: The file cannot be read, or is not one JSON object.
    """
    value: Any = dict(_streamed(path, "")) if _is_large(path) else _whole(path)
    if not isinstance(value, dict):
        raise NotThisForm(path, "JSON", ValueError("not one object"))
    return (Record(f"{path}: {key}", (key, member)) for key, member in value.items())


def json_lists(path: Path) -> Iterator[Record]:
    """The items of all lists that are members of one JSON object, as (the list's key, item). As `json_members`."""
    for member in json_members(path):
        key, value = member.data
        for number, item in enumerate(value if isinstance(value, list) else (), 1):
            yield Record(f"{member.place}, record {number}", (key, item))


def _of_list(path: Path, inside: str) -> Iterator[Record]:
    if _is_large(path):
        found = _streamed(path, f"{inside}.item" if inside else "item")
    else:
        value = _whole(path)
        listed = value.get(inside) if inside else value
        found = iter(listed if isinstance(listed, list) else [])
    for number, item in enumerate(found, 1):
        yield Record(f"{path}: record {number}", item)


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
        raise NotThisForm(f"{path}:{error.lineno}", "JSON", error) from None
    except UnicodeDecodeError as error:
        raise NotThisForm(path, "UTF-8 text", error) from None
    except (ValueError, RecursionError) as error:
        raise NotThisForm(path, "JSON", error) from None


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
            raise NotThisForm(path, "JSON", error) from None


def _of_parquet(path: Path) -> Iterator[Record]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", f"reading {path}") from None
    try:
        rows = (row for batch in parquet.ParquetFile(path).iter_batches() for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            yield Record(f"{path}: record {number}", row)
    except (ArrowException, OSError, ValueError) as error:
        raise NotThisForm(path, "Parquet", error) from None


def _of_lines(path: Path) -> Iterator[Record | Fault]:
    for place, text in lines(path):
        try:
            yield Record(place, json.loads(text))
        except (ValueError, RecursionError) as error:
            yield Fault(place, f"not valid JSON ({str(error)[:120]})")


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a text file that hold anything, each with its place.

    Bytes that are not UTF-8 become halves of surrogate pairs, which no question can hold.

    Raises:
        UserError: The file cannot be read.
    """
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path}:{number}", line.decode(errors="surrogateescape")


def _of_table(path: Path) -> Iterator[Record | Fault]:
    """The rows of a CSV file with a heading, each a mapping; tabs or semicolons are told from commas by the heading."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            heading = file.readline()
            file.seek(0)
            delimiter = max(",\t;", key=heading.count)
            rows = csv.DictReader(file, delimiter=delimiter, strict=True)
            for row in rows:
                place = f"{path}:{rows.line_num}"
                if None in row or None in row.values():
                    yield Fault(place, "not as many fields as the heading has")
                else:
                    yield Record(place, row)
    except UnicodeDecodeError:
        raise NotThisForm(path, "CSV", ValueError("not UTF-8 text; save the table as CSV in UTF-8")) from None
    except csv.Error as error:
        raise NotThisForm(path, "CSV", error) from None


def opened(path: Path) -> IO[bytes]:
    """A file opened for reading, behind its byte order mark.

    Raises:
        UserError: It cannot be read, or is packed.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise UserError(f"{path}: no such data file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
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


def hub_source(name: str, config: str | None, split: str | None) -> str:
    """The source that `records` takes: `hf:ORGANISATION/NAME#CONFIGURATION/SPLIT`."""
    return f"{HUB}{name}#{config or ''}/{split or ''}"


def local(name: str, folder: Path) -> str:
    """A dataset's name as `datasets` takes it: a folder seen from the grid's, where there is one."""
    return str(folder / name) if name and is_folder(folder / name) else name


def _of_hub(source: str) -> Iterator[Record]:
    """The records of a dataset of the Hub, streamed; of its one split where none is named."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets", f"data: {HUB}...") from None
    whole = source.removeprefix(HUB)
    name, _, place = whole.rpartition("#") if "#" in whole else (whole, "", "")
    config, _, split = place.partition("/")
    try:
        splits = [split] if split else [str(one) for one in datasets.get_dataset_split_names(name, config or None)]
        if len(splits) == 1:
            stream = datasets.load_dataset(name, config or None, split=splits[0], streaming=True)
            for number, row in enumerate(stream, 1):
                yield Record(f"{HUB}{name}: record {number} of {splits[0]}", row)
    except Exception as error:  # noqa: BLE001 - the library and what it reads with raise anything
        text = " ".join(str(error).split())[:300] or "cannot be read"
        raise UserError(f"{HUB}{name}: {type(error).__name__}: {text}") from None
    if len(splits) != 1:
        raise UserError(f"{HUB}{name}: name one of its splits with split: {', '.join(splits)}")
