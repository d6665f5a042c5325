"""Finds a format by its name, and tells from a file which one it is of."""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.tasks.loaders.base import Format
from r_eval.tasks.loaders.reading import (
    Fault,
    NotThisForm,
    Record,
    csv_records,
    first_character,
    is_parquet,
    json_members,
    json_records,
)

TABLES = (".csv", ".tsv")
"""How the names of files in CSV end."""
PEEKED = 3
"""Records that are looked at to tell a format."""


@functools.cache
def formats() -> dict[str, type[Format]]:
    """Every format that is installed, by name: those of this package, and of the packages of the entry points."""
    home: ModuleType = importlib.import_module(__name__.rpartition(".")[0])
    packages = [home, *(point.load() for point in sorted(entry_points(group="r_eval.formats"), key=lambda p: p.name))]
    found: dict[str, type[Format]] = {}
    for package in packages:
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            for value in vars(importlib.import_module(f"{package.__name__}.{module}")).values():
                if isinstance(value, type) and issubclass(value, Format) and "name" in vars(value):
                    found.setdefault(value.name, value)
    return dict(sorted(found.items()))


def named(name: str) -> type[Format]:
    """A format by its name, or by `module:Class` or `file.py:Class`.

    Raises:
        UserError: There is none.
    """
    if ":" in name:
        return plugins.load("formats", name, Format)
    if name not in formats():
        raise UserError(plugins.unknown("format", name, formats()))
    return formats()[name]


def format_of(path: Path) -> str | None:
    """The name of the format that a file or folder is of, by its first records; None where it is of none.

    Raises:
        UserError: It cannot be read.
    """
    first = _first(path)
    best = max(formats().values(), key=lambda one: one.fits(path, first))
    return best.name if best.fits(path, first) else None


def described(path: Path) -> str:
    """What a file is, for a message about one that is not what was expected."""
    found = format_of(path)
    if found is not None:
        return f"a file of the format '{found}'"
    if path.is_dir():
        return "a folder that is no data set as a whole"
    first = _first(path)
    if first and isinstance(first[0], dict):
        return f"records with the keys {', '.join(map(str, first[0]))[:200]}" if first[0] else "records without keys"
    if first:
        return f"records that are no mappings, such as {str(first[0])[:80]}"
    opening = first_character(path)
    if opening == "{" and (keys := _keys(path)):
        return f"one object with the keys {', '.join(keys)}"
    if opening == "[":
        return _why_no_record(path)
    return "an empty file" if not opening else f"text that begins with {opening!r}, neither JSON objects nor a list"


def _why_no_record(path: Path) -> str:
    """Why a JSON list gives no record."""
    try:
        return "a list whose first record is broken" if any(json_records(path)) else "an empty list"
    except NotThisForm as error:
        return f"a list that cannot be read ({error})"


def _keys(path: Path) -> list[str]:
    """The first keys of a file that is one JSON object."""
    try:
        return [record.data[0] for record in itertools.islice(json_members(path), PEEKED)]
    except NotThisForm:
        return []


def _first(path: Path) -> list[Any]:
    """The first records of a file, as far as it holds any in a form that is known."""
    if path.is_dir():
        return []
    opening = first_character(path)
    if path.suffix.lower() in TABLES and opening not in ("[", "{"):
        return _taken(lambda: csv_records(path))
    if opening not in ("[", "{") and not is_parquet(path):
        return []
    return _taken(lambda: json_records(path, inside="request_states")) or _taken(lambda: json_records(path))


def _taken(records: Callable[[], Iterator[Record | Fault]]) -> list[Any]:
    try:
        return [r.data for r in itertools.islice(records(), PEEKED) if isinstance(r, Record)]
    except NotThisForm:
        return []
