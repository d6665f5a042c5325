"""How anything that can be named in a grid is found: workflows, environments, LLM backends, tasks, metrics.

A name is looked up the same way for built-ins and for third-party plug-ins:

- `module:Class`, or `./file.py:Class` (of an environment the file alone will do, see `environments.opening`);
- a plain name, through the entry points of the group `r_eval.<kind>`. An entry point is either the object itself or a
  package: then every module in it offers what it defines under the module's own name (`soft_match.py` offers
  `soft-match`), so that adding one is adding a file.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from r_eval.errors import UserError
from r_eval.files import is_file
from r_eval.isolation import describe
from r_eval.local_modules import load_file


def load(kind: str, name: str, base: type[Any]) -> type[Any]:
    """The class of a name.

    Args:
        kind: Group: "workflows", "environments", "llms".
        name: Plain name, `module:Class`, or `path/file.py:Class`.
        base: What the class must be a subclass of.

    Raises:
        UserError: The thing is unknown, or it is not a subclass of `base`.
    """
    found = from_path(name, kind) if ":" in name else _named(kind, name, base)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise UserError(f"{name} is not a subclass of {base.__module__}.{base.__name__}")
    return found


def from_path(name: str, kind: str) -> Any:
    """The object at `module:attribute` or `file.py:attribute`.

    Raises:
        UserError: The file, module or attribute is not there, or importing it fails.
    """
    where, _, attribute = name.rpartition(":")
    module = module_of_file(where) if where.endswith(".py") else _module(where, name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        offered = [n for n, v in vars(module).items() if inspect.isclass(v) or inspect.isfunction(v)]
        own = [n for n in offered if getattr(vars(module)[n], "__module__", "") == module.__name__]
        raise UserError(f"{where} has no {attribute}; it defines: {', '.join(own) or 'nothing'}") from None


def _module(where: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(where)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        why = error if isinstance(error, ImportError) else describe(error)
        raise UserError(f"{name}: cannot import {where} ({why})") from error


def module_of_file(where: str) -> ModuleType:
    """A Python file, imported once in a process; modules beside it can be imported by it.

    Raises:
        UserError: It is not there, or importing it fails; names the line.
    """
    path = Path(where)
    if not is_file(path):
        raise UserError(f"{where}: no such file")
    try:
        return load_file(path.resolve())
    except (Exception, SystemExit) as error:
        raise UserError(f"{where}: importing it fails: {describe(error)}") from error


def _named(kind: str, name: str, base: type[Any]) -> Any:
    for point in _points(kind):
        if point.name == name and point.attr:
            return point.load()
        if not point.attr:
            stem = name.replace("-", "_")
            package = point.load()
            if stem in (m.name for m in pkgutil.iter_modules(package.__path__)):
                found = _offered(importlib.import_module(f"{package.__name__}.{stem}"), base)
                if found is not None:
                    return found
    raise UserError(unknown("LLM" if kind == "llms" else kind[:-1], name, names(kind, base)))


def names(kind: str, base: type[Any]) -> dict[str, type[Any]]:
    """Everything of one kind that is installed, by name; what cannot be imported here is left out."""
    found: dict[str, type[Any]] = {}
    for point in _points(kind):
        if point.attr:
            found[point.name] = point.load()
            continue
        package = point.load()
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            try:
                offered = _offered(importlib.import_module(f"{package.__name__}.{module}"), base)
            except ImportError:
                continue
            if offered is not None:
                found[module.replace("_", "-")] = offered
    return found


@functools.cache
def _points(kind: str) -> tuple[Any, ...]:
    return tuple(entry_points(group=f"r_eval.{kind}"))


def _offered(module: ModuleType, base: type[Any]) -> type[Any] | None:
    """The one class of the wanted kind that a module (or package) defines; those with an underscore are its own."""
    for value in vars(module).values():
        if not (isinstance(value, type) and issubclass(value, base)) or value is base or value.__name__[:1] == "_":
            continue
        if value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}."):
            return value
    return None


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """A message for a name that nothing has: what was meant perhaps, and what there is."""
    every = sorted(known)
    folded = {one.casefold(): one for one in every}
    close = difflib.get_close_matches(name.casefold(), folded, 1, 0.5)
    close += [one for one in folded if name and one.startswith(name.casefold())]
    hint = f" Did you mean {folded[close[0]]}?" if close else ""
    return f"unknown {kind} '{name}'.{hint} Known: {', '.join(every) or 'none'}"
