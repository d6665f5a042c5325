"""What a table is: data for programs, and views of them for people.

The data become the CSV file. The views become the Markdown and the LaTeX file: rounded, ordered, the best in bold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

ABSENT = "–"
"""What people read where there is no number."""


@dataclass(frozen=True, slots=True)
class View:
    """A table as people read it.

    Attributes:
        title: Above the table.
        header: One text a column.
        lines: Texts, as many a line as the header has.
        bold: Places (line, column) that are set in bold.
        notes: Sentences below the table.
        left: How many columns hold names; the others hold numbers and are set to the right.
    """

    title: str
    header: list[str]
    lines: list[list[str]]
    bold: frozenset[tuple[int, int]] = frozenset()
    notes: list[str] = field(default_factory=list)
    left: int = 1


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: its data, and its views; without views people read the data as they are.

    Attributes:
        name: Of its files, without an ending.
        header, lines: The data; None is an empty field.
    """

    name: str
    title: str
    header: list[str]
    lines: list[list[Any]]
    views: list[View] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: int = 1

    def shown(self) -> list[View]:
        """The views, or one of the data themselves."""
        if self.views:
            return self.views
        lines = [[ABSENT if value is None else str(value) for value in line] for line in self.lines]
        return [View(self.title, self.header, lines, notes=self.notes, left=self.left)]


def best_of(columns: Sequence[Sequence[float | None]], first: int = 0) -> frozenset[tuple[int, int]]:
    """The places of the largest value of each column; ties are all the best, and a column of zeros has none.

    Args:
        columns: Values a column; None takes no part.
        first: Number of the first column.
    """
    found = set()
    for number, column in enumerate(columns, first):
        known = [round(value, 12) for value in column if value is not None]
        if known and max(known) > 0:
            found |= {
                (line, number)
                for line, value in enumerate(column)
                if value is not None and round(value, 12) == max(known)
            }
    return frozenset(found)
