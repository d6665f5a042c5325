"""Published results as aggregates: a folder with a `scores.csv` (or a `components.csv`) and no episodes.

Such a folder is accepted wherever a run is; `load` tells the two apart. Columns `workflow, llm, task,
score` (percent), `episodes` where known. A task is a name or a paper's id such as 1-1; an id stands for the
task of that id, with its domain and level. What a `components.csv` holds is read by `published_components`; a folder
with nothing else has no systems.
"""

from __future__ import annotations

from pathlib import Path

from r_eval.analysis.aggregate import aggregate, domain_of, finish
from r_eval.analysis.csv_lines import number_in, table_lines
from r_eval.analysis.estimate import published
from r_eval.analysis.rows import Aggregates, Row, Task, role_of
from r_eval.analysis.systems import CLEAN
from r_eval.errors import UserError
from r_eval.folder import RunFolder

PAPER_TASKS = tuple(
    Task(name, id_, domain=domain_of(name), level={"1": "KS", "2": "KU", "3": "KA"}[id_[0]])
    for id_, name in (
        ("1-1", "wiki/high-freq"),
        ("1-2", "wiki/low-freq"),
        ("1-3", "aminer/soay-easy"),
        ("2-1", "wiki/copen-csj"),
        ("2-2", "wiki/copen-cpj"),
        ("2-3", "wiki/copen-cic"),
        ("2-4", "aminer/profiling"),
        ("3-1", "wiki/hotpotqa"),
        ("3-2", "wiki/2wikimultihopqa"),
        ("3-3", "wiki/musique"),
        ("3-4", "wiki/kqapro"),
        ("3-5", "aminer/soay-hard"),
    )
)
"""The twelve tasks of the paper's Table 1: number, name, domain, level."""

COLUMNS = ("workflow", "llm", "task", "score")


def load(*runs: RunFolder) -> Aggregates:
    """The aggregates of runs and folders of published results, in one.

    Where a system is in two of them, the later folder's name is added to it, as for two runs.

    Raises:
        UserError: A folder is neither, or a file in it cannot be read.
    """
    own = [run for run in runs if not is_published(run.path)]
    found = [read_published(run.path) for run in runs if is_published(run.path)]
    if own or not found:
        found.insert(0, aggregate(*own))
    if len(found) == 1:
        return found[0]
    _name_apart(found)
    tasks = {task.name: task for part in reversed(found) for task in part.tasks}
    return finish(
        [manifest for part in found for manifest in part.runs],
        list(tasks.values()),
        [row for part in found for row in part.rows],
        [pair for part in found for pair in part.scoring],
        has_episodes=any(part.has_episodes for part in found),
    )


def _name_apart(parts: list[Aggregates]) -> None:
    seen: set[tuple[str, str]] = set()
    for part in parts:
        systems = {(row.condition, row.system) for row in part.rows}
        if seen & systems:
            suffix = f" ({part.runs[0]['name']})"
            for row in part.rows:
                row.system += suffix
                row.llm += suffix
        seen |= {(row.condition, row.system) for row in part.rows}


def is_published(folder: Path) -> bool:
    """Whether a folder holds published results rather than a run."""
    there = any((folder / name).is_file() for name in ("scores.csv", "components.csv"))
    return there and not (folder / "run.json").exists()


def read_published(folder: Path) -> Aggregates:
    """The aggregates of a folder's scores.csv; of one that has a components.csv alone, none.

    Raises:
        UserError: The file is not there, lacks a column, or has a line that cannot be read.
    """
    path = folder / "scores.csv"
    manifest = {"name": folder.name, "published": True, "cells": []}
    if not path.exists() and is_published(folder):
        return finish([manifest], [], [], [], has_episodes=False)
    paper = {task.id: task for task in PAPER_TASKS} | {task.name: task for task in PAPER_TASKS}
    rows: dict[str, Row] = {}
    tasks: dict[str, Task] = {}
    for number, line in table_lines(path, COLUMNS, further=("episodes",)):
        task = paper.get(line["task"]) or Task(line["task"], domain=domain_of(line["task"]))
        tasks.setdefault(task.name, task)
        system = f"{line['workflow']}+{line['llm']}"
        row = rows.setdefault(system, Row(CLEAN, system, line["workflow"], line["llm"], role=role_of(line["workflow"])))
        if task.name in row.tasks:
            raise UserError(f"{path}:{number}: {system} has a second score for {line['task']}")
        score = number_in(path, number, line, "score", 100.0)
        episodes = int(number_in(path, number, line, "episodes")) if line["episodes"] else None
        row.tasks[task.name] = published(score / 100, episodes)
    order = [task for task in PAPER_TASKS if task.name in tasks]
    order += [task for task in tasks.values() if task not in order]
    domains = list(dict.fromkeys(task.domain for task in order))
    order.sort(key=lambda task: domains.index(task.domain))
    return finish([manifest], order, list(rows.values()), [], has_episodes=False)
