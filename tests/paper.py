"""The twelve tasks of the paper: those that are made from templates."""

from __future__ import annotations

from pathlib import Path

from r_eval.records import Question
from r_eval.tasks.base import installed, task_files


def paper_tasks() -> dict[str, Path]:
    """Their files, by name."""
    return {name: path for name, path in task_files().items() if path.with_name(f"{path.stem}.templates.yaml").exists()}


def everything(name: str) -> list[Question]:
    """The questions and demonstrations of an installed task."""
    return [*installed(name).questions, *installed(name).demonstrations]
