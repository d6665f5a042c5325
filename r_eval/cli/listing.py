"""`r-eval list`: what there is to name in a grid."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from r_eval import plugins
from r_eval.errors import UserError


def list_command(kind: str, as_json: bool) -> None:
    """Print everything of one kind, a line each."""
    sources = {
        "workflows": _workflows,
        "llms": _llms,
        "environments": _environments,
        "tasks": _tasks,
        "conditions": _conditions,
        "metrics": _metrics,
    }
    if kind not in sources:
        raise UserError(plugins.unknown("kind", kind, sources))
    rows = sources[kind]()
    if as_json:
        sys.stdout.write(json.dumps(rows, ensure_ascii=False) + "\n")
        return
    columns = list(rows[0]) if rows else []
    widths = [max(len(str(row[column])) for row in rows) for column in columns]
    for row in rows:
        cells = (f"{row[column]!s:<{width}}" for column, width in zip(columns, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def first_line(thing: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _workflows() -> list[dict[str, Any]]:
    from r_eval.workflows.base import Workflow

    return [
        {"name": n, "about": first_line(sys.modules[c.__module__])}
        for n, c in plugins.names("workflows", Workflow).items()
    ]


def _llms() -> list[dict[str, Any]]:
    from r_eval.llms.base import LLM
    from r_eval.llms.model_files import MODELS

    backends = [
        {"name": f"{n}/...", "about": first_line(sys.modules[c.__module__])}
        for n, c in plugins.names("llms", LLM).items()
    ]
    embedded = [
        {"name": f"gguf/{n}", "about": f"embedded, {m.size / 1e6:.0f} MB, {m.licence}"} for n, m in MODELS.items()
    ]
    return backends + embedded


def _environments() -> list[dict[str, Any]]:
    from r_eval.environments.base import Environment

    return [
        {"name": n, "apis": ", ".join(c.query_apis()), "about": first_line(c)}
        for n, c in plugins.names("environments", Environment).items()
    ]


def _tasks() -> list[dict[str, Any]]:
    from r_eval.tasks.base import installed, task_files

    tasks = [installed(name) for name in task_files()]
    return [
        {"id": t.id, "name": t.name, "level": t.level, "questions": len(t.questions), "title": t.title}
        for t in sorted(tasks, key=lambda t: t.id)
    ]


def _conditions() -> list[dict[str, Any]]:
    from r_eval.environments.conditions.combined import CLEAN
    from r_eval.environments.conditions.finding import known

    found = [{"name": name, "about": first_line(cls)} for name, cls in sorted(known().items())]
    return [{"name": CLEAN.name, "about": "The environment as it is."}, *found]


def _metrics() -> list[dict[str, Any]]:
    from r_eval.analysis import metrics

    return [{"name": name, "about": first_line(metrics.get(name))} for name in metrics.names()]
