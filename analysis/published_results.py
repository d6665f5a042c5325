"""Published results: a folder with a `scores.csv` or a `components.csv` and no episodes, accepted wherever a run is.

`scores.csv` has the columns `workflow, llm, task, score` (percent), `episodes` where known. A task is a name or a
paper's id such as 1-1; an id is that of a task, with its domain and level. `components.csv` has `table,
component, setting, task, metric, value`: a mean a line, in percent (`length` in characters), with the table where it is
printed; `sweeps` has the results of runs. A folder with nothing else has no systems.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.analysis.frame import FLAG, NUMBER, TEXT, domain_of, role_of
from r_eval.errors import UserError

if TYPE_CHECKING:
    import pandas

PAPER_TASKS = {
    "1-1": "wiki/high-freq",
    "1-2": "wiki/low-freq",
    "1-3": "aminer/soay-easy",
    "2-1": "wiki/copen-csj",
    "2-2": "wiki/copen-cpj",
    "2-3": "wiki/copen-cic",
    "2-4": "aminer/profiling",
    "3-1": "wiki/hotpotqa",
    "3-2": "wiki/2wikimultihopqa",
    "3-3": "wiki/musique",
    "3-4": "wiki/kqapro",
    "3-5": "aminer/soay-hard",
}
"""The twelve tasks of the paper's Table 1, by their ids; the first digit is the level."""
LEVEL_OF = {"1": "KS", "2": "KU", "3": "KA"}
SCORE_COLUMNS = ("workflow", "llm", "task", "score")
FILE = "components.csv"
COMPONENT_COLUMNS = ("table", "component", "setting", "task", "metric", "value")
"""The columns of the file."""
SHARE = "share"
"""The unit of a metric from 0 to 1, of which more is better. No setting is best by another unit."""
UNITS = {"length": "characters", "seconds": "seconds", "prompt_tokens": "tokens", "completion_tokens": "tokens"}
"""Measures that are no share."""
COMPONENTS: dict[str, str] = {
    **dict.fromkeys(("study", "condition", "component", "setting"), TEXT),
    **dict.fromkeys(("base", "ordinal"), FLAG),
    **dict.fromkeys(("table", "task", "metric"), TEXT),
    "main": FLAG,
    **dict.fromkeys((f"{name}{end}" for name in ("score", "number") for end in ("", "_low", "_high")), NUMBER),
    "unit": TEXT,
    **dict.fromkeys(("episodes", "incomplete", "questions", "clusters"), "Int64"),
}
"""The columns of `sweeps.components`."""
UNTESTED = "significance is unknown: published means come without episodes"
MOST = 1e12
"""The largest number that is read."""


def is_published(folder: Path) -> bool:
    """Whether a folder holds published results rather than a run."""
    there = any((folder / name).is_file() for name in ("scores.csv", "components.csv"))
    return there and not (folder / "run.json").exists()


def read_published(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """The manifest, the cells and the tasks of a folder's scores.csv, as `results` takes them.

    Raises:
        UserError: The file is not there, lacks a column, or has a line that cannot be read.
    """
    path = folder / "scores.csv"
    manifest: dict[str, Any] = {"name": folder.name, "published": True, "cells": [], "tasks": []}
    if not path.exists() and is_published(folder):
        return manifest, [], []
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    tasks: dict[str, dict[str, Any]] = {}
    for number, line in table_lines(path, SCORE_COLUMNS, further=("episodes",)):
        task = _task(line["task"])
        tasks.setdefault(task["name"], task)
        workflow, llm, system = line["workflow"], line["llm"], f"{line['workflow']}+{line['llm']}"
        if (system, task["name"]) in cells:
            raise UserError(f"{path}:{number}: {system} has a second score for {line['task']}")
        cells[system, task["name"]] = {
            **{"condition": "clean", "system": system, "workflow": workflow, "llm": llm, "role": role_of(workflow)},
            **{"task": task["name"], "domain": task["domain"], "level": task["level"], "metric": ""},
            **{"run": folder.name, "stopped": False},
            "score": number_in(path, number, line, "score", 100.0) / 100,
            "expected": int(number_in(path, number, line, "episodes")) or None if line["episodes"] else None,
        }
    order = [name for name in PAPER_TASKS.values() if name in tasks]
    order += [name for name in tasks if name not in order]
    domains = list(dict.fromkeys(tasks[name]["domain"] for name in order))
    order.sort(key=lambda name: domains.index(tasks[name]["domain"]))
    return manifest, list(cells.values()), [tasks[name] for name in order]


def _task(name: str) -> dict[str, Any]:
    """A task by its name or by a paper's id."""
    own = PAPER_TASKS.get(name, name)
    id_ = next((id_ for id_, task in PAPER_TASKS.items() if task == own), "")
    level = LEVEL_OF[id_[0]] if id_ else ""
    return {"name": own, "title": "", "id": id_, "domain": domain_of(own), "level": level, "metric": ""}


def read_components(folder: Path) -> pandas.DataFrame:
    """The results of a folder's components.csv with the columns COMPONENTS, settings in order, means as shares.

    Raises:
        UserError: The file is not there, lacks a column, or has a line that cannot be read or is there twice.
    """
    path = folder / FILE
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    settings: dict[str, dict[str, None]] = {}
    metrics: dict[tuple[str, str], dict[str, None]] = {}
    for number, line in table_lines(path, COMPONENT_COLUMNS):
        component, task, metric, setting = (line[name] for name in ("component", "task", "metric", "setting"))
        key = component, task, metric, setting
        if key in found:
            named = f"{component} {setting}, {task}, {metric}"
            raise UserError(f"{path}:{number}: a second value for {named}; give each mean once")
        unit = UNITS.get(metric, SHARE)
        value = number_in(path, number, line, "value", 100.0 if unit == SHARE else MOST)
        mean = {"score": value / 100} if unit == SHARE else {"number": value}
        found[key] = {**line, **mean, "unit": unit, "study": folder.name, "condition": "clean"}
        settings.setdefault(component, {})[setting] = None
        metrics.setdefault((component, task), {})[metric] = None
    rows = []
    for (component, task), names in metrics.items():
        values, ordinal = ordered(list(settings[component]))
        rows += [
            {**found[key], "base": False, "ordinal": ordinal, "main": metric == next(iter(names))}
            for metric in names
            for value in values
            if (key := (component, task, metric, value)) in found
        ]
    from r_eval.analysis.results import tidy

    return tidy(rows, COMPONENTS)


def label(value: Any) -> str:
    """A setting's value as people read it.

    >>> label(64), label("10%"), label(None), label(["a", "b"])
    ('64', '10%', 'none', '["a", "b"]')
    """
    if isinstance(value, str):
        return value
    return "none" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def ordered(values: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The values in order, and whether they are numbers: these ascend, as per cents do; else as they come.

    A 0 without a sign goes with per cents as well as with plain numbers.

    >>> ordered(["128", "8", "64"]), ordered(["0", "70%", "10%"]), ordered(["dense", "bm25"])
    ((('8', '64', '128'), True), (('0', '10%', '70%'), True), (('dense', 'bm25'), False))
    """
    try:
        numbers = {value: float(value.strip().removesuffix("%")) for value in values}
    except ValueError:
        return tuple(values), False
    signs = {value.strip().endswith("%") for value, number in numbers.items() if number}
    if len(signs) > 1 or not values or not all(map(math.isfinite, numbers.values())):
        return tuple(values), False
    return tuple(sorted(values, key=numbers.__getitem__)), True


def table_lines(path: Path, columns: Sequence[str], further: Sequence[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """The lines of a CSV file with their numbers, texts without blanks around them.

    Args:
        columns: That the file must have.
        further: Columns that the file may have; empty where it has not.

    Raises:
        UserError: The file cannot be read, lacks a column, or a line lacks a value.
    """
    wanted, needed = (*columns, *further), ", ".join(columns)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
            found = [(reader.line_num, {name: (line.get(name) or "").strip() for name in wanted}) for line in reader]
            absent = [name for name in columns if name not in reader.fieldnames]
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV in UTF-8: {error}") from None
    if absent:
        raise UserError(f"{path}: lacks the column {absent[0]!r}; needed are {needed}")
    for number, line in found:
        if not all(line[name] for name in columns):
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
