"""`r-eval list`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Annotated, Any

from typer import Argument

from r_eval import plugins
from r_eval.cli.options import Json, print_json
from r_eval.errors import UserError

KINDS = ("workflows", "llms", "environments", "tasks", "conditions", "metrics")


def list_(
    kind: Annotated[str, Argument(metavar="KIND", help="workflows, llms, environments, tasks, conditions or metrics.")],
    json: Json = False,
) -> None:
    """List what a grid can name."""
    if kind not in KINDS:
        raise UserError(plugins.unknown("kind", kind, KINDS))
    rows = list(_rows(kind))
    if json:
        print_json(rows)
        return
    widths = {column: max(len(str(row[column])) for row in rows) for column in rows[0]}
    for row in rows:
        sys.stdout.write("  ".join(f"{row[column]!s:<{width}}" for column, width in widths.items()).rstrip() + "\n")


def _rows(kind: str) -> Iterator[dict[str, Any]]:
    """What there is of a kind, with a line about each."""
    if kind == "workflows":
        from r_eval.workflows.base import Workflow

        for name, cls in plugins.names(kind, Workflow).items():
            yield {"name": name, "about": first_line(sys.modules[cls.__module__])}
    elif kind == "llms":
        from r_eval.llms.base import LLM
        from r_eval.llms.model_files import MODELS

        for name, cls in plugins.names(kind, LLM).items():
            yield {"name": f"{name}/...", "about": first_line(sys.modules[cls.__module__])}
        for name, model in MODELS.items():
            yield {"name": f"gguf/{name}", "about": f"embedded, {model.size / 1e6:.0f} MB, {model.licence}"}
    elif kind == "environments":
        from r_eval.environments.base import Environment

        for name, cls in plugins.names(kind, Environment).items():
            yield {"name": name, "apis": ", ".join(cls.query_apis()), "about": first_line(cls)}
    elif kind == "tasks":
        from r_eval.tasks.base import installed, task_files

        for task in sorted(map(installed, task_files()), key=lambda task: task.id):
            counts = {"level": task.level, "questions": len(task.questions)}
            yield {"id": task.id, "name": task.name, **counts, "title": task.title}
    elif kind == "conditions":
        from r_eval.environments.conditions.base import Condition
        from r_eval.environments.conditions.combined import CLEAN

        yield {"name": CLEAN.name, "about": "The unchanged environment."}
        for name, cls in sorted(plugins.names(kind, Condition).items()):
            yield {"name": name, "about": first_line(cls)}
    else:
        from r_eval.analysis import metrics

        for name in metrics.names():
            yield {"name": name, "about": metrics.get(name).about}


def first_line(thing: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]
