"""Published component results: a folder with a `components.csv` and no episodes, beside or in place of a scores.csv.

Columns `table, component, value, task, metric, score, source`: a mean a line, in percent (`length` in characters), with
the table where it stands and where it was read. `studies` takes such folders and runs that vary settings alike.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from r_eval.analysis.components import SHARE, Component, Curve, Point, Study, ordered, unit_of
from r_eval.analysis.estimate import Estimate, published
from r_eval.analysis.sweeps import sweep_studies
from r_eval.errors import UserError
from r_eval.folder import RunFolder

FILE = "components.csv"
COLUMNS = ("table", "component", "value", "task", "metric", "score", "source")


def studies(*runs: RunFolder) -> list[Study]:
    """The component results of runs that vary settings, and of folders of published ones; none of any other run.

    Raises:
        UserError: A folder is neither, or a file in it cannot be read.
    """
    found: list[Study] = []
    for run in runs:
        if run.run_file.exists():
            found += sweep_studies(run)
        elif (run.path / FILE).is_file():
            found.append(read_components(run.path))
    return found


def read_components(folder: Path, condition: str = "clean") -> Study:
    """The component results of a folder's components.csv.

    Raises:
        UserError: The file is not there, lacks a column, or has a line that cannot be read or stands twice.
    """
    path = folder / FILE
    points: dict[str, dict[tuple[str, str], dict[str, Point]]] = {}
    for number, line in table_lines(path, COLUMNS):
        curves = points.setdefault(line["component"], {})
        curve = curves.setdefault((line["task"], line["metric"]), {})
        value = line["value"]
        if value in curve:
            named = f"{line['component']} {value}, {line['task']}, {line['metric']}"
            raise UserError(f"{path}:{number}: a second score for {named}; a mean stands once")
        curve[value] = Point(value, _estimate(path, number, line), table=line["table"], source=line["source"])
    return Study(folder.name, condition, "", {}, tuple(_component(name, curves) for name, curves in points.items()))


def table_lines(path: Path, columns: Sequence[str], empty: Sequence[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """The lines of a CSV file with their numbers, texts without blanks around them.

    Args:
        columns: That the file must have.
        empty: Those of them that a line may leave empty.

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
    found = [(number, {column: (line[column] or "").strip() for column in columns}) for number, line in lines]
    for number, line in found:
        if any(not line[column] for column in columns if column not in empty):
            raise UserError(f"{path}:{number}: a value is missing; needed are {needed}")
    return found


def _estimate(path: Path, number: int, line: dict[str, str]) -> Estimate:
    share = unit_of(line["metric"]) == SHARE
    try:
        score = float(line["score"])
    except ValueError:
        score = math.nan
    if not 0 <= score <= (100 if share else 1e12):
        kind = "a number from 0 to 100" if share else "a number of 0 or more"
        raise UserError(f"{path}:{number}: score is {line['score']!r}; expected {kind}")
    return published(score / 100) if share else Estimate(score, 0, None, None, None, None, None)


def _component(name: str, curves: dict[tuple[str, str], dict[str, Point]]) -> Component:
    values, numeric = ordered(list(dict.fromkeys(value for points in curves.values() for value in points)))
    made = []
    for (task, metric), points in curves.items():
        own = metric == next(other for of, other in curves if of == task)
        there = tuple(points[value] for value in values if value in points)
        made.append(Curve(name, task, metric, unit_of(metric), own, there))
    return Component(name, values, numeric, "", tuple(made))
