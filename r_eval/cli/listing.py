"""`r-eval list` and `r-eval doctor`: what there is, and what is missing."""

from __future__ import annotations

import importlib.util
import inspect
import json
import platform
import sys
from typing import Any

from r_eval import __version__, plugins
from r_eval.errors import UserError

EXTRAS = {
    "local": ("xllamacpp", "local models (gguf/...)"),
    "report": ("matplotlib", "figures for papers"),
    "pandas": ("pandas", "Run.to_pandas"),
    "prices": ("genai_prices", "the prices of OpenAI's models"),
    "hf": ("transformers", "models behind transformers (hf/...)"),
    "langchain": ("langchain_core", "chat models, tools and retrievers of LangChain (langchain/..., langchain:...)"),
    "langgraph": ("langchain", "agents of LangChain and LangGraph as workflows (langgraph/...)"),
    "mcp": ("mcp", "environments behind MCP servers (mcp:...), r-eval serve --mcp"),
    "wiki": ("lxml", "live wikis (source: live)"),
    "zim": ("libzim", "ZIM files as wikis (source: zim)"),
    "aminer": ("pybtex", "live AMiner, and importing publication databases"),
}


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
    from r_eval.llms.pull import MODELS

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


def doctor_command() -> None:
    """Print what is installed, what is missing, and the one next command."""
    from r_eval.llms.pull import MODELS, model_path

    lines = [f"r-eval {__version__}, Python {platform.python_version()}"]
    todo: list[str] = []
    for extra, (module, purpose) in EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        lines.append(f"{'ok     ' if there else 'missing'}  {module}: {purpose}")
        if not there:
            todo.append(f"pip install 'r-eval[{extra}]'")
    for name in MODELS:
        there = model_path(name).exists()
        lines.append(f"{'ok     ' if there else 'missing'}  model {name}: {model_path(name)}")
        if not there:
            todo.append(f"r-eval pull {name}")
    lines.append(f"next: {todo[0]}" if todo else "next: r-eval demo")
    sys.stdout.write("\n".join(lines) + "\n")
