"""Reads the tables (`gazetteer/`, `facts/`, `phrases.tsv`), and writes their cells as pages have them."""

from __future__ import annotations

import csv
import re
from calendar import month_name
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).parent


def split_title(title: str) -> tuple[str, str]:
    """A title without the words in brackets at its end, and these words.

    >>> split_title("Solaris (film)"), split_title("Solaris")
    (('Solaris', 'film'), ('Solaris', ''))
    """
    match = re.fullmatch(r"(.+) \((.+)\)", title)
    return (match[1], match[2]) if match else (title, "")


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a table of tab-separated columns; a cell that a row lacks is empty."""
    with FOLDER.joinpath(name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))
    return [{column: (cell or "").strip() for column, cell in row.items() if column} for row in rows]


def cells(row: dict[str, str], column: str) -> list[str]:
    """The values of a cell, without the characters that end a sentence."""
    return [clean(value) for value in row.get(column, "").split("|") if value.strip()]


def cell(row: dict[str, str], column: str) -> str:
    """The only value of a cell; empty where there is none, or not just one."""
    values = cells(row, column)
    return values[0] if len(values) == 1 else ""


def clean(text: str) -> str:
    """A text as it may be a value: without full stops, semicolons and double spaces.

    >>> clean("J. R. R. Tolkien")
    'J R R Tolkien'

    Raises:
        ValueError: It holds a decimal fraction, which would become another number.
    """
    if re.search(r"\d\.\d", text):
        raise ValueError(f"'{text}' holds a decimal fraction")
    return " ".join(text.replace(".", "").replace(";", ",").split())


def day(text: str) -> str:
    """A date as pages write it.

    >>> day("1879-03-14"), day("")
    ('14 March 1879', '')
    """
    if not text:
        return ""
    when = date.fromisoformat(text)
    return f"{when.day} {month_name[when.month]} {when.year}"


def grouped(number: int | str) -> str:
    """A number with separators, or nothing where it is unknown.

    >>> grouped(357021), grouped("6650"), grouped("")
    ('357,021', '6,650', '')
    """
    return f"{int(number):,}" if number else ""
