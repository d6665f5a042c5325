"""Writes the reference pages, docs/reference/, from the code: commands, grid keys, records, metrics, causes.

    python -m scripts.reference

A test compares the pages with what this module makes, so that neither can change alone.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import docstring_parser
import typer
from pydantic import BaseModel
from typer.cli import get_docs_for_click

from r_eval import grid, manifest, plugins, records
from r_eval.analysis import frame, metrics
from r_eval.analysis.causes import CAUSES
from r_eval.analysis.scoring import ScoreRecord
from r_eval.cli.app import app
from r_eval.environments.base import Environment
from r_eval.environments.conditions.base import Condition
from r_eval.environments.opening import SCHEMES
from r_eval.llms.base import LLM, LLMSettings, Price
from r_eval.vary import Vary
from r_eval.workflows.base import Workflow

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Written by `python -m scripts.reference`; change the docstrings, not this page. -->\n"


def cli() -> str:
    """Every command with its arguments and options."""
    command = typer.main.get_command(app)
    with typer.Context(command, info_name="r-eval") as context:
        _name_groups(command, context)
        text = get_docs_for_click(obj=command, ctx=context, name="r-eval")
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+\n", "", text)
    text = re.sub(r"^\* `--help`:.*\n", "", text, flags=re.MULTILINE).replace("**Options**:\n\n\n", "")
    return _page("Commands", text.partition("\n")[2])


def _name_groups(group: Any, context: Any) -> None:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        command.name = name
        if hasattr(command, "list_commands"):
            _name_groups(command, context)


def grids() -> str:
    """The keys of a grid file, and the settings of what it names."""
    parts: list[tuple[str, type[BaseModel]]] = [
        ("The grid", grid.Grid),
        ("`llms`", grid.LLMEntry),
        ("`workflows`", grid.WorkflowEntry),
        ("`tasks`", grid.TaskEntry),
        ("`environment` of a task", grid.EnvironmentEntry),
        ("`conditions`", grid.ConditionEntry),
        ("`vary`", Vary),
        ("`limits`", grid.Limits),
        ("`budget`", grid.BudgetEntry),
        ("`stop_early`", grid.StopEarlyEntry),
        ("`exclude`", grid.Exclude),
        ("Settings of every LLM", LLMSettings),
        ("`price`", Price),
    ]
    lines = [line for title, model in parts for line in _section(title, model, _fields(model))]
    for prefix, backend in sorted(plugins.names("llms", LLM).items()):
        own = {key: row for key, row in _fields(backend.Settings).items() if key not in LLMSettings.model_fields}
        lines += _section(f"LLM `{prefix}/`", backend, own)
    kinds: tuple[tuple[str, type[Any]], ...] = (
        ("workflow", Workflow),
        ("environment", Environment),
        ("condition", Condition),
    )
    for kind, base in kinds:
        for name, found in sorted(plugins.names(f"{kind}s", base).items()):
            lines += _section(f"{kind.capitalize()} `{name}`", found, _parameters(found))
    for target, form in SCHEMES.values():
        module, _, name = target.partition(":")
        found = getattr(importlib.import_module(module), name)
        own = {key: row for key, row in _parameters(found).items() if row[1] != "required"}
        lines += _section(f"Environment `{form}`", found, own)
    return _page("Grid keys", "\n".join(lines))


def record_fields() -> str:
    """The fields of run.json, of questions, episodes and scores, and the columns of the frame."""
    models = [records.Episode, records.Outcome, records.SentMessage, records.Step, records.Tokens, records.Usage]
    models += [records.Seconds, records.Question, records.Document, ScoreRecord, manifest.Manifest]
    models += [manifest.CellPart, manifest.SystemPart, manifest.TaskPart, manifest.LLMPart, manifest.SpentPart]
    lines = [line for model in models for line in _section(model.__name__, model, _fields(model))]
    lines += ["## Frame", "", "The columns of `Run.to_pandas()`, one row an episode.", "", *_table(("column", "type"))]
    lines += [_row(f"`{name}`", kind) for name, kind in frame.COLUMNS.items()]
    return _page("Records", "\n".join(lines))


def metric_table() -> str:
    """The metrics by name."""
    found = [metrics.get(name) for name in metrics.names()]
    rows = [_row(f"`{metric.name}`", metric.about, metric.needs) for metric in found]
    return _page("Metrics", "\n".join([*_table(("name", "score of an answer", "needs")), *rows]))


def cause_table() -> str:
    """The causes of failures."""
    rows = [_row(f"`{name}`", sentence) for name, sentence in CAUSES.items()]
    return _page("Causes of failures", "\n".join([*_table(("cause", "meaning")), *rows]))


PAGES = {
    "cli.md": cli,
    "grid.md": grids,
    "records.md": record_fields,
    "metrics.md": metric_table,
    "causes.md": cause_table,
}


def _page(title: str, text: str) -> str:
    return f"# {title}\n\n{NOTE}\n{text.strip()}\n"


def _section(title: str, thing: Any, rows: Mapping[str, tuple[str, str, str]]) -> list[str]:
    """A heading, what the docstring says first, and a table of keys."""
    about = docstring_parser.parse(inspect.getdoc(thing) or "")
    lines = [f"## {title}", "", *([_plain(about.short_description), ""] if about.short_description else [])]
    if rows:
        lines += [*_table(("key", "type", "default", "meaning"))]
        lines += [_row(f"`{key}`", *cells) for key, cells in rows.items()]
        lines.append("")
    return lines


def _fields(model: type[BaseModel]) -> dict[str, tuple[str, str, str]]:
    """By key, a model's fields: type, default and meaning."""
    schema = model.model_json_schema(by_alias=True)["properties"]
    said = _meanings(model)
    found = {}
    for name, field in model.model_fields.items():
        if field.exclude:
            continue
        key = field.alias or name
        default = "required" if field.is_required() else _default(None if field.default_factory else field.default)
        found[key] = (_type(schema[key]), default, said.get(name, field.description or ""))
    return found


def _parameters(thing: type[Any]) -> dict[str, tuple[str, str, str]]:
    """By key, what a class is made with: type, default and meaning."""
    said = _meanings(thing) | _meanings(thing.__init__)
    found = {}
    for name, parameter in inspect.signature(thing).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        kind = parameter.annotation if isinstance(parameter.annotation, str) else _name(parameter.annotation)
        kind = kind.removesuffix(" | None")
        default = "required" if parameter.default is parameter.empty else _default(parameter.default)
        found[name] = (kind, default, said.get(name, ""))
    return found


def _meanings(thing: Any) -> dict[str, str]:
    """What a docstring says of arguments and attributes, and those of the classes below it."""
    found: dict[str, str] = {}
    for cls in reversed(getattr(thing, "__mro__", (thing,))):
        if cls is object or not cls.__doc__:
            continue
        for part in docstring_parser.parse(inspect.cleandoc(cls.__doc__)).params:
            found.update(dict.fromkeys(part.arg_name.split(", "), _plain(part.description)))
    return found


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _default(value: Any) -> str:
    if value is None or value in ("", [], {}, ()) or isinstance(value, BaseModel | list):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _name(annotation: Any) -> str:
    return getattr(annotation, "__name__", str(annotation))


def _type(schema: Mapping[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(_type(option) for option in options if option.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _table(heads: Iterable[str]) -> list[str]:
    names = list(heads)
    return [_row(*names), "|" + " --- |" * len(names)]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
