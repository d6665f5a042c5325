"""What the tables of findings have in common: a line a system, condition and task, and views condition by condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.tables.scores import NAMES, percent
from r_eval.analysis.tables.sheet import ABSENT, View

ALL_TASKS = "all tasks"
PLACE = (*NAMES, "condition", "task")
"""The first columns of the data; `place` fills them."""


class Finding(Protocol):
    """What is found of a system under a condition."""

    @property
    def condition(self) -> str: ...


class Placed(Finding, Protocol):
    """The same, on a task; "" is all tasks."""

    @property
    def system(self) -> str: ...
    @property
    def workflow(self) -> str: ...
    @property
    def llm(self) -> str: ...
    @property
    def task(self) -> str: ...


Found = TypeVar("Found", bound=Finding)


def place(one: Placed) -> tuple[str, ...]:
    """The names of what a line is about, as programs read them."""
    return one.system, one.workflow, one.llm, one.condition, one.task or ALL_TASKS


def place_shown(one: Placed) -> tuple[str, ...]:
    """The same as people read them: the condition is in the title of the view."""
    return one.workflow, one.llm, one.task or ALL_TASKS


def by_condition(
    title: str,
    header: list[str],
    found: Sequence[Found],
    shown: Callable[[Found], list[str]],
    notes: list[str],
    left: int = 3,
) -> list[View]:
    """A view a condition; its title names the condition where there are several."""
    conditions = list(dict.fromkeys(one.condition for one in found))
    return [
        View(
            f"{title}, {condition}" if len(conditions) > 1 else title,
            header,
            [shown(one) for one in found if one.condition == condition],
            notes=notes,
            left=left,
        )
        for condition in conditions
    ]


def with_ends(names: Sequence[str]) -> list[str]:
    """Columns for estimates and the ends of their intervals; `ends` fills three."""
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def ends(found: Estimate) -> tuple[str | None, str | None, str | None]:
    """A mean and the ends of its interval as percent; None where there is none."""
    return percent(found.mean), percent(found.low), percent(found.high)


def with_interval(found: Estimate) -> str:
    """A mean with its interval, as people read it."""
    if found.mean is None:
        return ABSENT
    if found.low is None or found.high is None:
        return f"{100 * found.mean:.1f}"
    return f"{100 * found.mean:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"
