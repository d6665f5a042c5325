"""Carries out what `vary:` says: finds the workflow that varies, and makes one entry of a workflow a variant.

A setting belongs to the workflow where its constructor has such a parameter, else to the environments of the tasks.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.environments.base import Environment
from r_eval.environments.opening import SCHEMES
from r_eval.errors import UserError
from r_eval.grid import Grid, WorkflowEntry
from r_eval.runner.named import workflow_class
from r_eval.tasks.base import Task
from r_eval.vary import Variant, Vary


@dataclasses.dataclass(frozen=True)
class Sweep:
    """The variants of a grid.

    Attributes:
        workflows: What each variant sets, by its workflow's name.
        base: The workflow that the others are variants of.
    """

    workflows: Mapping[str, Mapping[str, Any]]
    base: str
    protocol: str

    def has(self, workflow: str, llm: str, first: str) -> bool:
        """Whether a variant is asked of an LLM: of each one in a cross, else of the first alone, save the base."""
        return self.protocol == "cross" or llm == first or workflow == self.base or workflow not in self.workflows

    def record(self) -> dict[str, Any]:
        """What run.json says of it."""
        return {"workflows": self.workflows, "base": self.base, "protocol": self.protocol}


@dataclasses.dataclass(frozen=True)
class _Owners:
    """To whom settings can belong; None stands for a thing that takes any setting."""

    workflow: frozenset[str]
    environments: Mapping[str, frozenset[str] | None]

    def of(self, setting: str) -> str | None:
        """ "workflow" or "environment"; None where neither has it."""
        if setting in self.workflow:
            return "workflow"
        everywhere = all(known is None or setting in known for known in self.environments.values())
        return "environment" if self.environments and everywhere else None

    def lacking(self, settings: Sequence[str]) -> list[str]:
        return [name for name in settings if self.of(name) is None]


def expanded(grid: Grid, tasks: Sequence[Task]) -> tuple[list[WorkflowEntry], Sweep | None]:
    """The grid's workflows with those that its `vary:` makes, each after the one that it is a variant of.

    Raises:
        UserError: No workflow has such settings, or several have and none is named.
    """
    vary = grid.vary
    if vary is None:
        return grid.workflows, None
    environments = {name: _parameters(name) for name in dict.fromkeys(task.environment for task in tasks)}
    chosen, owners = _chosen(vary, grid, environments)
    _check_given(vary, chosen, owners)
    base = _name(chosen)
    variants = {variant.name(base): variant for variant in vary.variants()}
    entries: list[WorkflowEntry] = []
    for entry in grid.workflows:
        if entry is not chosen:
            entries.append(entry)
            continue
        entries += [_entry(entry, name, variant, owners) for name, variant in variants.items()]
    settings = {name: dict(variant.settings) for name, variant in variants.items()}
    return entries, Sweep(settings, base, vary.protocol)


def _chosen(vary: Vary, grid: Grid, environments: Mapping[str, frozenset[str] | None]) -> tuple[WorkflowEntry, _Owners]:
    """The workflow that varies: the one that is named, or the only one that has all the settings."""
    owners = {_name(entry): _owners(entry, grid.folder, environments) for entry in grid.workflows}
    entries = {_name(entry): entry for entry in grid.workflows}
    if vary.workflow is not None:
        if vary.workflow not in entries:
            raise UserError(f"vary.workflow: {plugins.unknown('workflow', vary.workflow, entries)}")
        able = [vary.workflow]
    else:
        able = [name for name, owner in owners.items() if not owner.lacking(vary.settings())]
    if len(able) > 1:
        raise UserError(
            f"vary: the settings are those of several workflows; say workflow: with one of {', '.join(able)}"
        )
    nearest = able[0] if able else min(owners, key=lambda name: len(owners[name].lacking(vary.settings())))
    for setting in owners[nearest].lacking(vary.settings()):
        raise UserError(_unknown(setting, nearest, owners[nearest]))
    return entries[nearest], owners[nearest]


def _unknown(setting: str, workflow: str, owners: _Owners) -> str:
    if setting in ("llm", "llms", "model"):
        return f"vary.{setting}: LLMs vary by standing in the grid's llms:, the base's first"
    without = [name for name, known in owners.environments.items() if known is not None and setting not in known]
    if owners.environments and len(without) < len(owners.environments):
        names = ", ".join(f"'{name}'" for name in without)
        return f"vary.{setting}: not every task's environment has this setting: {names} has none"
    things = ", ".join(f"'{name}'" for name in owners.environments) or "none"
    known = owners.workflow.union(*(names for names in owners.environments.values() if names is not None))
    said = plugins.unknown("setting", setting, known)
    return f"vary.{setting}: {said} (of the workflow '{workflow}' and the environment {things})"


def _owners(entry: WorkflowEntry, folder: Path, environments: Mapping[str, frozenset[str] | None]) -> _Owners:
    cls, settings = workflow_class(entry, folder)
    own = frozenset(inspect.signature(cls).parameters) - ({"agent"} if "agent" in settings else set())
    return _Owners(own, environments if cls.uses_tools else {})


def _parameters(name: str) -> frozenset[str] | None:
    """The settings of an environment; None where it takes any."""
    scheme = name.partition(":")[0]
    cls = SCHEMES[scheme][0]() if scheme in SCHEMES else plugins.load("environments", name, Environment)
    parameters = list(inspect.signature(cls).parameters.values())[scheme in SCHEMES :]
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else frozenset(p.name for p in parameters)


def _check_given(vary: Vary, entry: WorkflowEntry, owners: _Owners) -> None:
    """See that the entry itself does not set what varies."""
    for setting in vary.settings():
        given = entry.settings if owners.of(setting) == "workflow" else entry.environment or {}
        if setting in given:
            said = f"the workflow '{_name(entry)}' sets it too"
            raise UserError(f"vary.{setting}: {said}; give it as the first value of vary.{setting}")


def _entry(entry: WorkflowEntry, name: str, variant: Variant, owners: _Owners) -> WorkflowEntry:
    """The entry of a variant."""
    of_workflow = {key: value for key, value in variant.settings.items() if owners.of(key) == "workflow"}
    rest = {key: value for key, value in variant.settings.items() if key not in of_workflow}
    environment = {**(entry.environment or {}), **rest} or None
    given = {**entry.settings, **of_workflow, "workflow": entry.workflow, "name": name, "environment": environment}
    return WorkflowEntry.model_validate(given)


def _name(entry: WorkflowEntry) -> str:
    return entry.name or entry.workflow
