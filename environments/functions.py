"""A Python file as an environment: `environment: ./recipes.py`.

The file's functions that are marked with `@query_api` are the query APIs, its docstring describes the domain, and a
function `records(kind)` in it serves question templates. There is no class to write; a file that has one, for a domain
with state, opens that class.

The fingerprint of such an environment covers the file's code, and what its constants (names in capitals) hold: plain
data, and the content of the files whose paths they are.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, is_marked
from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.fingerprints import file_hash, short_hash

HOOKS = ("records", "triples")
"""Functions of a file that are no query APIs, and answer as the methods of `Environment` of that name do."""


class _FunctionEnvironment(Environment):
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
        UserError: It defines none, several classes, or a class as well as functions.
    """
    functions: dict[str, Any] = {}
    for key, value in vars(module).items():
        if is_marked(value) and value not in functions.values():
            functions[key] = value
    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    classes = [value for value in own if isinstance(value, type) and issubclass(value, Environment)]
    choices = [f"{name}:{each.__name__}" for each in classes]
    if functions and classes:
        what = f"the query APIs {', '.join(functions)} and the class {classes[0].__name__}"
        raise UserError(f"{name} defines {what}: name the class, {choices[0]}, or move one of them to another file")
    if len(classes) > 1:
        raise UserError(f"{name} defines {len(classes)} environments: write {' or '.join(choices)}")
    if classes:
        return classes[0]
    if not functions:
        others = ", ".join(value.__name__ for value in own if inspect.isfunction(value)) or "no function"
        remedy = "put @query_api above its functions (from r_eval.environments import query_api)"
        raise UserError(f"{name} has no query API: {remedy}; it defines {others}")
    hooks = {hook: vars(module)[hook] for hook in HOOKS if inspect.isfunction(vars(module).get(hook))}
    members = {key: staticmethod(function) for key, function in {**hooks, **functions}.items()}
    about = {"__doc__": module.__doc__, "__module__": module.__name__, "_constants": _constants(module)}
    return type(Path(module.__file__ or "domain").stem, (_FunctionEnvironment,), {**members, **about})


def _constants(module: ModuleType) -> dict[str, str]:
    """Hashes of what a file's constants hold, by name; what is no data is left out."""
    found = {}
    for name, value in vars(module).items():
        try:
            if name.isupper() and isinstance(value, Path):
                found[name] = file_hash(value) if is_file(value) else ""
            elif name.isupper():
                found[name] = short_hash(json.loads(json.dumps(value, default=_as_data)))
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def _as_data(value: Any) -> Any:
    """A set in a fixed order, and dataclasses and models as dicts.

    Raises:
        ValueError: It is no data.
    """
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else to_jsonable_python(value)
