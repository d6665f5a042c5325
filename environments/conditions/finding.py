"""Conditions by name: each one that there is, and several of them put together as a grid asks for them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.environments.conditions.base import Condition
from r_eval.environments.conditions.combined import CLEAN, Combined
from r_eval.errors import UserError


def known() -> dict[str, type[Condition]]:
    """Every condition there is, by name: the modules of this package, and what others have installed."""
    found: dict[str, type[Condition]] = {}
    package = "r_eval.environments.conditions"
    for name in sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)])):
        module = importlib.import_module(f"{package}.{name}")
        for value in vars(module).values():
            if not (isinstance(value, type) and issubclass(value, Condition)) or inspect.isabstract(value):
                continue
            if value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}."):
                found[value.name] = value
    return {**plugins.names("conditions", Condition), **found}


def combine(name: str, kinds: Sequence[str], settings: Mapping[str, Any]) -> Combined:
    """Conditions put together, in the order given.

    Args:
        name: What they are called together.
        kinds: Names, or `module:Class`; "clean" only on its own.
        settings: Each goes to all of them that have such a parameter.

    Raises:
        UserError: One is unknown, stands twice, or is told something that it does not take.
    """
    if list(kinds) == [CLEAN.name] and not settings:  # a run without conditions does not pay for loading them
        return Combined(name, ())
    every = known()
    for kind in kinds:
        if kind == CLEAN.name and len(kinds) > 1:
            raise UserError(f"condition '{name}': clean is the bare environment, and combines with nothing")
        if kinds.count(kind) > 1:
            raise UserError(f"condition '{name}': {kind} stands twice in it")
        if ":" not in kind and kind not in every and kind != CLEAN.name:
            raise UserError(plugins.unknown("condition", kind, [CLEAN.name, *every]))
    wanted = [kind for kind in kinds if kind != CLEAN.name]
    classes = [plugins.load("conditions", kind, Condition) if ":" in kind else every[kind] for kind in wanted]
    taken = [list(inspect.signature(cls).parameters) for cls in classes]
    for key in settings:
        if not any(key in parameters for parameters in taken):
            every_one = {parameter for parameters in taken for parameter in parameters}
            raise UserError(f"condition '{name}': {plugins.unknown('setting', key, every_one)}")
    made = []
    for cls, parameters in zip(classes, taken, strict=True):
        try:
            made.append(cls(**{key: value for key, value in settings.items() if key in parameters}))
        except (TypeError, ValueError) as error:
            raise UserError(f"condition '{name}': {error}") from None
    return Combined(name, tuple(made))
