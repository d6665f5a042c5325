"""`vary:` in a grid: settings with several values each, and the variants of one workflow that they make.

A key names the owner of its setting: `workflow.top_k`, `environment.chunk_size`, `noise.weak` (of the tasks). A variant
is a workflow of its own, named after what differs from the base, such as `rag@chunk_size=64`. Whether an owner has such
a setting is checked when the workflow, the environment and the tasks are made.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from r_eval.errors import UserError
from r_eval.folder import file_name
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
        firsts = [values[0] for values in axes.values()]
        for choice in self._choices(firsts):
            moved = [(key, value) for key, value, first in zip(axes, choice, firsts, strict=True) if value is not first]
            settings: dict[str, Any] = {}
            for key, value in (*zip(axes, firsts, strict=True), *moved):
                settings |= _changes(key, value)
            differences = ",".join(f"{_plain(key)}={_label(key, value)}" for key, value in moved)
            found[f"{base}@{differences}" if moved else base] = settings
        return found

    def _choices(self, firsts: list[Any]) -> Iterator[Sequence[Any]]:
        """One value of every setting for each variant."""
        if self.protocol == "cross":
            yield from itertools.product(*self.values.values())
            return
        yield firsts
        for index, values in enumerate(self.values.values()):
            yield from ([*firsts[:index], value, *firsts[index + 1 :]] for value in values[1:])

    @model_validator(mode="after")
    def _check(self) -> Vary:
        if not self.values:
            raise ValueError("name at least one setting with its values, such as workflow.top_k: [8, 4]")
        for key, values in self.values.items():
            _check_key(key, key)
            _check_values(key, values)
        _check_together(self.values, self.protocol)
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


def _label(key: str, value: Any) -> str:
    """A value in a variant's name; a mapping counts as what it sets its own key to."""
    own = _changes(key, value).get(key)
    return str(own).lower() if isinstance(own, bool) else str(own)


def _invalid(key: str, message: str) -> PydanticCustomError:
    """An error of one key; `at` leads to its line in the grid."""
    return PydanticCustomError("vary", "{message}", {"message": message, "at": (key,)})


def _check_key(name: Any, key: str) -> None:
    """Check that a name, which the values of a key set, says whose setting it is."""
    owner, _, setting = str(name).rpartition(".")
    if owner in OWNERS and setting:
        return
    known = [f"{one}.{setting}" for one in OWNERS]
    hint = "; an LLM varies by being listed in llms: several times, under different names" if "llm" in owner else ""
    raise _invalid(key, unknown("setting", str(name), known) + hint)


def _check_values(key: str, values: Any) -> None:
    """Check the values of one key: their types, and that each has a name of its own, in a path too."""
    if not isinstance(values, list) or not values:
        raise _invalid(key, "give a list of values, the base's first")
    labels: set[str] = set()
    for value in values:
        for name in _changes(key, value):
            _check_key(name, key)
        own = _changes(key, value).get(key)
        if not isinstance(own, str | int | float) or own == "":
            expected = f"a text, a number, true or false, or a mapping that sets {key} to one"
            raise _invalid(key, f"invalid value {value!r}: expected {expected}")
        label = _label(key, value)
        if file_name(label) in labels:
            raise _invalid(key, f"duplicate value {label}, or another one is the same in a path")
        labels.add(file_name(label))


def _check_together(axes: Mapping[str, list[Any]], protocol: str) -> None:
    """Check that the base is clear, that no two settings share a name, and that no cross sets one twice."""
    base: dict[str, tuple[str, Any]] = {}
    plain: dict[str, str] = {}
    crossed = {key: key for key in axes}
    for key, values in axes.items():
        for name, value in _changes(key, values[0]).items():
            other, before = base.setdefault(name, (key, value))
            if before != value:
                raise _invalid(key, f"its first value sets {name} to {value}, but that of {other} sets it to {before}")
        for name in (name for value in values for name in _changes(key, value)):
            if (other := plain.setdefault(_plain(name), name)) != name:
                raise _invalid(key, f"{name} and {other} cannot vary in one grid: variants are named without the owner")
            if protocol == "cross" and (other := crossed.setdefault(name, key)) != key:
                raise _invalid(key, f"it sets {name}, and so does {other}; with protocol: cross only one of them may")
