"""A Python file as an environment: `environment: ./recipes.py`.

The file's functions that are marked with `@query_api` are the query APIs, its docstring describes the domain, and a
function `records(kind)` in it serves question templates. There is no class to write; a file that has one, for a domain
with state, opens that class.

The fingerprint of such an environment covers the file's code, and what its constants (names in capitals) hold: plain
data, and the content of the files whose paths they are.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from r_eval.environments.base import Environment, is_marked
from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.fingerprints import file_hash, short_hash

HOOKS = ("records", "triples")
"""Functions of a file that are no query APIs, and answer as the methods of `Environment` of that name do."""


class _FunctionEnvironment(Environment):
    """Base of the classes that are made of a file's functions."""

    _constants: dict[str, str] = {}

    @property
    def version(self) -> str:
        """Hash of the code, and of what the constants held when the file was imported."""
        return short_hash([super().version, self._constants])


def environment_class(module: ModuleType, name: str) -> type[Environment]:
    """The environment that a file defines.

    Args:
        name: The file's name, as a person wrote it.

    Raises:
        UserError: It defines none, several classes, or a class beside functions.
    """
    functions = _functions(module)
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Environment) and value.__module__ == module.__name__
    ]
    if functions and classes:
        raise UserError(
            f"{name} defines the query APIs {', '.join(functions)} and the class {classes[0].__name__}: "
            f"name the class, {name}:{classes[0].__name__}, or move one of them to another file"
        )
    if len(classes) > 1:
        named = " or ".join(f"{name}:{each.__name__}" for each in classes)
        raise UserError(f"{name} defines {len(classes)} environments: write {named}")
    if classes:
        return classes[0]
    if not functions:
        own = [value for value in vars(module).values() if inspect.isfunction(value)]
        named = ", ".join(function.__name__ for function in own if function.__module__ == module.__name__)
        raise UserError(
            f"{name} has no query API: put @query_api above its functions "
            f"(from r_eval.environments import query_api); it defines {named or 'no function'}"
        )
    return _made(module, functions)


def _functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The marked functions of a file by name, one that has two names by the first."""
    found: dict[str, Callable[..., Any]] = {}
    for name, value in vars(module).items():
        if is_marked(value) and value not in found.values():
            found[name] = value
    return found


def _made(module: ModuleType, functions: dict[str, Callable[..., Any]]) -> type[Environment]:
    hooks = {name: vars(module)[name] for name in HOOKS if inspect.isfunction(vars(module).get(name))}
    members = {name: staticmethod(function) for name, function in {**hooks, **functions}.items()}
    about = {"__doc__": module.__doc__, "__module__": module.__name__, "_constants": _constants(module)}
    return type(Path(module.__file__ or "domain").stem, (_FunctionEnvironment,), {**members, **about})


def _constants(module: ModuleType) -> dict[str, str]:
    """Hashes of what a file's constants hold, by name; what is no data is left out."""
    found = {}
    for name, value in vars(module).items():
        if not name.isupper():
            continue
        if isinstance(value, Path):
            found[name] = file_hash(value) if is_file(value) else ""
            continue
        try:
            found[name] = short_hash(json.loads(json.dumps(value, default=_as_data)))
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def _as_data(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError
