"""CSV files with results that somebody else published: their lines, and the numbers in them, or what is wrong where."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from r_eval.errors import UserError

MOST = 1e12


def table_lines(
    path: Path, columns: Sequence[str], empty: Sequence[str] = (), further: Sequence[str] = ()
) -> list[tuple[int, dict[str, str]]]:
    """The lines of a CSV file with their numbers, texts without blanks around them.

    Args:
        columns: That the file must have.
        empty: Those of them that a line may leave empty.
        further: Columns that the file may have; empty where it has not.

    Raises:
        UserError: The file cannot be read, lacks a column, or a line lacks a value.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            lines = [(reader.line_num, line) for line in reader]
            there = reader.fieldnames or ()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV in UTF-8: {error}") from None
    needed = ", ".join(columns)
    absent = [column for column in columns if column not in there]
    if absent:
        raise UserError(f"{path}: lacks the column {absent[0]!r}; needed are {needed}")
    found = [
        (number, {column: (line.get(column) or "").strip() for column in (*columns, *further)})
        for number, line in lines
    ]
    for number, line in found:
        if any(not line[column] for column in columns if column not in empty):
            raise UserError(f"{path}:{number}: a value is missing; needed are {needed}")
    return found


def number_in(path: Path, number: int, line: Mapping[str, str], column: str, most: float = MOST) -> float:
    """The number in a column of a line, from 0 to `most`.

    Raises:
        UserError: The number is unknown.
    """
    try:
        value = float(line[column])
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        kind = "a number of 0 or more" if most == MOST else f"a number from 0 to {most:.0f}"
        raise UserError(f"{path}:{number}: {column} is {line[column]!r}; expected {kind}")
    return value
