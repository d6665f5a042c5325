"""`vary:` in a grid: settings with several values each, and the variants of one workflow that they make.

A key names the owner of its setting: `workflow.top_k`, `environment.chunk_size`, `noise.weak` (of the tasks). A variant
is a workflow of its own, named after what differs from the base, such as `rag@chunk_size=64`. Whether an owner has such
a setting is checked when the workflow, the environment and the tasks are made.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from r_eval.errors import UserError
from r_eval.plugins import unknown

if TYPE_CHECKING:
    from r_eval.grid import WorkflowEntry

OWNERS = ("workflow", "environment", "noise")


class Vary(BaseModel):
    """What a grid varies; each key except the two below is a setting with its values, the base's value first.

    A value is a text, a number, true or false, or a mapping that changes several settings together.

    Attributes:
        protocol: "one", one setting at a time from the base; or "cross", every value with every other.
        workflow: Name of the workflow that varies; needed where the grid has several.

    Example:
        >>> vary = Vary.model_validate({"environment.chunk_size": [128, 64], "workflow.top_k": [8, 4]})
        >>> list(vary.variants("rag"))
        ['rag', 'rag@chunk_size=64', 'rag@top_k=4']
    """

    model_config = ConfigDict(extra="allow")

    protocol: Literal["one", "cross"] = "one"
    workflow: str | None = None

    @property
    def values(self) -> dict[str, list[Any]]:
        """The settings that vary, each with its values."""
        return dict(self.model_extra or {})

    def variants(self, base: str) -> dict[str, dict[str, Any]]:
        """What each variant sets, by the variant's name; the base, which has the workflow's own name, comes first."""
        axes, found = self.values, dict[str, dict[str, Any]]()
        firsts = tuple(values[0] for values in axes.values())
        choices: Iterable[tuple[Any, ...]] = itertools.product(*axes.values())
        if self.protocol == "one":
            moves = ((n, value) for n, values in enumerate(axes.values()) for value in values[1:])
            choices = [firsts, *((*firsts[:n], value, *firsts[n + 1 :]) for n, value in moves)]
        for choice in choices:
            moved = [(key, value) for key, value, first in zip(axes, choice, firsts, strict=True) if value is not first]
            settings: dict[str, Any] = {}
            for key, value in (*zip(axes, firsts, strict=True), *moved):
                settings |= _changes(key, value)
            differences = ",".join(f"{_plain(key)}={_label(_changes(key, value)[key])}" for key, value in moved)
            found[f"{base}@{differences}" if moved else base] = settings
        return found

    @model_validator(mode="after")
    def _check(self) -> Vary:
        if not self.values:
            raise ValueError("name at least one setting with its values, such as workflow.top_k: [8, 4]")
        names: dict[str, str] = {}
        for key, values in self.values.items():
            if not isinstance(values, list) or not values:
                raise _invalid(key, "give a list of values, the base's first")
            for number, value in enumerate(values):
                for name in (key, *_changes(key, value)):
                    owner, _, setting = str(name).rpartition(".")
                    if owner not in OWNERS or not setting:
                        raise _invalid(key, unknown("setting", str(name), [f"{one}.{setting}" for one in OWNERS]))
                    if names.setdefault(_plain(name), name) != name:
                        raise _invalid(key, f"{name} and {names[_plain(name)]} cannot vary in one grid")
                    if name != key and name in self.values and (self.protocol == "cross" or not number):
                        raise _invalid(key, f"it sets {name}, which varies by itself")
                own = _changes(key, value).get(key)
                if not isinstance(own, str | int | float) or own == "":
                    expected = f"a text, a number, true or false, or a mapping that sets {key} to one"
                    raise _invalid(key, f"invalid value {value!r}: expected {expected}")
        return self


@dataclasses.dataclass(frozen=True)
class Sweep:
    """The variants of a grid, as its plan and run.json have them.

    Attributes:
        workflows: What each variant sets, by its workflow's name.
        base: The workflow that the others are variants of.
    """

    workflows: Mapping[str, Mapping[str, Any]]
    base: str
    protocol: str

    def has(self, workflow: str, llm: str, first: str) -> bool:
        """Whether a workflow runs with an LLM: in a cross with every one, else variants run with the first alone."""
        return self.protocol == "cross" or llm == first or workflow == self.base or workflow not in self.workflows


def expand(vary: Vary | None, entries: list[WorkflowEntry]) -> tuple[list[WorkflowEntry], Sweep | None]:
    """A grid's workflows, with the variants in place of the one that varies.

    Raises:
        UserError: It is not clear which workflow varies, or the workflow's own entry sets what varies.
    """
    if vary is None:
        return entries, None
    by_name = {entry.name or entry.workflow: entry for entry in entries}
    base = vary.workflow or next(iter(by_name))
    if vary.workflow is None and len(entries) > 1:
        raise UserError(f"vary: the grid has several workflows; add workflow: with one of {', '.join(by_name)}")
    if base not in by_name:
        raise UserError(f"vary.workflow: {unknown('workflow', base, by_name)}")
    variants, index = vary.variants(base), entries.index(by_name[base])
    made = [_entry(entries[index], name, settings) for name, settings in variants.items()]
    plain = {name: {_plain(key): value for key, value in own.items()} for name, own in variants.items()}
    return [*entries[:index], *made, *entries[index + 1 :]], Sweep(plain, base, vary.protocol)


def _entry(entry: WorkflowEntry, name: str, settings: Mapping[str, Any]) -> WorkflowEntry:
    owners: dict[str, dict[str, Any]] = {
        "workflow": entry.settings,
        "environment": dict(entry.environment or {}),
        "noise": dict(entry.noise or {}),
    }
    for key, value in settings.items():
        owner, _, setting = key.partition(".")
        if setting in owners[owner]:
            raise UserError(f"vary.{key}: the workflow's entry sets it too; make that the first value of vary.{key}")
        owners[owner][setting] = value
    own = {"workflow": entry.workflow, "name": name, **{key: owners[key] or None for key in ("environment", "noise")}}
    return type(entry).model_validate({**owners["workflow"], **own})


def _plain(key: str) -> str:
    """A setting's name without its owner."""
    return key.partition(".")[2]


def _changes(key: str, value: Any) -> dict[str, Any]:
    """The settings that a value sets, by their whole keys."""
    return value if isinstance(value, dict) else {key: value}


def _label(value: Any) -> str:
    """A value in a variant's name."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _invalid(key: str, message: str) -> PydanticCustomError:
    """An error of one key; `at` leads to its line in the grid."""
    return PydanticCustomError("vary", "{message}", {"message": message, "at": (key,)})
