"""Published results: a folder with a `scores.csv` (or a `components.csv`) and no episodes, accepted wherever a run is.

Columns `workflow, llm, task, score` (percent), `episodes` where known. A task is a name or a paper's id such as 1-1; an
id stands for the task of that id, with its domain and level. What a `components.csv` holds is read by
`published_components`; a folder with nothing else has no systems.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from r_eval.analysis.csv_lines import number_in, table_lines
from r_eval.analysis.frame import domain_of, role_of
from r_eval.errors import UserError

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
COLUMNS = ("workflow", "llm", "task", "score")

Row = dict[str, Any]


def is_published(folder: Path) -> bool:
    """Whether a folder holds published results rather than a run."""
    there = any((folder / name).is_file() for name in ("scores.csv", "components.csv"))
    return there and not (folder / "run.json").exists()


def read_published(folder: Path) -> tuple[Row, list[Row], list[Row]]:
    """What stands for the manifest, the cells and the tasks of a folder's scores.csv, as `results` takes them.

    Raises:
        UserError: The file is not there, lacks a column, or has a line that cannot be read.
    """
    path = folder / "scores.csv"
    manifest: Row = {"name": folder.name, "published": True, "cells": [], "tasks": []}
    if not path.exists() and is_published(folder):
        return manifest, [], []
    cells: dict[tuple[str, str], Row] = {}
    tasks: dict[str, Row] = {}
    for number, line in table_lines(path, COLUMNS, further=("episodes",)):
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
            "expected": int(number_in(path, number, line, "episodes")) if line["episodes"] else None,
        }
    order = [name for name in PAPER_TASKS.values() if name in tasks]
    order += [name for name in tasks if name not in order]
    domains = list(dict.fromkeys(tasks[name]["domain"] for name in order))
    order.sort(key=lambda name: domains.index(tasks[name]["domain"]))
    return manifest, list(cells.values()), [tasks[name] for name in order]


def _task(name: str) -> Row:
    """A task by its name or by a paper's id."""
    by_name = {own: id_ for id_, own in PAPER_TASKS.items()}
    id_ = name if name in PAPER_TASKS else by_name.get(name, "")
    own = PAPER_TASKS.get(name, name)
    level = LEVEL_OF[id_[0]] if id_ else ""
    return {"name": own, "title": "", "id": id_, "domain": domain_of(own), "level": level, "metric": ""}
