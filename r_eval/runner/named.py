"""What the names in a grid stand for, seen from the folder that the grid lies in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.environments.opening import located as located_environment
from r_eval.errors import UserError
from r_eval.files import is_file, is_folder
from r_eval.grid import ConditionEntry, LLMEntry, WorkflowEntry
from r_eval.workflows.base import Workflow


def workflow_class(entry: WorkflowEntry, folder: Path) -> tuple[type[Workflow], dict[str, Any]]:
    """The class of a workflow, and the settings to make it with.

    Raises:
        UserError: The workflow is unknown.
    """
    kind, settings = located(entry.workflow, folder), entry.settings
    if kind == "agent":
        settings = located_settings(settings, folder)
    return plugins.load("workflows", kind, Workflow), settings


def own_name(
    entry: LLMEntry | WorkflowEntry | ConditionEntry, default: str, names: Mapping[str, Any], kind: str
) -> str:
    """The name of an entry in the grid.

    Raises:
        UserError: Another one has it.
    """
    name = entry.name or default
    if name in names:
        raise UserError(f"duplicate {kind} '{name}'; give one of them a name: of its own")
    return name


def located(name: str, folder: Path) -> str:
    """A file's path in a grid, seen from the grid's folder."""
    path = name.partition(":")[0]
    if path.endswith((".py", ".gguf")) and not Path(path).is_absolute() and is_file(folder / path):
        return str(folder / name)
    return name


def located_settings(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Settings in which files are seen from the grid's folder, and folders where they are written as a path."""
    return {key: _located_setting(value, folder) for key, value in settings.items()}


def _located_setting(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_located_setting(one, folder) for one in value]
    if not isinstance(value, str) or not value:
        return value
    if value.startswith("langchain:"):
        return located_environment(value, folder)
    path = folder / value
    return str(path) if is_file(path) or ("/" in value and is_folder(path)) else located(value, folder)
