"""Published component results: a folder with a `components.csv` and no episodes, beside or in place of a scores.csv.

Columns `table, component, value, task, metric, score, source`: a mean a line, in percent (`length` in characters), with
the table where it stands and where it was read. `studies` takes such folders and runs that vary settings alike.
"""

from __future__ import annotations

from pathlib import Path

from r_eval.analysis.components import SHARE, Component, Curve, Point, Study, ordered, unit_of
from r_eval.analysis.csv_lines import MOST, number_in, table_lines
from r_eval.analysis.estimate import Estimate, published
from r_eval.analysis.sweeps import sweep_studies
from r_eval.analysis.systems import CLEAN
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


def read_components(folder: Path) -> Study:
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
    return Study(folder.name, CLEAN, "", {}, tuple(_component(name, curves) for name, curves in points.items()))


def _estimate(path: Path, number: int, line: dict[str, str]) -> Estimate:
    share = unit_of(line["metric"]) == SHARE
    score = number_in(path, number, line, "score", 100.0 if share else MOST)
    return published(score / 100) if share else Estimate(score, 0, None, None, None, None, None)


def _component(name: str, curves: dict[tuple[str, str], dict[str, Point]]) -> Component:
    values, numeric = ordered(list(dict.fromkeys(value for points in curves.values() for value in points)))
    made = []
    for (task, metric), points in curves.items():
        own = metric == next(other for of, other in curves if of == task)
        there = tuple(points[value] for value in values if value in points)
        made.append(Curve(name, task, metric, unit_of(metric), own, there))
    return Component(name, values, numeric, "", tuple(made))
