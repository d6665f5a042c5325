"""`r-eval list`."""

from __future__ import annotations

import inspect
import sys
from typing import Annotated, Any

import typer

from r_eval import plugins
from r_eval.cli.options import Json, print_json
from r_eval.errors import UserError


def list_(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="workflows, llms, environments, tasks, conditions or metrics.")
    ],
    json: Json = False,
) -> None:
    """List what a grid can name."""
    if kind not in SOURCES:
        raise UserError(plugins.unknown("kind", kind, SOURCES))
    rows = SOURCES[kind]()
    if json:
        print_json(rows)
        return
    widths = {column: max(len(str(row[column])) for row in rows) for column in (rows[0] if rows else ())}
    for row in rows:
        sys.stdout.write("  ".join(f"{row[column]!s:<{width}}" for column, width in widths.items()).rstrip() + "\n")


def first_line(thing: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _workflows() -> list[dict[str, Any]]:
    from r_eval.workflows.base import Workflow

    found = plugins.names("workflows", Workflow)
    return [{"name": name, "about": first_line(sys.modules[cls.__module__])} for name, cls in found.items()]


def _llms() -> list[dict[str, Any]]:
    from r_eval.llms.base import LLM
    from r_eval.llms.model_files import MODELS

    found = plugins.names("llms", LLM)
    backends = [
        {"name": f"{name}/...", "about": first_line(sys.modules[cls.__module__])} for name, cls in found.items()
    ]
    embedded = [
        {"name": f"gguf/{name}", "about": f"embedded, {model.size / 1e6:.0f} MB, {model.licence}"}
        for name, model in MODELS.items()
    ]
    return backends + embedded


def _environments() -> list[dict[str, Any]]:
    from r_eval.environments.base import Environment

    found = plugins.names("environments", Environment)
    return [
        {"name": name, "apis": ", ".join(cls.query_apis()), "about": first_line(cls)} for name, cls in found.items()
    ]


def _tasks() -> list[dict[str, Any]]:
    from r_eval.tasks.base import installed, task_files

    tasks = sorted((installed(name) for name in task_files()), key=lambda task: task.id)
    return [
        {"id": task.id, "name": task.name, "level": task.level, "questions": len(task.questions), "title": task.title}
        for task in tasks
    ]


def _conditions() -> list[dict[str, Any]]:
    from r_eval.environments.conditions.base import Condition
    from r_eval.environments.conditions.combined import CLEAN

    conditions = sorted(plugins.names("conditions", Condition).items())
    found = [{"name": name, "about": first_line(cls)} for name, cls in conditions]
    return [{"name": CLEAN.name, "about": "The environment as it is."}, *found]


def _metrics() -> list[dict[str, Any]]:
    from r_eval.analysis import metrics

    return [{"name": name, "about": metrics.get(name).about} for name in metrics.names()]


SOURCES = {
    "workflows": _workflows,
    "llms": _llms,
    "environments": _environments,
    "tasks": _tasks,
    "conditions": _conditions,
    "metrics": _metrics,
}
